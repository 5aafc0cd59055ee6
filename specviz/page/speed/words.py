"""What the speed lab says: figures as cards, a table and sentences. Nothing is measured here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specviz import theory
from specviz.bounds import MAX_K
from specviz.page import messages
from specviz.page.messages import Card, Grid, GridCell
from specviz.page.server.shelf import TOY, Shelf
from specviz.record.metrics import summary
from specviz.record.shape import Costs, Step, TraceData
from specviz.speed.sweep import KS, TEMPERATURES, Cell, best_cells

NO_FORWARDS = "The toy has no forwards to time."


@dataclass(frozen=True)
class Timing:
    """A pair's costs in units of one target row, and whether this process measured them."""

    costs: Costs
    here: bool
    where: str

    @property
    def c(self) -> float:
        """One draft forward."""
        return self.costs["draft_ms"] / self.costs["target_ms"][0]

    @property
    def rest(self) -> float:
        """The rest of a step, o."""
        return self.costs["rest_ms"] / self.costs["target_ms"][0]

    @property
    def verify(self) -> list[float]:
        """A target pass over K + 1 rows, for K = 0 ... its limit."""
        return [ms / self.costs["target_ms"][0] for ms in self.costs["target_ms"]]

    @property
    def tone(self) -> str:
        """How a note about it is coloured."""
        return "measured" if self.here else "recorded"


def timing_of(data: TraceData, shelf: Shelf) -> Timing | None:
    """Return a run's costs: measured in this process where they were, else what its trace brought, else None."""
    settings = data["settings"]
    if costs := shelf.costs(settings["pair"], settings["draft"]["name"]):
        return Timing(costs, True, "measured here, in this process")
    costs = data["costs"]
    if costs is None or not _usable(costs):
        return None
    if data["run_id"] in shelf.made:
        return Timing(costs, True, "measured here, in this process")
    return Timing(costs, False, "recorded, not measured here")


def figures_of(data: TraceData, timing: Timing | None) -> dict[str, Any]:
    """Return a run's figures, modelled from the costs that this tab shows rather than from those in the trace."""
    return summary({**data, "costs": timing.costs if timing else None})


def _usable(costs: Costs) -> bool:
    try:
        times = [*costs["target_ms"], costs["draft_ms"], costs["rest_ms"]]
        return (
            len(costs["target_ms"]) == MAX_K + 1
            and all(0 <= ms < math.inf for ms in times)
            and all(costs["target_ms"])
        )
    except (TypeError, LookupError):
        return False


def shares_kept(steps: Sequence[Step]) -> list[float]:
    """Return, for i from 1, the share of the steps with i drafts or more that kept the first i."""
    deepest = max((step["k"] for step in steps), default=0)
    shares = []
    for i in range(1, deepest + 1):
        long = [step for step in steps if step["k"] >= i]
        kept = sum(all(draft["state"] == "accepted" for draft in step["drafts"][:i]) for step in long)
        shares.append(kept / len(long))
    return shares


def verdict(alpha: float, c: float, k: int, verify: Sequence[float] | None, rest: float) -> list[str]:
    """Return what acceptance, c, v and o say about K, in sentences."""
    v = verify[k] if verify else 1.0
    speed = theory.speedup(alpha, k, c, v, rest)
    best, gain = theory.best_k(alpha, c, verify, rest)
    least = theory.break_even(k, c, v, rest)
    costs = "with this pair's v and o" if verify else "if more rows and the rest cost nothing (v = 1, o = 0)"
    first = f"K = {k} gives {speed:.2f}× {costs}: {_compared(speed)}."
    second = f"The best is K = {best}: {gain:.2f}×." if best else "No K pays: plain decoding is the fastest."
    third = (
        f"K = {k} pays from an acceptance of {least:.2f} on."
        if least is not None
        else f"K = {k} never pays at these costs, even if every draft is kept."
    )
    return [f"{first} {second} {third}"]


def _compared(speed: float) -> str:
    if f"{speed:.2f}" == "1.00":
        return "as fast as plain decoding"
    return "faster than plain decoding" if speed > 1 else "slower than plain decoding"


