"""What happens in the tab "Exactness": a check at the selected position, of the toy, or of the three-token example.

The browser says what it wants as one record, an *ask* (see `read_ask`); it gets back one JSON string to draw. Nothing of
an ask is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from specviz import Sampling, Trace, decode, pairs
from specviz.decoding import DEFAULT_K, DEFAULT_SEED, DEFAULT_TOKENS
from specviz.errors import SpecVizError
from specviz.faults import FAULTS, HOT, Fault, fault_named
from specviz.greedy import GreedyCheck, check_greedy
from specviz.montecarlo import check_trials
from specviz.onestep import (
    Check,
    Position,
    cannot_show,
    check_position,
    check_table,
    position_of_row,
    position_of_toy,
    table_of,
)
from specviz.rules import EXACT
from specviz.standalone import as_json
from specviz.toy import DEFAULT_AGREEMENT
from specviz.ui.settings import MAX_NEW_TOKENS, one_of, real, whole
from specviz.ui.shelf import TOY, Shelf

SOURCES = ("screen", "toy", "table")
TRIALS = (100, 1_000, 10_000, 100_000, 1_000_000)
MOST_SEED = 2**31
LANES = 7
TOY_PROMPT = "1 15 42"


# --- what is asked for ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ask:
    """What the browser wants to see, checked: a source, a mistake or none, how many throws, which place."""

    source: str
    fault: Fault | None
    trials: int | None
    seed: int
    spot: Mapping[str, Any] | None
    prompt: str
    agreement: float
    sampling: Sampling

    def again(self) -> dict[str, Any]:
        """Return it as the record that the browser sends."""
        return {
            "source": self.source, "fault": self.fault and self.fault.name, "trials": self.trials, "seed": self.seed,
            "toy": {"prompt": self.prompt, "agreement": self.agreement, **asdict(self.sampling)},
        }  # fmt: skip


def read_ask(given: object) -> Ask:
    """Return what a browser asks for, or raise SpecVizError at the first thing that can't be used.

    A record with `source` (screen, toy, table), `fault` (a name or None), `trials` (None: the exact law alone), `seed`,
    `spot` {step, position, state} and `toy` {prompt, agreement, temperature, top_k, top_p}, all of them optional.
    """
    asked = _record(given)
    own = _record(asked.get("toy"))
    trials, spot, prompt = asked.get("trials"), asked.get("spot"), own.get("prompt", TOY_PROMPT)
    return Ask(
        source=one_of("source", asked.get("source", SOURCES[0]), SOURCES),
        fault=None if asked.get("fault") is None else fault_named(asked["fault"]),
        trials=None if trials is None else check_trials(trials),
        seed=whole("The throw's number", asked.get("seed", 0), 0, MOST_SEED),
        spot=spot if isinstance(spot, Mapping) else None,
        prompt=prompt[:200] if isinstance(prompt, str) else "",
        agreement=real("The agreement", own.get("agreement", DEFAULT_AGREEMENT), 0, 1),
        sampling=Sampling(
            real("The temperature", own.get("temperature", 1), 0, 2),
            whole("Top-k", own.get("top_k", 0), 0, 100),
            real("Top-p", own.get("top_p", 1), 0, 1),
        ),
    )


def _record(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


# --- the place on screen ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A position, what it is called, and the texts of its tokens."""

    position: Position
    title: str
    tokens: Mapping[str, str]


def place_on_screen(trace: Trace | None, spot: Mapping[str, Any] | None) -> Place:
    """Return the selected position of a trace, the first examined draft where none is; raises SpecVizError.

    A replacement stands for the rejected draft that it replaces.
    """
    if trace is None:
        raise SpecVizError(
            "There is no run on screen yet: press Run in the first tab, or choose the toy or the three tokens here."
        )
    if trace.data["settings"]["fault"]:
        raise SpecVizError(
            "The run on screen was made with a deliberate mistake: choose another run, the toy, or the three tokens."
        )
    if not trace.has_distributions:
        raise SpecVizError(
            "The run on screen came from a CSV, which holds no distributions: open its JSON, or choose the toy or the three tokens."
        )
    step, position = _selected(trace, spot)
    draft = trace.data["steps"][step - 1]["drafts"][position - 1]
    if draft["coin"] is None:
        raise SpecVizError(
            "That draft was never looked at, so it was not decided there: select one that was kept or rejected."
        )
    settings = trace.data["settings"]
    title = f"Step {step}, position {position} of the run on screen (temperature {settings['temperature']:g})"
    return Place(position_of_row(draft["row"]), title, trace.data["tokens"])


