"""What a pair's forwards cost on this machine: the numbers behind the modelled speedup, and how well they are known."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence

from specviz.bounds import MOST_ROWS
from specviz.decoding.options import DEFAULT_K
from specviz.decoding.recording import figures
from specviz.decoding.run import Run, start
from specviz.models.loaded import LoadedModel
from specviz.models.pairs import Pair
from specviz.record.shape import Costs, CostsTiming
from specviz.speed.cores import Cores, Lap, share_waited
from specviz.timing import Spread, spread_of, total

CONTEXT = 64
BUDGET_S = 6.0
FEWEST, MOST = (
    3,
    24,
)  # rounds, between which the budget decides; of every figure there must be FEWEST quiet timings
STEPS = 2  # of a run, in every round

Timings = list[tuple[float, Lap]]


def measure_costs(pair: Pair) -> Costs:
    """Measure, at a context of 64 tokens: a target pass over R = 1 ... K's limit + 1 rows, one draft forward, a step's rest.

    Milliseconds: medians of rounds through all of them, with bounds in `timing`. Of a figure's timings those count during
    which nothing kept the computing from the cores; where too few are, the costs say that they were disturbed. The rest is
    what our own loop adds to a step of K = 4 with traces on. Takes about 6 seconds, longer where a forward takes long;
    everything is measured in this process, nothing is looked up.
    """
    measuring = measure_in_rounds(pair)
    while True:
        try:
            next(measuring)
        except StopIteration as done:
            return done.value


def measure_in_rounds(pair: Pair) -> Generator[float, None, Costs]:
    """Do what `measure_costs` does and yield after every forward which share of it is done, for somebody who waits."""
    context = list(range(100, 100 + CONTEXT))
    target = Reader(pair.target, context)
    draft = Reader(pair.draft or pair.target, context) if pair.draft_kind in ("model", "self") else None
    passes: list[Timings] = [[] for _ in range(MOST_ROWS)]
    drafts, rests = Timings(), Timings()
    cores, begun, done = Cores(), time.monotonic(), 0
    needed = (FEWEST + 1) * (MOST_ROWS + 2)  # the first round warms up

    def share() -> float:
        nonlocal done
        done += 1
        return min(
            1.0,
            done / needed,
            max((time.monotonic() - begun) / BUDGET_S, done * (FEWEST + 1) / needed / (MOST + 1)),
        )

    rounds = -1
    while rounds < FEWEST or (rounds < MOST and _goes_on(time.monotonic() - begun, [*passes, drafts, rests])):
        for rows, timings in enumerate(passes, start=1):
            cores.begin()
            timings.append((target.pass_ms(rows), cores.lap()))
            yield share()
        if draft:
            cores.begin()
            drafts.append((draft.draft_ms(), cores.lap()))
        yield share()
        rests += _rest_ms(pair, context, cores)
        yield share()
        if rounds < 0:
            for timings in (*passes, drafts, rests):
                timings.clear()
        rounds += 1
    return _costs(passes, drafts, rests, rounds)


class Reader:
    """A model that has read a context, to time forwards from there; ids that it lacks are read as others."""

    def __init__(self, model: LoadedModel, context: Sequence[int]) -> None:
        self._cursor = model.cursor()
        self._ids = [token % self._cursor.vocab for token in context]
        self._cursor.extend(self._ids, 0)

    def pass_ms(self, rows: int) -> float:
        """Return the milliseconds of one forward over `rows` rows."""
        self._cursor.take_ms()
        self._cursor.extend(self._ids[:rows], rows)
        self._cursor.rollback(len(self._ids))
        return self._cursor.take_ms()

    def draft_ms(self) -> float:
        """Return the milliseconds of one forward over one row, the mean of four in a row, as a step has them.

        The first of them finds nothing of the draft in the processor's caches, which the target's weights have passed.
        """
        return sum(self.pass_ms(1) for _ in range(DEFAULT_K)) / DEFAULT_K


def _goes_on(seconds: float, figures_timed: Sequence[Timings]) -> bool:
    """Whether another round is worth its time: the budget lasts, or twice of it where a figure has too few quiet timings."""
    return seconds < BUDGET_S or (
        seconds < 2 * BUDGET_S and any(len(_quiet(timings)) < FEWEST for timings in figures_timed if timings)
    )


def _rest_ms(pair: Pair, context: Sequence[int], cores: Cores) -> Timings:
    """Return what a few steps of a run spend outside the forwards; the first of them, which reads the prompt, is left out."""
    run: Run = start(pair, [token % pair.target.vocab for token in context], k=DEFAULT_K, max_new_tokens=64)
    timings = Timings()
    next(run, None)
    for _ in range(STEPS):
        cores.begin()
        step = next(run, None)
        if step is not None:
            timings.append((step["ms"]["rest"], cores.lap()))
    return timings


def _quiet(timings: Timings) -> list[float]:
    return [ms for ms, lap in timings if lap.is_quiet]


def _costs(passes: Sequence[Timings], drafts: Timings, rests: Timings, rounds: int) -> Costs:
    """Return medians and bounds of the quiet timings, of all of them where a figure has too few quiet ones."""
    every = [*passes, drafts, rests]
    laps = [lap for timings in every for _, lap in timings]
    waited = share_waited(laps)
    few = any(len(_quiet(timings)) < FEWEST for timings in every if timings)
    *spreads, draft, rest = (_spread(timings) for timings in every)
    timing: CostsTiming = {
        "rounds": rounds,
        "target_low": [figures(each.low) for each in spreads],
        "target_high": [figures(each.high) for each in spreads],
        "draft_low": figures(draft.low),
        "draft_high": figures(draft.high),
        "rest_low": figures(rest.low),
        "rest_high": figures(rest.high),
        "waited": figures(waited),
        "disturbed": _disturbed(spreads, draft, rest, few, waited),
    }
    return {
        "target_ms": [figures(each.median) for each in spreads],
        "draft_ms": figures(draft.median),
        "rest_ms": figures(rest.median),
        "timing": timing,
    }


def _spread(timings: Timings) -> Spread:
    quiet = _quiet(timings)
    values = quiet if len(quiet) >= FEWEST else [ms for ms, _ in timings]
    return spread_of(values) if values else Spread(0.0, 0.0, 0.0)


def _disturbed(passes: Sequence[Spread], draft: Spread, rest: Spread, few: bool, waited: float) -> str | None:
    """Return why nothing may be concluded from the costs: too few quiet timings, or a step whose time is hardly known."""
    if few:
        return f"other work kept the computing from the cores for {waited:.0%} of the time"
    step = total([(1, passes[DEFAULT_K]), (DEFAULT_K, draft), (1, rest)])
    for what, figure in (("a pass over one row", passes[0]), (f"a step of K = {DEFAULT_K}", step)):
        if figure.is_wide:
            return f"from round to round {what} took {figure.low:.3g} to {figure.high:.3g} ms"
    return None
