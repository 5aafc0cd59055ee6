"""What the speed lab says: figures as cards, a table and sentences. Nothing is measured here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from specviz import theory
from specviz.bounds import MAX_K
from specviz.page import messages
from specviz.page.messages import Card, Grid, GridCell
from specviz.page.server.shelf import TOY, Shelf
from specviz.record.doubts import doubt_of_costs, draft_spread, rest_spread, target_spread
from specviz.record.metrics import summary
from specviz.record.shape import Costs, Step, TraceData
from specviz.speed.sweep import KS, TEMPERATURES, Cell, best_cells
from specviz.timing import Spread, quotient, total

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
        """A target pass over K + 1 rows, for K = 0 ... its limit.

        At least 1 and never falling, as it can't be: dents within the spreads, which are in no doubt, are evened out.
        """
        return list(accumulate((ms / self.costs["target_ms"][0] for ms in self.costs["target_ms"]), max))

    @property
    def doubt(self) -> str | None:
        """Why nothing may be concluded from it."""
        return doubt_of_costs(self.costs)

    @property
    def tone(self) -> str:
        """How a note about it is coloured."""
        return "disturbed" if self.doubt else "measured" if self.here else "recorded"

    @property
    def uncertainty(self) -> float:
        """By which share of itself a speedup that follows from these costs may be off, either way: half its spread at K = 4."""
        step = total(
            [(1, target_spread(self.costs, 5)), (4, draft_spread(self.costs)), (1, rest_spread(self.costs))]
        )
        return quotient(target_spread(self.costs, 1), step).width / 2


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


def verdict(alpha: float, c: float, k: int, timing: Timing | None) -> list[str]:
    """Return what acceptance, c, v and o say about K, in sentences; what two K differ by less than the costs' spread is no verdict."""
    verify, rest = (timing.verify, timing.rest) if timing else (None, 0.0)
    off = timing.uncertainty if timing else 0.0
    v = verify[k] if verify else 1.0
    speed = theory.speedup(alpha, k, c, v, rest)
    best, gain = theory.best_k(alpha, c, verify, rest)
    costs = "with this pair's v and o" if verify else "if more rows and the rest cost nothing (v = 1, o = 0)"
    first = f"K = {k} gives {speed:.2f}× {costs}: {compared(speed, speed * (1 - off), speed * (1 + off))}."
    return [f"{first} {_best_words(alpha, c, verify, rest, off, best, gain)} {_least_words(k, c, v, rest)}"]


def _best_words(
    alpha: float, c: float, verify: Sequence[float] | None, rest: float, off: float, best: int, gain: float
) -> str:
    gains = {
        each: theory.speedup(alpha, each, c, verify[each] if verify else 1.0, rest)
        for each in range(1, MAX_K + 1)
    }
    if not best:
        return "No K pays: plain decoding is the fastest."
    if gain * (1 - off) <= 1:
        return "No K is faster than plain decoding by more than these timings scatter."
    equals = [each for each, other in gains.items() if other >= gain * (1 - off)]
    if len(equals) == 1:
        return f"The best is K = {best}: {gain:.2f}×."
    return f"The best is K = {best}: {gain:.2f}×, but {ks_in_words(equals)} are alike here, for all that these timings tell."


def _least_words(k: int, c: float, v: float, rest: float) -> str:
    least = theory.break_even(k, c, v, rest)
    if least is None:
        return f"K = {k} never pays at these costs, even if every draft is kept."
    return f"K = {k} pays from an acceptance of {least:.2f} on."


def ks_in_words(ks: Sequence[int]) -> str:
    """Return some K, in order, in words.

    >>> ks_in_words([2, 3, 4]), ks_in_words([2, 4, 8])
    ('K 2 to 4', 'K 2, 4 and 8')
    """
    if len(ks) > 2 and list(ks) == list(range(ks[0], ks[-1] + 1)):
        return f"K {ks[0]} to {ks[-1]}"
    return f"K {', '.join(map(str, ks[:-1]))} and {ks[-1]}"


def compared(speed: float, low: float, high: float) -> str:
    """Return how a speedup compares with plain decoding, where its bounds leave that open too."""
    if low <= 1 <= high or f"{speed:.2f}" == "1.00":
        return "as fast as plain decoding, for all that was measured"
    return "faster than plain decoding" if speed > 1 else "slower than plain decoding"


def bounds_in_words(spread: Spread) -> str:
    """Return the bounds of a figure, as they stand behind it."""
    return f"{hundredths(spread.low)} to {hundredths(spread.high)}"


def hundredths(value: float) -> str:
    """Return a figure with two decimals, or with as many as show that it is below 1.

    >>> hundredths(0.994), hundredths(0.9971), hundredths(1.0)
    ('0.99', '0.997', '1.00')
    """
    digits = 2
    while value < 1 and float(f"{value:.{digits}f}") >= 1 and digits < 16:
        digits += 1
    return f"{value:.{digits}f}"


