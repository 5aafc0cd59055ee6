"""The figures of a measured pair: ratios of speeds, shares and costs, each {median, low, high} over the prompts."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from specviz.speed.bench.engines import Timed
from specviz.speed.bench.forwards import possible
from specviz.speed.bench.loops import GENERATE, PLAIN, Measured, assisted, floor, same_draft, speculative

Spread = dict[str, float]
NOTHING: Spread = {"median": 0.0}


def figures(measured: Measured, k: int) -> dict[str, Any]:
    """Return what the bench reports of one pair; a ratio of speeds (`vs_...`) is above 1 where ours is faster.

    engine_overhead: the share of our wall-clock at K outside the models' forwards. vs_floor: the time of its forwards
    alone / ours. vs_plain_loop: our speculative loop at best_k / our plain loop. vs_transformers_generate: our plain loop
    / theirs. vs_transformers_assisted: ours at K / theirs, with one and the same draft. acceptance: accepted / examined
    at K. draft_cost, verify_cost: a draft forward and a pass over K + 1 rows, in units of a one-row target pass. best_k:
    the fastest of the K that were tried, by vs_plain_loop. possible: what the closed form says at best_k, from the prompt's
    own acceptance and costs, None where no model drafts (then not every step drafts K); of_possible: the share of it that
    vs_plain_loop reaches. rest_ms, step_ms: a step at K, and its part outside
    the forwards. None is what was not measured.
    """
    runs, costs = measured.runs, measured.costs
    at_k, plain = runs[speculative(k)], runs[PLAIN]
    gained = {each: ratios(runs[speculative(each)], plain) for each in measured.ks}
    best = max(gained, key=lambda each: (spread(gained[each]) or NOTHING)["median"])
    gains = gained[best]
    could = [
        possible(run.acceptance or 0.0, best, cost) if cost.draft else None
        for run, cost in zip(runs[speculative(best)], costs, strict=True)
    ]
    steps = [step for run in at_k for step in run.steps]
    return {
        "engine_overhead": spread(run.overhead for run in at_k),
        "vs_floor": spread(ratios(at_k, runs[floor(k)])),
        "vs_plain_loop": spread(gains),
        "vs_transformers_generate": spread(ratios(plain, runs.get(GENERATE, []))),
        "vs_transformers_assisted": spread(ratios(runs.get(same_draft(k), at_k), runs.get(assisted(k), []))),
        "acceptance": spread(run.acceptance for run in at_k),
        "tokens_per_pass": spread(run.tokens / run.passes for run in at_k),
        "draft_cost": spread(cost.c for cost in costs),
        "verify_cost": spread(cost.v(k) for cost in costs),
        "best_k": best,
        "possible": spread(could),
        "of_possible": spread(
            gain / most if gain and most else None for gain, most in zip(gains, could, strict=True)
        ),
        "target_ms": {rows: spread(cost.target[rows] for cost in costs) for rows in costs[0].target},
        "draft_ms": spread(cost.draft for cost in costs),
        "step_ms": spread(step["ms"]["step"] for step in steps),
        "rest_ms": spread(step["ms"]["rest"] for step in steps),
        "loops": {name: _loop(timed) for name, timed in runs.items()},
        "notes": measured.notes,
    }


def _loop(runs: Sequence[Timed]) -> dict[str, Any]:
    return {
        "tokens_per_second": spread(run.speed for run in runs),
        "pass_ms": spread(run.ms / run.passes if run.passes else None for run in runs),
        "tokens": sum(run.tokens for run in runs),
        "passes": sum(run.passes for run in runs),
    }


def ratios(ours: Sequence[Timed], theirs: Sequence[Timed]) -> list[float | None]:
    """Return, prompt by prompt, our speed / theirs; empty where theirs was not measured."""
    pairs = zip(ours, theirs, strict=False)
    return [one.speed / other.speed if one.speed and other.speed else None for one, other in pairs]


def spread(values: Iterable[float | None]) -> Spread | None:
    """Return {median, low, high} of what was measured, None where nothing was."""
    measured = [value for value in values if value is not None]
    if not measured:
        return None
    return {"median": statistics.median(measured), "low": min(measured), "high": max(measured)}
