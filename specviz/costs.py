"""What a pair's forwards cost on this machine: the numbers behind the modelled speedup."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from specviz.cursors import Cursor
from specviz.decoding import MAX_K, start
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
    context = [token % pair.target.vocab for token in range(100, 100 + CONTEXT)]
    target = _reader(pair.target, context)
    draft = _reader(pair.draft or pair.target, context) if pair.draft_kind in ("model", "self") else None
    rounds = [_round_ms(target, draft, context) for _ in range(ROUNDS + 1)][1:]  # the first one warms up
    *target_ms, draft_ms = (figures(statistics.median(times)) for times in zip(*rounds, strict=True))
    return {"target_ms": target_ms, "draft_ms": draft_ms, "rest_ms": _rest_ms(pair, context)}


def _reader(model: LoadedModel, context: Sequence[int]) -> Cursor:
    """Return a cursor that has read the context."""
    cursor = model.cursor()
    cursor.extend([token % cursor.vocab for token in context], 0)
    return cursor


def _round_ms(target: Cursor, draft: Cursor | None, context: Sequence[int]) -> list[float]:
    """Return the milliseconds of a target pass over 1 ... 17 rows, and of a draft forward, 0 without one."""
    passes = [_pass_ms(target, context, rows) for rows in range(1, MAX_K + 2)]
    return [*passes, _pass_ms(draft, context, 1) if draft else 0.0]


def _pass_ms(cursor: Cursor, context: Sequence[int], rows: int) -> float:
    cursor.take_ms()
    cursor.extend([token % cursor.vocab for token in context[:rows]], rows)
    cursor.rollback(len(context))
    return cursor.take_ms()


def _rest_ms(pair: Pair, context: Sequence[int]) -> float:
    run = start(pair, list(context), k=4, max_new_tokens=32)
    return figures(statistics.median([step["ms"]["rest"] for step in run]))
