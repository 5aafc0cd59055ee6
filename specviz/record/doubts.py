"""Why a trace's figures about time can't be taken at their word: what was disturbed, and the bounds that no machine breaks.

A machine that does other work gives timings that contradict each other. Each function returns the first reason it finds as
one sentence, or None; nothing may be concluded from a figure that there is a reason against.
"""

from __future__ import annotations

from collections.abc import Sequence

from specviz.record.shape import Costs, RaceTiming, Step, TraceData
from specviz.timing import SLACK, Spread, surely_below

MODEL_MISSES = 0.15  # what the model leaves out: contexts that grow, caches that earlier steps have filled
ONCE = "measured once, so nobody knows by how much it would differ the next time"


def target_spread(costs: Costs, rows: int) -> Spread:
    """Return the milliseconds of a target pass over `rows` rows, with bounds that are the median's own where none were kept."""
    median, timing = costs["target_ms"][rows - 1], costs.get("timing")
    return Spread(
        median,
        timing["target_low"][rows - 1] if timing else median,
        timing["target_high"][rows - 1] if timing else median,
    )


def draft_spread(costs: Costs) -> Spread:
    """Return the milliseconds of a draft forward, as `target_spread` does."""
    median, timing = costs["draft_ms"], costs.get("timing")
    return Spread(
        median, timing["draft_low"] if timing else median, timing["draft_high"] if timing else median
    )


def rest_spread(costs: Costs) -> Spread:
    """Return the milliseconds of a step's rest, as `target_spread` does."""
    median, timing = costs["rest_ms"], costs.get("timing")
    return Spread(median, timing["rest_low"] if timing else median, timing["rest_high"] if timing else median)


def doubt_of_costs(costs: Costs) -> str | None:
    """Return why a pair's costs are in doubt: v(R) below 1, or falling with R, beyond their spreads; or how they were measured.

    v(R) = time of a target pass over R rows / over one. A pass over more rows does all that one over fewer does.
    """
    if not all(ms > 0 for ms in costs["target_ms"]) or costs["draft_ms"] < 0 or costs["rest_ms"] < 0:
        return "a pass that took no time can't be"
    if "timing" in costs and costs["timing"]["disturbed"]:
        return costs["timing"]["disturbed"]
    passes = [target_spread(costs, rows) for rows in range(1, len(costs["target_ms"]) + 1)]
    for rows, one in enumerate(passes, start=1):
        for fewer, other in enumerate(passes[: rows - 1], start=1):
            if surely_below(one, other):
                return (
                    f"a pass over {rows} rows took {one.median:.3g} ms and one over {_rows(fewer)} {other.median:.3g} ms, "
                    "but more rows are never cheaper"
                )
    return None if "timing" in costs else ONCE


def doubt_of_steps(steps: Sequence[Step]) -> str | None:
    """Return why steps' times are in doubt: parts that are larger than the whole, or a step that took none."""
    for step in steps:
        ms = step["ms"]
        if ms["step"] <= 0:
            return f"step {step['step']} took no time, which can't be"
        if ms["draft"] + ms["verify"] > ms["step"] * (1 + SLACK):
            return f"the parts of step {step['step']} took longer than the step"
    return None


def race_timing(data: TraceData) -> RaceTiming | None:
    """Return how well a trace's measured speedup is known, None where both loops ran once or the plain one did not run."""
    baseline = data["baseline"]
    return baseline.get("timing") if baseline else None


def doubt_of_measured(data: TraceData, measured: float, tokens_per_pass: float) -> str | None:
    """Return why a trace's measured speedup is in doubt.

    A step costs at least what the plain loop's pass does, so no speedup is above the tokens that a target pass gave.
    """
    timing = race_timing(data)
    bounds = Spread(measured, measured, measured)
    if timing and timing["low"] <= measured <= timing["high"]:  # else the two are not of one race
        bounds = Spread(measured, timing["low"], timing["high"])
    if why := above_tokens_per_pass(bounds, tokens_per_pass):
        return why
    if why := doubt_of_steps(data["steps"]):
        return why
    return timing["disturbed"] if timing else ONCE


def above_tokens_per_pass(speedup: Spread, tokens_per_pass: float) -> str | None:
    """Return why a speedup can't be where it is above the tokens that a target pass gave, beyond its spread; else None."""
    if speedup.low <= tokens_per_pass * (1 + SLACK):
        return None
    return (
        f"{speedup.median:.2f}× is more than the {tokens_per_pass:.2f} tokens that a target pass gave, and a step costs at "
        "least as much as one pass of the plain loop"
    )


def doubt_of_both(modelled: Spread, measured: Spread) -> str | None:
    """Return why a modelled and a measured speedup can't both be right: they lie apart by more than both spreads explain.

    The model is given MODEL_MISSES besides, in either direction.
    """
    apart = (
        measured.high * (1 + MODEL_MISSES) < modelled.low or modelled.high * (1 + MODEL_MISSES) < measured.low
    )
    if not apart:
        return None
    return (
        f"the clock says {measured.median:.2f}× and the pair's timings {modelled.median:.2f}×, which is further apart than "
        "either's spread: one of the two was disturbed"
    )


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
