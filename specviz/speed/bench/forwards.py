"""What one forward costs, and what speculation could gain at that price if nothing else took time."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from specviz.bounds import MAX_K
from specviz.models.pairs import Pair
from specviz.speed.costs import Reader
from specviz.theory import expected_tokens

ROUNDS = 5


@dataclass(frozen=True)
class Forwards:
    """Milliseconds of a target pass by its number of rows, and of one draft forward (0 where no model drafts)."""

    target: dict[int, float]
    draft: float

    @property
    def c(self) -> float:
        """A draft forward in units of a one-row target pass."""
        return self.draft / self.target[1]

    def v(self, k: int) -> float:
        """A pass over k + 1 rows in the same units."""
        return self.target[k + 1] / self.target[1]


def forwards(pair: Pair, prompt: Sequence[int], length: int, rows: Sequence[int]) -> Forwards:
    """Measure each kind of pass at a context of `length` tokens: medians of five rounds, each round one pass of each kind."""
    context = [prompt[index % len(prompt)] for index in range(max(length, *rows))]
    target, draft = Reader(pair.target, context), None
    if pair.draft is not None:
        draft = Reader(pair.draft, context)
    times: dict[int, list[float]] = {}
    for _ in range(ROUNDS + 1):  # the first round warms up
        for count in sorted({1, *rows}):
            times.setdefault(count, []).append(target.pass_ms(count))
        if draft is not None:
            times.setdefault(0, []).append(draft.draft_ms())
    medians = {count: statistics.median(each[1:]) for count, each in times.items()}
    return Forwards(medians, medians.pop(0, 0.0))


def possible(alpha: float, k: int, costs: Forwards) -> float:
    """Return the speedup if only forwards took time: (1 - alpha^(K+1)) / ((1 - alpha) (K c + v(K+1))).

    Leviathan et al., Theorem 3.8, whose v is 1: there a pass over K + 1 rows costs what one over a row does.
    """
    return expected_tokens(alpha, k) / (k * costs.c + costs.v(k))


def candidates(alpha: float, costs: Forwards) -> list[int]:
    """Return the K that the closed form says is fastest, and its neighbours."""
    best = max(range(MAX_K + 1), key=lambda k: possible(alpha, k, costs))
    return [k for k in (best - 1, best, best + 1) if 0 <= k <= MAX_K]
