"""What a visitor asks a branch for, and what the page has to know to say whether it can be computed."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from specviz import Trace, replay
from specviz.bounds import MAX_K, MOST_ROWS, real, whole
from specviz.decoding.coins import PURPOSES
from specviz.errors import SpecVizError
from specviz.models.catalogue import CATALOGUE, DRAFT_KINDS
from specviz.models.toy import toy_model
from specviz.page.controls import MAX_NEW_TOKENS
from specviz.page.server.shelf import TOY, Shelf
from specviz.page.settings import one_of
from specviz.page.step.files import message_in, named_run
from specviz.record.shape import why_no_branch

MAX_CHARACTERS = 4_000_000
MOST_STEPS = 10_000
TOO_LARGE = "The run on screen is too large to be sent for a branch: run a shorter one."
UNREADABLE = "What the branch changes could not be read: change the coin again."
DAMAGED = "The run on screen is damaged, so nothing can go on from it"


class Change(NamedTuple):
    """One random number, by its address, and what it becomes."""

    step: int
    position: int
    purpose: str
    u: float


def read_branch(asked: object, kept: Trace | None) -> tuple[Trace, Change]:
    """Return the run to go on from and the change, or raise SpecVizError.

    `asked` is a record {step, position, purpose, u} and where the run is, see `named_run`.
    """
    data = message_in(asked, MAX_CHARACTERS, TOO_LARGE, UNREADABLE)
    change = Change(
        step=whole("The step of a branch", data.get("step"), 1, MOST_STEPS),
        position=whole("The position of a branch", data.get("position"), 1, MOST_ROWS),
        purpose=one_of("purpose of a coin", data.get("purpose"), PURPOSES),
        u=real("The changed coin", data.get("u"), 0, 1),
    )
    parent = named_run(data, kept)
    return _checked(parent) if "trace" in data else parent, change


def _checked(trace: Trace) -> Trace:
    """Return an opened trace if this page can go on from it: what the file says is not to be trusted."""
    settings = trace.data["settings"]
    one_of("pair", settings["pair"], CATALOGUE)
    one_of("draft", settings["draft"]["kind"], DRAFT_KINDS)
    whole("K", settings["k"], 0, MAX_K)
    whole("The number of new tokens", settings["max_new_tokens"], 1, MAX_NEW_TOKENS)
    if why := why_no_branch(trace.data):
        raise SpecVizError(why)
    try:
        differences = replay(trace)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        raise SpecVizError(f"{DAMAGED}: its numbers can't be read.") from None
    if differences:
        raise SpecVizError(f"{DAMAGED}: {differences[0]}.")
    return trace


def check_ids(trace: Trace, vocab: int) -> None:
    """Raise SpecVizError where a trace's text holds ids that the target does not have."""
    if not all(0 <= token < vocab for token in [*trace.data["prompt"]["ids"], *trace.data["token_ids"]]):
        raise SpecVizError(f"{DAMAGED}: it holds ids that the target does not have.")


def loaded(shelf: Shelf) -> str:
    """Return what is loaded, as JSON: for each pair its name, its target's hash and dtype, and its own draft's with a name.

    The toy is always there. Lookup, noise and the target itself can draft for every loaded pair.
    """
    toy = toy_model()
    facts: list[dict[str, Any]] = [
        {"pair": TOY, "target": {"sha256": toy.sha256, "dtype": toy.dtype}, "draft": None}
    ]
    for pair in shelf.loaded():
        own = pair.draft if pair.draft_kind == "model" else None
        facts.append(
            {
                "pair": pair.name,
                "target": {"sha256": pair.target.sha256, "dtype": pair.target.dtype},
                "draft": own and {"name": own.name, "sha256": own.sha256, "dtype": own.dtype},
            }
        )
    return json.dumps([fact for at, fact in enumerate(facts) if at == 0 or fact["pair"] != TOY])
