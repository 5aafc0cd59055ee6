"""What happens in the tab "Exactness": a check at the selected position, of the toy, or of the three-token example.

The browser says what it wants as one record, an *ask* (see `read_ask`); it gets back one JSON string to draw. Nothing of
an ask is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from specviz import Trace, decode
from specviz.decoding.options import DEFAULT_K, DEFAULT_SEED, DEFAULT_TOKENS
from specviz.decoding.rules import EXACT
from specviz.errors import SpecVizError
from specviz.exactness.faults import FAULTS, HOT, Fault
from specviz.exactness.one_step import (
    ELSEWHERE,
    FOUR_TOKENS,
    Check,
    cannot_show,
    check_position,
    check_table,
    position_of_toy,
    table_of,
)
from specviz.exactness.throws import SAMPLERS
from specviz.page.exactness.ask import Ask, Place, as_mapping, place_on_screen, read_ask
from specviz.page.server.shelf import TOY, Shelf
from specviz.record.html import as_json

LANES = 7


def lab(given: object, trace: Trace | None) -> str:
    """Return what the tab shows for an ask, as JSON text; what is wrong with the ask is a sentence in it."""
    try:
        ask = read_ask(given)
    except SpecVizError as error:
        return as_json(
            {"problem": str(error), "ask": None, "faults": list(_switches()), "number": _number(given)}
        )
    shown: dict[str, Any] = {
        "ask": ask.again(),
        "fault": ask.fault and _about(ask.fault),
        "faults": list(_switches()),
        "number": _number(given),
    }
    try:
        return as_json(shown | _checked(ask, trace) | {"problem": None})
    except SpecVizError as error:
        return as_json(shown | {"problem": str(error)})


def _number(given: object) -> int:
    """Return the number by which the browser knows its question, 0 where it gave none."""
    number = as_mapping(given).get("number")
    return number if isinstance(number, int) else 0


def _switches() -> Iterator[dict[str, Any]]:
    for fault in FAULTS.values():
        yield {
            "name": fault.name, "row": fault.row, "title": title_of(fault), "exact": fault.exact, "here": fault.name not in ELSEWHERE,
            "toy": {"temperature": fault.sampling.temperature, "top_k": fault.sampling.top_k},
        }  # fmt: skip


def title_of(fault: Fault) -> str:
    """Return a mistake's name as words."""
    return fault.name.replace("-", " ")


def _about(fault: Fault) -> dict[str, Any]:
    return {"name": fault.name, "row": fault.row, "title": title_of(fault), "does": fault.does, "why": fault.why, "exact": fault.exact}  # fmt: skip


def _checked(ask: Ask, trace: Trace | None) -> dict[str, Any]:
    if ask.source == "table":
        return _of_table(ask)
    place = _of_toy(ask) if ask.source == TOY else place_on_screen(trace, ask.spot)
    if ask.fault and (why_not := cannot_show(ask.fault, place.position)):
        raise SpecVizError(why_not)
    check = check_position(place.position, ask.fault.rules if ask.fault else EXACT, ask.trials, ask.seed)
    names = [None if token is None else place.tokens.get(str(token), f" {token}") for token in check.cells]
    return {
        "title": place.title,
        "whole": place.position.whole,
        "rest": None if place.position.whole else "everything else",
        **_columns(check, names),
    }


def _of_toy(ask: Ask) -> Place:
    position = position_of_toy(ask.prompt, ask.agreement, ask.sampling)
    title = f"The toy's 100 tokens after {ask.prompt.strip()} (temperature {ask.sampling.temperature:g})"
    return Place(position, title, {})


def _of_table(ask: Ask) -> dict[str, Any]:
    check = check_table(ask.fault, ask.trials, ask.seed)
    world, _, _ = table_of(ask.fault)
    how, k = (ask.fault.sampling, ask.fault.k) if ask.fault else (HOT, 2)
    drafts = "one draft" if k == 1 else f"{k} drafts"
    truncated = f", top-k {how.top_k}" if how.top_k else ""
    why = " (three are too few to show this mistake)" if ask.fault and ask.fault.name in FOUR_TOKENS else ""
    return {
        "title": f"A world of {world}{why}, {drafts} a step: the first three tokens of the text (temperature {how.temperature:g}{truncated})",
        "whole": True,
        "rest": None,
        **_columns(check, ["·".join(map(str, text)) for text in check.cells]),
    }


def _columns(check: Check, names: list[str | None]) -> dict[str, Any]:
    """Return the lanes of a chart, the tokens that matter most first and all others in one, and the figures."""
    size = len(check.cells)
    weight = [
        max(check.target[i], check.law[i], 0 if check.draft is None else check.draft[i]) for i in range(size)
    ]
    order = sorted((i for i in range(size) if names[i] is not None), key=lambda i: -weight[i])
    lanes = [[i] for i in order[:LANES]]
    others = [i for i in range(size) if [i] not in lanes]
    if others:
        lanes.append(others)
    thrown = check.throws
    columns = {"p": check.target, "law": check.law, "q": check.draft, "kept": check.kept}
    columns["share"] = thrown.shares if thrown else None
    return {
        "lanes": [
            {"name": names[lane[0]] if len(lane) == 1 and names[lane[0]] is not None else None, "count": len(lane)}
            | {key: None if values is None else float(sum(values[i] for i in lane)) for key, values in columns.items()}
            for lane in lanes
        ],
        "bias": check.bias,
        "throws": thrown
        and {"trials": thrown.trials, "samplers": SAMPLERS, "distance": thrown.distance, "low": thrown.band[0], "high": thrown.band[1], "inside": thrown.inside},
    }  # fmt: skip


def run_toy(shelf: Shelf, given: object) -> Trace:
    """Return a run of the toy with the mistake that is switched on, everything else at its default; raises SpecVizError."""
    ask = read_ask(given)
    if ask.fault is None:
        raise SpecVizError("No mistake is switched on: choose one first.")
    pair = shelf.pair(TOY, "model", ask.agreement)
    return decode(
        pair, ask.prompt, k=DEFAULT_K, max_new_tokens=DEFAULT_TOKENS, sampling=ask.sampling, seed=DEFAULT_SEED, rules=ask.fault.rules
    )  # fmt: skip
