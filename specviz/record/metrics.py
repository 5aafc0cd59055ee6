"""What a run achieved, computed from its trace alone.

Three kinds of figures that must not be confused: acceptance (with its denominator), tokens per target pass (which
depends on no hardware), and speedups (modelled from measured costs, or measured against the plain loop).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specviz.record import doubts
from specviz.record.shape import Baseline, FinalKind, Step, TraceData, known
from specviz.theory import expected_tokens
from specviz.timing import Spread, quotient, total

SHORTEST_MEASURED = 8
EXAMINED = ("accepted", "rejected")


def summary(data: TraceData) -> dict[str, Any]:
    """Return a run's figures from a trace's data; a figure without a denominator is None, never 0.

    acceptance_examined: accepted / examined drafts, an unbiased alpha when positions are alike.
    acceptance_drafted: accepted / drafted, what engines print.
    overlap_mean: mean of sum(min(p, q)) over examined positions, the estimate of alpha with the least variance.
    tokens_per_pass: emitted tokens / target passes. expected_tokens_per_pass: (1 - alpha^(K+1)) / (1 - alpha),
    Leviathan et al., equation (1), with alpha = acceptance_examined.
    speedup_modelled, speedup_measured: see `speedups`. speedup_ideal: see `ideal_speedup`. `..._low` and `..._high`
    bound them, `..._doubt` says in words why nothing may be concluded from one, see `judged`.
    """
    steps = data["steps"]
    drafts = [draft for step in steps for draft in step["drafts"]]
    examined = [draft for draft in drafts if draft["state"] in EXAMINED]
    accepted = sum(draft["state"] == "accepted" for draft in examined)
    totals = steps[-1]["totals"] if steps else {"tokens": 0, "target_passes": 0, "draft_passes": 0}
    alpha = _ratio(accepted, len(examined))
    last = speedups(data)[-1] if steps else {"speedup_modelled": None, "speedup_measured": None}
    return {
        "tokens": totals["tokens"],
        "target_passes": totals["target_passes"],
        "draft_passes": totals["draft_passes"],
        "drafted": len(drafts),
        "examined": len(examined),
        "accepted": accepted,
        "residual": count_finals(steps, "residual"),
        "bonus": count_finals(steps, "bonus"),
        "acceptance_examined": alpha,
        "acceptance_drafted": _ratio(accepted, len(drafts)),
        "overlap_mean": _ratio(sum(known(draft["overlap"]) for draft in examined), len(examined)),
        "acceptance_by_position": by_position(steps),
        "tokens_per_pass": _ratio(totals["tokens"], totals["target_passes"]),
        "expected_tokens_per_pass": None if alpha is None else expected_tokens(alpha, data["settings"]["k"]),
        **last,
        **judged(data, last["speedup_modelled"], last["speedup_measured"]),
        "speedup_ideal": ideal_speedup(data),
    }


def count_finals(steps: Sequence[Step], kind: FinalKind) -> int:
    """Return how many final draws of a kind there were, those of steps that drafted nothing left out."""
    return sum(
        bool(step["drafts"]) and step["final"] is not None and step["final"]["kind"] == kind for step in steps
    )


def by_position(steps: Sequence[Step]) -> list[dict[str, int]]:
    """Return, for each draft position from 1, how many drafts were examined there and how many accepted."""
    deepest = max((len(step["drafts"]) for step in steps), default=0)
    counts = []
    for index in range(deepest):
        states = [step["drafts"][index]["state"] for step in steps if index < len(step["drafts"])]
        accepted = states.count("accepted")
        counts.append(
            {"position": index + 1, "examined": accepted + states.count("rejected"), "accepted": accepted}
        )
    return counts


def speedups(data: TraceData) -> list[dict[str, float | None]]:
    """Return the cumulative figures at the end of each step: tokens_per_pass, speedup_modelled, speedup_measured.

    Modelled: tokens / sum over steps of (k_s c + v[k_s + 1] + o), in units of one target row, from the costs measured
    for the pair. Measured: the plain loop's milliseconds per token x tokens / milliseconds of the steps. None without
    costs, without a baseline, or with fewer than 8 tokens measured. Either may be below 1.
    """
    costs, baseline = data["costs"], data["baseline"]
    modelled_ms = measured_ms = 0.0
    figures = []
    for step in data["steps"]:
        tokens, k = step["totals"]["tokens"], step["k"]
        if costs:
            modelled_ms += k * costs["draft_ms"] + costs["target_ms"][k] + costs["rest_ms"]
        measured_ms += step["ms"]["step"]
        figures.append(
            {
                "tokens_per_pass": _ratio(tokens, step["totals"]["target_passes"]),
                "speedup_modelled": _ratio(tokens * costs["target_ms"][0], modelled_ms) if costs else None,
                "speedup_measured": _measured(baseline, tokens, measured_ms),
            }
        )
    return figures


def judged(data: TraceData, modelled: float | None, measured: float | None) -> dict[str, Any]:
    """Return the bounds of a run's two speedups, and why either is in doubt; None where there is no such figure or no reason.

    speedup_modelled_low, _high: as far as the spreads of the costs carry, added as squares. speedup_measured_low, _high: of
    the rounds in which both loops ran, None where they ran once. See `doubts` for the reasons.
    """
    shown: dict[str, Any] = dict.fromkeys(
        f"speedup_{kind}_{what}" for kind in ("modelled", "measured") for what in ("low", "high", "doubt")
    )
    modelled_spread = modelled_bounds(data) if modelled is not None else None
    measured_spread = _measured_bounds(data, measured) if measured is not None else None
    doubt_modelled = doubts.doubt_of_costs(known(data["costs"])) if modelled is not None else None
    doubt_measured = None
    if measured is not None:
        doubt_measured = doubts.doubt_of_measured(data, measured, _tokens_per_pass(data["steps"]))
    if modelled_spread and measured_spread and not doubt_modelled and not doubt_measured:
        doubt_modelled = doubt_measured = doubts.doubt_of_both(modelled_spread, measured_spread)
    for kind, bounds, doubt in (
        ("modelled", modelled_spread, doubt_modelled),
        ("measured", measured_spread, doubt_measured),
    ):
        if bounds:
            shown |= {f"speedup_{kind}_low": bounds.low, f"speedup_{kind}_high": bounds.high}
        shown[f"speedup_{kind}_doubt"] = doubt
    return shown


def modelled_bounds(data: TraceData) -> Spread | None:
    """Return a run's modelled speedup with its bounds; None without steps, or where the costs were kept without theirs."""
    costs, steps = data["costs"], data["steps"]
    if not costs or not steps or "timing" not in costs or not costs["target_ms"][0]:
        return None
    passes = [doubts.target_spread(costs, step["k"] + 1) for step in steps]
    mean = Spread(*(sum(each) / len(steps) for each in zip(*passes, strict=True)))
    drafts = sum(step["k"] for step in steps) / len(steps)
    step_ms = total([(1, mean), (drafts, doubts.draft_spread(costs)), (1, doubts.rest_spread(costs))])
    gain = quotient(doubts.target_spread(costs, 1), step_ms)
    return Spread(*(each * _tokens_per_pass(steps) for each in gain))