def acceptance_card(figures: Mapping[str, Any]) -> Card:
    if not figures["examined"]:
        return Card("acceptance, α", "–", ("No draft was looked at in this run.",))
    notes = [f"{figures['accepted']} kept of {figures['examined']} looked at, in this run."]
    if figures["overlap_mean"] is not None:
        notes.append(f"Mean overlap Σ min(p, q) = {figures['overlap_mean']:.2f}.")
    return Card("acceptance, α", f"{figures['acceptance_examined']:.2f}", tuple(notes))


def timing_cards(timing: Timing | None, k: int) -> list[Card]:
    titles = ("c, a draft forward", f"v, a pass over {k + 1} rows", "o, the rest of a step")
    if timing is None:
        return [Card(title, None, ("In units of one target row.",)) for title in titles]
    costs = timing.costs
    values = (timing.c, timing.verify[k], timing.rest)
    times = (costs["draft_ms"], costs["target_ms"][k], costs["rest_ms"])
    return [
        Card(title, f"{value:.2f}", (f"{ms:.3g} ms; one target row takes {costs['target_ms'][0]:.3g} ms.", timing.where), timing.tone)
        for title, value, ms in zip(titles, values, times, strict=True)
    ]  # fmt: skip


def passes_card(figures: Mapping[str, Any]) -> Card:
    if figures["tokens_per_pass"] is None:
        return Card("tokens per target pass", "–", ("This run has no step.",))
    notes = [f"{figures['tokens']} tokens in {figures['target_passes']} target passes."]
    if figures["expected_tokens_per_pass"] is not None:
        notes.append(f"Equation (1) gives {figures['expected_tokens_per_pass']:.2f}.")
    return Card("tokens per target pass", f"{figures['tokens_per_pass']:.2f}", tuple(notes))


def sweep_panel(measured: Sequence[Cell], is_toy: bool) -> str:
    """Return the measured surface as a table, K across and temperature down, and which K to use."""
    found = {(cell.temperature, cell.k): cell for cell in measured}
    best = {(cell.temperature, cell.k) for cell in best_cells(measured)} if not is_toy else set()
    rows = [
        (f"{temperature:g}", [_grid_cell(found.get((temperature, k)), (temperature, k) in best, is_toy) for k in KS])
        for temperature in TEMPERATURES
    ]  # fmt: skip
    caption = "Tokens per target pass, measured." if is_toy else "Speedup over the plain loop, measured here."
    grid = Grid(caption, "temperature", [f"K {k}" for k in KS], rows)
    return messages.panel(grid=grid, lines=advice(measured, is_toy))


def _grid_cell(cell: Cell | None, best: bool, is_toy: bool) -> GridCell:
    if cell is None:
        return GridCell("·")
    passes = f"{cell.tokens_per_pass:.2f}"
    if is_toy:
        return GridCell(passes, shade=_shade(cell.tokens_per_pass - 1, 4))
    if cell.speedup is None:
        return GridCell("–", f"{passes} a pass")
    return GridCell(f"{cell.speedup:.2f}×", f"{passes} a pass", _shade(cell.speedup - 1, 1.5), best)


def _shade(value: float, full: float) -> float:
    return round(min(1.0, max(0.0, value / full)), 3)


def advice(measured: Sequence[Cell], is_toy: bool) -> list[str]:
    """Return which K to use at each temperature, in one sentence each."""
    if is_toy:
        return [f"{NO_FORWARDS} Which K pays needs a pair that has them."]
    lines = []
    for cell in best_cells(measured):
        if cell.speedup is not None and cell.speedup > 1:
            lines.append(
                f"At temperature {cell.temperature:g} use K = {cell.k}: {cell.speedup:.2f}× the plain loop."
            )
        else:
            lines.append(f"At temperature {cell.temperature:g} no K paid: the plain loop was faster.")
    return [" ".join(lines)] if lines else []


def provenance(data: TraceData, timing: Timing | None) -> list[str]:
    """Return what has to be said about where c, v and o come from."""
    if data["settings"]["pair"] == TOY:
        return [NO_FORWARDS]
    if timing is None:
        return [
            "c, v and o have not been measured yet: press “Measure this pair”. Until then the curves take v = 1, o = 0."
        ]
    if timing.here:
        return []
    machine = data["machine"] or "an unknown machine"
    return [f"○ came with the trace, from {machine}. For this machine press “Measure this pair”."]
