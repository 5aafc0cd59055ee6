"""A branch: a run again from one changed random number on, its earlier steps taken from the trace."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

from specviz.decoding.coins import check_overrides
from specviz.decoding.rules import EXACT
from specviz.decoding.run import Run
from specviz.errors import SpecVizError
from specviz.models.pairs import Pair
from specviz.record.shape import new_record, overrides_from, overrides_of, why_no_branch
from specviz.record.trace import Trace


def resume(pair: Pair, trace: Trace, *, step: int, position: int, purpose: str, u: float) -> Trace:
    """Branch off a trace: its earlier steps as they are, one random number replaced by u, and on from there.

    Raises SpecVizError where the pair's weights are not the trace's, or the address is not one of its.
    """
    run = start_branch(pair, trace, step=step, position=position, purpose=purpose, u=u)
    for _ in run:
        pass
    return run.trace


def start_branch(pair: Pair, trace: Trace, *, step: int, position: int, purpose: str, u: float) -> Run:
    """Prepare what `resume` runs, to be iterated step by step.

    The branch has neither the trace's costs nor its plain loop: they were timed at another moment than the steps to come.
    """
    data = trace.data
    _check_branch(pair, trace, step, position, purpose)
    settings = data["settings"]
    overrides = overrides_of(settings) | {(step, position, purpose): u}
    kept = data["steps"][: step - 1]
    emitted = kept[-1]["totals"]["tokens"] if kept else 0
    branch = Trace(
        new_record(
            run_id=uuid4().hex[:12],
            parent=data["run_id"],
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            settings={**settings, "overrides": overrides_from(check_overrides(overrides))},
            weights=data["weights"],
            machine=pair.machine(),
            prompt=data["prompt"],
        )
    )
    branch.data["steps"] = list(kept)
    branch.data["token_ids"] = data["token_ids"][:emitted]
    branch.name_tokens(pair.target.pieces)
    if kept:
        branch.name_tokens(pair.target.pieces, *kept)
    return Run(pair, branch, EXACT, branch.data["token_ids"])


def _check_branch(pair: Pair, trace: Trace, step: int, position: int, purpose: str) -> None:
    if why := why_no_branch(trace.data):
        raise SpecVizError(why)
    settings = trace.data["settings"]
    ours_is = (pair.name, pair.draft_kind, pair.draft_name)
    if ours_is != (settings["pair"], settings["draft"]["kind"], settings["draft"]["name"]):
        raise SpecVizError(
            f"This trace was made with the pair {settings['pair']}: load that pair with the same draft first."
        )
    ours, theirs = pair.weights(), trace.data["weights"]
    for side, mine, other in (
        ("target", ours["target"], theirs["target"]),
        ("draft", ours["draft"], theirs["draft"]),
    ):
        for fact, here, there in (
            ("sha256", mine and mine["sha256"], other and other["sha256"]),
            ("dtype", mine and mine["dtype"], other and other["dtype"]),
        ):
            if here != there:
                raise SpecVizError(
                    f"The {side}'s {fact} is {here} here but {there} in the trace: a branch needs the same."
                )
    steps = trace.data["steps"]
    if not 1 <= step <= len(steps):
        raise SpecVizError(
            f"The trace has the steps 1 to {len(steps)}, so a branch can't start at step {step}."
        )
    last = steps[step - 1]["k"] + (purpose == "final")
    if not 1 <= position <= last:
        raise SpecVizError(
            f"Step {step} has the positions 1 to {last} for purpose {purpose}, not {position}."
        )