def _tokens_per_pass(steps: Sequence[Step]) -> float:
    totals = steps[-1]["totals"]
    return totals["tokens"] / totals["target_passes"]


def _measured_bounds(data: TraceData, measured: float) -> Spread | None:
    timing = doubts.race_timing(data)
    if not timing:
        return None
    return Spread(measured, min(measured, timing["low"]), max(measured, timing["high"]))


def ideal_speedup(data: TraceData) -> float | None:
    """Return the modelled speedup if a pass over k + 1 rows cost what one row does and the engine nothing (v = 1, o = 0).

    This is what Leviathan et al., Theorem 3.8, count. None without costs.
    """
    costs, steps = data["costs"], data["steps"]
    if not costs or not steps:
        return None
    row_ms = costs["target_ms"][0]
    spent_ms = sum(row_ms + step["k"] * costs["draft_ms"] for step in steps)
    return _ratio(steps[-1]["totals"]["tokens"] * row_ms, spent_ms)


def _measured(baseline: Baseline | None, tokens: int, ms: float) -> float | None:
    if not baseline or min(tokens, baseline["tokens"]) < SHORTEST_MEASURED:
        return None
    return _ratio(baseline["ms"] / baseline["tokens"] * tokens, ms)


def engine_overhead(steps: Sequence[Step]) -> float | None:
    """Return the share of the steps' wall-clock that was spent outside the models' forwards."""
    return _ratio(sum(step["ms"]["rest"] for step in steps), sum(step["ms"]["step"] for step in steps))


def _ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None
