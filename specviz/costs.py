"""What a pair's forwards cost on this machine: the numbers behind the modelled speedup."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from specviz.cursors import Cursor
from specviz.decoding import MAX_K, start
from specviz.pairs import Pair
from specviz.recording import figures
from specviz.trace import Costs

CONTEXT = 64
REPEATS = 3


def measure_costs(pair: Pair) -> Costs:
    """Measure, at a context of 64 tokens: a target pass over R = 1 ... 17 rows, one draft forward, a step's rest.

    Milliseconds, medians of three. The rest is what our own loop adds to a step of K = 4 with traces on. Takes a few
    seconds; everything is measured in this process, nothing is looked up.
    """
    context = [token % pair.target.vocab for token in range(100, 100 + CONTEXT)]
    target = pair.target.cursor()
    target.extend(context, 0)
    target_ms = [_median_ms(target, context, rows) for rows in range(1, MAX_K + 2)]
    return {"target_ms": target_ms, "draft_ms": _draft_ms(pair, context), "rest_ms": _rest_ms(pair, context)}


def _median_ms(cursor: Cursor, context: Sequence[int], rows: int) -> float:
    times = []
    for _ in range(REPEATS + 1):
        cursor.take_ms()
        cursor.extend(list(context[:rows]), rows)
        times.append(cursor.take_ms())
        cursor.rollback(len(context))
    return figures(statistics.median(times[1:]))


def _draft_ms(pair: Pair, context: Sequence[int]) -> float:
    if pair.draft_kind not in ("model", "self"):
        return 0.0
    cursor = (pair.draft or pair.target).cursor()
    known = [token % cursor.vocab for token in context]
    cursor.extend(known, 0)
    return _median_ms(cursor, known, 1)


def _rest_ms(pair: Pair, context: Sequence[int]) -> float:
    run = start(pair, list(context), k=4, max_new_tokens=32)
    return figures(statistics.median([step["ms"]["rest"] for step in run]))
