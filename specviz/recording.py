"""From the tensors of a step to the plain numbers of its record (the trace's format, design of `trace.py`).

The numbers that decide are kept in full; a chart's numbers have five significant digits and only the likeliest tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from specviz.sampling import cumulative

TOP_M = 12
TOP_M_DISCARDED = 4


def figures(value: float) -> float:
    """Round to five significant digits, which is how a trace keeps the numbers that decide nothing."""
    return float(f"{value:.5g}")


class Side(NamedTuple):
    """One model's view of a position: its law [V] and, where a model made it, its logits [V]."""

    law: Tensor
    logits: Tensor | None


def entropy(law: Tensor) -> float:
    """Return the entropy of a law [V] in nats, to five digits; single precision is enough for those."""
    return abs(figures(float(torch.special.entr(law.float()).sum())))


def overlap(p: Tensor, q: Tensor) -> float:
    """Return the overlap sum(min(p, q)) of two laws [V], which is the chance that a draft is kept (Leviathan, 3.1)."""
    return float(torch.minimum(p, q).sum())


def row(
    p: Side,
    q: Side | None,
    drawn: Sequence[int],
    q_ends: Tensor | None,
    final_law: Tensor,
    shared: float | None,
) -> dict[str, Any]:
    """Return what a chart of one position needs, as columns over its likeliest tokens and the `drawn` ones.

    `q_ends` and the cumulative `final_law` say where each token's interval begins in the draft's law and in the law
    that a final draw at this position would use; `shared` is the position's overlap.
    """
    ids = _shown(p, q, drawn, TOP_M)
    index = torch.tensor(ids, device=p.law.device)
    columns = {"p": p.law[index], "p_raw": _raw(p, index), "low": _begins(cumulative(final_law), index)}
    if q is not None and q_ends is not None:
        columns |= {"q": q.law[index], "q_raw": _raw(q, index), "q_low": _begins(q_ends, index)}
    numbers = dict(zip(columns, torch.stack(list(columns.values())).tolist(), strict=True))
    return {
        "ids": ids,
        **{name: _rounded(numbers.get(name)) for name in ("p", "q", "p_raw", "q_raw", "q_low", "low")},
        **_rests(numbers["p"], numbers.get("q"), shared),
    }


def short_row(p: Side, q: Side, drawn: int, shared: float) -> dict[str, Any]:
    """Return the row of a draft that was never examined: only ids, p, q and the rests."""
    ids = _shown(p, q, [drawn], TOP_M_DISCARDED)
    index = torch.tensor(ids, device=p.law.device)
    p_at, q_at = torch.stack([p.law[index], q.law[index]]).tolist()
    return {"ids": ids, "p": _rounded(p_at), "q": _rounded(q_at), **_rests(p_at, q_at, shared)}


def _shown(p: Side, q: Side | None, drawn: Sequence[int], count: int) -> list[int]:
    """Return the likeliest ids of either side, then the drawn ones, each once.

    They are picked by the logits, which the warp keeps in order: under a one-hot law the runners-up are worth seeing.
    """
    likeliest: list[int] = []
    for side in (p, q):
        if side is not None and side.logits is not None:
            finite = side.logits.topk(min(count, len(side.logits)))
            likeliest += finite.indices[torch.isfinite(finite.values)].tolist()
    return list(dict.fromkeys([*likeliest, *drawn]))


def _raw(side: Side, index: Tensor) -> Tensor:
    """Return the probabilities at `index` at temperature 1, untruncated; a law without logits is its own."""
    if side.logits is None:
        return side.law[index]
    logits = side.logits.float()
    return (logits[index].double() - torch.logsumexp(logits, -1).double()).exp().to(index.device)


def _begins(ends: Tensor, index: Tensor) -> Tensor:
    return torch.where(index > 0, ends[(index - 1).clamp(min=0)], 0.0)


def _rounded(values: list[float] | None) -> list[float] | None:
    return None if values is None else [figures(value) for value in values]


def _rests(p: list[float], q: list[float] | None, shared: float | None) -> dict[str, float | None]:
    """Return the mass of the tokens that are not shown: of p, of q, and of their overlap."""
    if q is None or shared is None:
        return {"p_rest": figures(max(0.0, 1 - sum(p))), "q_rest": None, "overlap_rest": None}
    shown = sum(min(a, b) for a, b in zip(p, q, strict=True))
    return {
        "p_rest": figures(max(0.0, 1 - sum(p))),
        "q_rest": figures(max(0.0, 1 - sum(q))),
        "overlap_rest": figures(max(0.0, shared - shown)),
    }