def _selected(trace: Trace, spot: Mapping[str, Any] | None) -> tuple[int, int]:
    steps = trace.data["steps"]
    if spot is None:
        examined = (
            (step["step"], index)
            for step in steps
            for index, draft in enumerate(step["drafts"], start=1)
            if draft["coin"] is not None
        )
        found = next(examined, None)
        if found is None:
            raise SpecVizError(
                "Nothing was drafted in this run, so there is nothing to decide: choose a K above 0."
            )
        return found
    step = whole("The selected step", spot.get("step"), 1, max(1, len(steps)))
    drafts = steps[step - 1]["drafts"] if steps else []
    position = whole("The selected position", spot.get("position"), 1, len(drafts) + 1)
    if position > len(drafts):
        raise SpecVizError(
            "That is the target's own draw from p, nothing was drafted there: select a draft that was kept or rejected."
        )
    return step, position


# --- a check, as the browser draws it ---------------------------------------------------------------------------------


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
    number = _record(given).get("number")
    return number if isinstance(number, int) else 0


def _switches() -> Iterator[dict[str, Any]]:
    for fault in FAULTS.values():
        yield {
            "name": fault.name, "row": fault.row, "title": title_of(fault), "exact": fault.exact,
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
    return {
        "title": f"A world of {world}, {drafts} a step: the first three tokens of the text (temperature {how.temperature:g}{truncated})",
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
        and {"trials": thrown.trials, "distance": thrown.distance, "low": thrown.band[0], "high": thrown.band[1], "inside": thrown.inside},
    }  # fmt: skip


# --- temperature 0 ----------------------------------------------------------------------------------------------------


def greedy_settings(trace: Trace | None) -> dict[str, Any]:
    """Return what is run at temperature 0: the run on screen's pair, draft, prompt and K, or the toy where there is none."""
    if trace is None:
        return {"pair": TOY, "draft": "model", "prompt": TOY_PROMPT, "k": DEFAULT_K, "max_new_tokens": DEFAULT_TOKENS, "chat": None}  # fmt: skip
    settings = trace.data["settings"]
    return {
        "pair": one_of("pair", settings["pair"], pairs.CATALOGUE),
        "draft": one_of("draft", settings["draft"]["kind"], pairs.DRAFT_KINDS),
        "prompt": trace.data["prompt"]["text"],
        "k": max(1, settings["k"]),
        "max_new_tokens": min(settings["max_new_tokens"], MAX_NEW_TOKENS),
        "chat": settings["chat"],
    }


def greedy(shelf: Shelf, trace: Trace | None) -> Iterator[str]:
    """Run the pair on screen at temperature 0 with and without its draft; yield what to show meanwhile and in the end."""
    try:
        asked = greedy_settings(trace)
        pair_name, draft = asked.pop("pair"), asked.pop("draft")
        yield as_json({"busy": "Getting the pair ready."})
        for line in shelf.lines_until_loaded(pair_name):
            yield as_json({"busy": line})
        pair = shelf.pair_here(pair_name, draft, DEFAULT_AGREEMENT)
        for line in shelf.lines_until_free(pair_name):
            yield as_json({"busy": line})
        try:
            yield as_json({"busy": "Running it at temperature 0, with the draft and without."})
            with shelf.unloading(pair_name):
                found = check_greedy(pair, asked.pop("prompt"), **asked)
        finally:
            shelf.free(pair_name)
        yield as_json(_greedy_words(found))
    except SpecVizError as error:
        yield as_json({"problem": str(error)})


def _greedy_words(found: GreedyCheck) -> dict[str, Any]:
    settings, tokens, contest = found.trace.data["settings"], found.trace.data["tokens"], found.contest
    draft = settings["draft"]
    return {
        "pair": settings["pair"],
        "draft": draft["name"] if draft["kind"] == "model" else draft["kind"],
        "k": settings["k"],
        "dtype": found.trace.data["weights"]["target"]["dtype"],
        "ours": [tokens[str(token)] for token in found.trace.token_ids],
        "plain": [tokens[str(token)] for token in found.plain],
        "equal": found.equal,
        "contest": contest
        and {
            "index": contest.index,
            "rows": contest.rows,
            "one_row": contest.one_row,
            "many_rows": contest.many_rows,
            "allowed": contest.allowed,
            "near_tie": contest.near_tie,
        },
    }


# --- a run with a mistake ---------------------------------------------------------------------------------------------


def run_toy(shelf: Shelf, given: object) -> Trace:
    """Return a run of the toy with the mistake that is switched on, K 4, 64 tokens, seed 7; raises SpecVizError."""
    ask = read_ask(given)
    if ask.fault is None:
        raise SpecVizError("No mistake is switched on: choose one first.")
    pair = shelf.pair(TOY, "model", ask.agreement)
    return decode(
        pair, ask.prompt, k=DEFAULT_K, max_new_tokens=DEFAULT_TOKENS, sampling=ask.sampling, seed=DEFAULT_SEED, rules=ask.fault.rules
    )  # fmt: skip
