"""The same prompt with several K at several temperatures: what was measured, how well, and which K to use.

A block is one temperature with a few K. Its loops take turns with the plain loop, see `contest`, so that a ratio never sets
one moment against another. The K that are used most come first, at all temperatures: a sweep that is cut short has few cells,
but good ones.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specviz.decoding.plain import start_plain
from specviz.decoding.run import start
from specviz.decoding.sampling import Sampling
from specviz.models.pairs import Pair
from specviz.record.doubts import above_tokens_per_pass
from specviz.record.metrics import SHORTEST_MEASURED
from specviz.speed.contest import FEWEST, Contest
from specviz.timing import Spread, alike

FIRST_KS, LATER_KS = (1, 2, 4, 8), (3, 6, 12, 16)
KS = tuple(sorted(FIRST_KS + LATER_KS))
TEMPERATURES = (0.0, 0.4, 0.8, 1.2)
WARM_UP_TOKENS = 4

Block = tuple[float, Sequence[int]]


@dataclass(frozen=True)
class Cell:
    """One K at one temperature: tokens per target pass, and the speedup over the plain loop with its bounds.

    speedup is None where either run ended before 8 tokens. `doubt` says why nothing may be concluded from it.
    """

    k: int
    temperature: float
    tokens: int
    tokens_per_pass: float
    speedup: Spread | None
    doubt: str | None = None


@dataclass(frozen=True)
class Task:
    """What is run for every cell; `sampling`'s temperature is replaced by the cell's."""

    prompt: str
    sampling: Sampling
    seed: int
    chat: bool | None
    tokens: int


def blocks(temperatures: Sequence[float] = TEMPERATURES) -> list[Block]:
    """Return (temperature, its K) of every block, in the order in which they are measured."""
    return [(temperature, ks) for ks in (FIRST_KS, LATER_KS) for temperature in temperatures]


def sweep(
    pair: Pair, task: Task, may_go_on: Callable[[], bool], order: Sequence[Block] | None = None
) -> Iterator[list[Cell]]:
    """Measure block after block and yield after every round the block's cells, from the first that has enough rounds on.

    Yields no cells after every step, for somebody who waits. Ends early once `may_go_on` says no. It is asked before every
    step: a round that was begun and not ended is dropped, what was yielded stays.
    """
    for _ in start(pair, task.prompt, k=1, max_new_tokens=WARM_UP_TOKENS, chat=task.chat):
        pass
    for temperature, ks in order or blocks():
        at = replace(task, sampling=replace(task.sampling, temperature=temperature))
        contest = Contest(ks)
        while not contest.is_over():
            passes = yield from _round(pair, at, contest, may_go_on)
            if passes is None:
                return
            if contest.rounds >= FEWEST:
                yield [_cell(contest, k, temperature, passes[k]) for k in ks]


def _round(
    pair: Pair, task: Task, contest: Contest, may_go_on: Callable[[], bool]
) -> Generator[list[Cell], None, dict[int, int] | None]:
    """Run every loop of a block once and return each one's target passes; None where it may not go on. Yields after every step."""
    options: dict[str, Any] = {
        "sampling": task.sampling, "seed": task.seed, "chat": task.chat, "max_new_tokens": task.tokens,
    }  # fmt: skip
    plain = start_plain(pair.target, task.prompt, **options)
    runs = {k: start(pair, task.prompt, k=k, **options) for k in contest.speculative}
    for loop in (
        contest.plain_steps(plain, plain.ms),
        *(contest.steps(run, k) for k, run in runs.items()),
    ):
        while may_go_on():
            if next(loop, None) is None:
                break
            yield []
        else:
            return None
    contest.keep()
    return {k: len(run.trace.data["steps"]) for k, run in runs.items()}


def _cell(contest: Contest, k: int, temperature: float, passes: int) -> Cell:
    tokens = contest.speculative[k].tokens
    if min(tokens, contest.plain.tokens) < SHORTEST_MEASURED:
        return Cell(k, temperature, tokens, tokens / passes, None)
    timing = contest.timing(k)
    speedup = contest.ratio(k) if timing["high"] else Spread(0.0, 0.0, 0.0)
    doubt = timing["disturbed"] or above_tokens_per_pass(speedup, tokens / passes)
    return Cell(k, temperature, tokens, tokens / passes, speedup, doubt)


def best_cells(measured: Sequence[Cell]) -> dict[float, list[Cell]]:
    """Return, for each temperature, the fastest cell and after it those that are not slower by more than the spreads, by K.

    Cells in doubt don't count; a temperature with nothing else is left out.
    """
    found: dict[float, list[Cell]] = {}
    for temperature in sorted({cell.temperature for cell in measured}):
        sure = [
            (cell, cell.speedup)
            for cell in measured
            if cell.temperature == temperature and cell.speedup is not None and cell.doubt is None
        ]
        if sure:
            best, most = max(sure, key=lambda each: (each[1].median, -each[0].k))
            others = [cell for cell, speedup in sure if cell is not best and alike(speedup, most)]
            found[temperature] = [best, *sorted(others, key=lambda cell: cell.k)]
    return found