def acceptance_card(figures: Mapping[str, Any]) -> Card:
    if not figures["examined"]:
        return Card("acceptance, α", "–", ("No draft was looked at in this run.",))
    notes = [f"{figures['accepted']} kept of {figures['examined']} looked at, in this run."]
    if figures["overlap_mean"] is not None:
        notes.append(f"Mean overlap Σ min(p, q) = {figures['overlap_mean']:.2f}.")
    return Card("acceptance, α", hundredths(figures["acceptance_examined"]), tuple(notes))


def timing_cards(timing: Timing | None, k: int) -> list[Card]:
    titles = ("c, a draft forward", f"v, a pass over {k + 1} rows", "o, the rest of a step")
    if timing is None:
        return [Card(title, None, ("In units of one target row.",)) for title in titles]
    costs, row = timing.costs, target_spread(timing.costs, 1)
    parts = (draft_spread(costs), target_spread(costs, k + 1), rest_spread(costs))
    cards = []
    values = (timing.c, timing.verify[k], timing.rest)
    for title, part, share in zip(titles, parts, values, strict=True):
        value = f"{share:.2f}"
        notes = [f"{part.median:.3g} ms; one target row takes {row.median:.3g} ms."]
        if "timing" in costs:
            notes.append(f"{bounds_in_words(quotient(part, row))} in {costs['timing']['rounds']} rounds.")
        if timing.doubt:
            cards.append(Card(title, f"~ {value}", (*notes, "disturbed: measure again"), timing.tone))
        else:
            cards.append(Card(title, value, (*notes, timing.where), timing.tone))
    return cards


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
    firsts = [cells[0] for cells in best_cells(measured).values()] if not is_toy else []
    best = {(cell.temperature, cell.k) for cell in firsts if cell.speedup and cell.speedup.low > 1}
    rows = [
        (f"{temperature:g}", [_grid_cell(found.get((temperature, k)), (temperature, k) in best, is_toy) for k in KS])
        for temperature in TEMPERATURES
    ]  # fmt: skip
    caption = (
        "Tokens per target pass, measured."
        if is_toy
        else "Speedup over the plain loop, measured here in rounds that take turns: the median, and where their middle lies."
    )
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
    if cell.doubt:
        return GridCell("disturbed", f"{passes} a pass")
    note = f"{bounds_in_words(cell.speedup)}; {passes} a pass"
    return GridCell(f"{cell.speedup.median:.2f}×", note, _shade(cell.speedup.median - 1, 1.5), best)


def _shade(value: float, full: float) -> float:
    return round(min(1.0, max(0.0, value / full)), 3)


def advice(measured: Sequence[Cell], is_toy: bool) -> list[str]:
    """Return which K to use at each temperature, in one sentence each, as far as the cells differ by more than their spreads."""
    if is_toy:
        return [f"{NO_FORWARDS} Which K pays needs a pair that has them."]
    fastest = best_cells(measured)
    timed = sorted({cell.temperature for cell in measured if cell.speedup is not None})
    return (
        [" ".join(_advice_at(temperature, fastest.get(temperature, [])) for temperature in timed)]
        if timed
        else []
    )


def _advice_at(temperature: float, fastest: Sequence[Cell]) -> str:
    """Return what a temperature's fastest cell, and those alike, say: [] where all were disturbed."""
    where = f"At temperature {temperature:g}"
    if not fastest or fastest[0].speedup is None:
        return f"{where} the measurements were disturbed: sweep again."
    gain = fastest[0].speedup
    if gain.high < 1:
        return f"{where} no K paid: the plain loop was faster."
    if gain.low <= 1:
        return f"{where} no K differs from the plain loop by more than its spread."
    if len(fastest) == 1:
        return f"{where} use K = {fastest[0].k}: {gain.median:.2f}× the plain loop."
    alike = ks_in_words(sorted(cell.k for cell in fastest))
    return f"{where} {alike} are alike here, about {gain.median:.2f}× the plain loop."


def provenance(data: TraceData, timing: Timing | None) -> list[str]:
    """Return what has to be said about where c, v and o come from."""
    if data["settings"]["pair"] == TOY:
        return [NO_FORWARDS]
    if timing is None:
        return [
            "c, v and o have not been measured yet: press “Measure this pair”. Until then the curves take v = 1, o = 0."
        ]
    if timing.doubt:
        return [f"These timings are in doubt: {timing.doubt}. Nothing follows from them: measure again."]
    if timing.here:
        return []
    machine = data["machine"] or "an unknown machine"
    return [f"○ came with the trace, from {machine}. For this machine press “Measure this pair”."]
