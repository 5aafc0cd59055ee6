"""The same prompt with every K at every temperature: what was measured, and which K to use.

Each temperature's plain loop is run first, so that every cell has something to be compared with. Cells come in an order
that says much early: a sweep that is cut short has measured the K that are used most, at all temperatures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specviz.decoding.plain import autoregress
from specviz.decoding.run import start
from specviz.decoding.sampling import Sampling
from specviz.models.pairs import Pair
from specviz.record.metrics import summary
from specviz.record.shape import Baseline

KS = (1, 2, 3, 4, 6, 8, 12, 16)
FIRST_KS = (4, 2, 8, 1, 3, 6, 16, 12)
TEMPERATURES = (0.0, 0.4, 0.8, 1.2)
WARM_UP_TOKENS = 4


@dataclass(frozen=True)
class Cell:
    """One K at one temperature, measured: tokens per target pass, and the speedup over that temperature's plain loop.

    speedup is None where either run ended before 8 tokens.
    """

    k: int
    temperature: float
    tokens: int
    tokens_per_pass: float
    speedup: float | None


@dataclass(frozen=True)
class Task:
    """What is run for every cell; `sampling`'s temperature is replaced by the cell's."""

    prompt: str
    sampling: Sampling
    seed: int
    chat: bool | None
    tokens: int


def cells(
    ks: Sequence[int] = FIRST_KS, temperatures: Sequence[float] = TEMPERATURES
) -> list[tuple[int, float]]:
    """Return (K, temperature) of every cell, in the order in which they are measured."""
    return [(k, temperature) for k in ks for temperature in temperatures]


def sweep(
    pair: Pair, task: Task, may_go_on: Callable[[], bool], order: Sequence[tuple[int, float]] | None = None
) -> Iterator[Cell]:
    """Measure the cells one after the other and yield each; ends early once `may_go_on` says no.

    It is asked before every step: a cell that was begun and not ended is dropped, what was yielded stays.
    """
    baselines: dict[float, Baseline] = {}
    for _ in start(pair, task.prompt, k=1, max_new_tokens=WARM_UP_TOKENS, chat=task.chat):
        pass
    for k, temperature in order or cells():
        at = replace(task, sampling=replace(task.sampling, temperature=temperature))
        if temperature not in baselines:
            if not may_go_on():
                return
            baselines[temperature] = autoregress(pair.target, at.prompt, **_options(at))
        cell = _measure(pair, at, k, baselines[temperature], may_go_on)
        if cell is None:
            return
        yield cell


def _options(task: Task) -> dict[str, Any]:
    return {"sampling": task.sampling, "seed": task.seed, "chat": task.chat, "max_new_tokens": task.tokens}


def _measure(
    pair: Pair, task: Task, k: int, baseline: Baseline, may_go_on: Callable[[], bool]
) -> Cell | None:
    run = start(pair, task.prompt, k=k, baseline=baseline, **_options(task))
    while may_go_on():
        if next(run, None) is None:
            figures = summary(run.trace.data)
            return Cell(
                k,
                task.sampling.temperature,
                figures["tokens"],
                figures["tokens_per_pass"],
                figures["speedup_measured"],
            )
    return None


def best_cells(measured: Sequence[Cell]) -> list[Cell]:
    """Return, for each temperature, the cell with the largest speedup; the smaller K wins a tie."""
    timed = sorted(
        (cell for cell in measured if cell.speedup is not None), key=lambda cell: (cell.temperature, cell.k)
    )
    best: dict[float, Cell] = {}
    for cell in timed:
        if cell.temperature not in best or cell.speedup > best[cell.temperature].speedup:  # type: ignore[operator]
            best[cell.temperature] = cell
    return list(best.values())
