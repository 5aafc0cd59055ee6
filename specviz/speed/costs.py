"""What a pair's forwards cost on this machine: the numbers behind the modelled speedup."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import chain, islice

from specviz.bounds import MOST_ROWS
from specviz.decoding.options import DEFAULT_K
from specviz.decoding.recording import figures
from specviz.decoding.run import Run, start
from specviz.models.loaded import LoadedModel
from specviz.models.pairs import Pair
from specviz.record.shape import Costs

CONTEXT = 64
ROUNDS = 5
STEPS = 3  # of a run, in every round


def measure_costs(pair: Pair) -> Costs:
    """Measure, at a context of 64 tokens: a target pass over R = 1 ... K's limit + 1 rows, one draft forward, a step's rest.

    Milliseconds, medians of five rounds through all of them, so that whatever else the machine does for a moment falls
    on one round and not on one figure. The rest is what our own loop adds to a step of K = 4 with traces on. Takes a few
    seconds; everything is measured in this process, nothing is looked up.
    """
    context = list(range(100, 100 + CONTEXT))
    target = Reader(pair.target, context)
    draft = Reader(pair.draft or pair.target, context) if pair.draft_kind in ("model", "self") else None
    run = start(pair, [token % pair.target.vocab for token in context], k=DEFAULT_K, max_new_tokens=64)
    forwards, rests = zip(*[_round_ms(target, draft, run) for _ in range(ROUNDS + 1)], strict=True)
    warm = forwards[1:]
    *target_ms, draft_ms = (figures(statistics.median(times)) for times in zip(*warm, strict=True))
    rest_ms = figures(statistics.median(chain.from_iterable(rests)))
    return {"target_ms": target_ms, "draft_ms": draft_ms, "rest_ms": rest_ms}


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


def _round_ms(target: Reader, draft: Reader | None, run: Run) -> tuple[list[float], list[float]]:
    """Return the milliseconds of a target pass over 1 ... K's limit + 1 rows and of a draft forward (0 without one), and some steps' rests."""
    forwards = [*map(target.pass_ms, range(1, MOST_ROWS + 1)), draft.draft_ms() if draft else 0.0]
    return forwards, [step["ms"]["rest"] for step in islice(run, STEPS)]
