"""What a pair's forwards cost on this machine: the numbers behind the modelled speedup."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from specviz.decoding import DEFAULT_K, MAX_K, start
from specviz.models import LoadedModel
from specviz.pairs import Pair
from specviz.recording import figures
from specviz.trace import Costs

CONTEXT = 64
ROUNDS = 5


def measure_costs(pair: Pair) -> Costs:
    """Measure, at a context of 64 tokens: a target pass over R = 1 ... 17 rows, one draft forward, a step's rest.

    Milliseconds, medians of five rounds through all of them, so that whatever else the machine does for a moment falls
    on one round and not on one R. The rest is what our own loop adds to a step of K = 4 with traces on. Takes a few
    seconds; everything is measured in this process, nothing is looked up.
    """
    context = list(range(100, 100 + CONTEXT))
    target = Reader(pair.target, context)
    draft = Reader(pair.draft or pair.target, context) if pair.draft_kind in ("model", "self") else None
    rounds = [_round_ms(target, draft) for _ in range(ROUNDS + 1)][1:]  # the first one warms up
    *target_ms, draft_ms = (figures(statistics.median(times)) for times in zip(*rounds, strict=True))
    return {"target_ms": target_ms, "draft_ms": draft_ms, "rest_ms": _rest_ms(pair, context)}


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
        return statistics.fmean(self.pass_ms(1) for _ in range(DEFAULT_K))


def _round_ms(target: Reader, draft: Reader | None) -> list[float]:
    """Return the milliseconds of a target pass over 1 ... 17 rows, and of a draft forward, 0 without one."""
    return [*map(target.pass_ms, range(1, MAX_K + 2)), draft.draft_ms() if draft else 0.0]


def _rest_ms(pair: Pair, context: Sequence[int]) -> float:
    prompt = [token % pair.target.vocab for token in context]
    run = start(pair, prompt, k=DEFAULT_K, max_new_tokens=32)
    return figures(statistics.median([step["ms"]["rest"] for step in run]))
