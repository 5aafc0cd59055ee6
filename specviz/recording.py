"""From the tensors of a step to the plain numbers of its record (the trace's format, design of `trace.py`).

The numbers that decide are kept in full; a chart's numbers have five significant digits and only the likeliest tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from specviz.drafters import Places
from specviz.rules import ACCEPTED, DISCARDED, REJECTED, RESIDUAL, Rules
from specviz.sampling import cumulative
from specviz.step import Final, Verdict

TOP_M = 12
TOP_M_DISCARDED = 4


def figures(value: float) -> float:
    """Round to five significant digits, which is how a trace keeps the numbers that decide nothing."""
    return float(f"{value:.5g}")


class Side(NamedTuple):
    """One model's view of a position: its law [V], the ids of its best logits, and, where a model made it, those logits.

    `logits` [H] are over the model's own tokens, `places` says which these are, None where they are the target's ids.
    """

    law: Tensor
    likeliest: list[int]
    logits: Tensor | None = None
    places: Places | None = None


def sides(laws: Sequence[Tensor], logits: Tensor | None, places: Places | None = None) -> list[Side]:
    """Return one model's view of each position, from its laws [V] and its logits [n, H].

    The likeliest tokens are picked by the logits, which the warp keeps in order: under a one-hot law the runners-up
    are worth seeing too. A law without logits (lookup, noise) has none but the tokens drawn there.
    """
    if logits is None or not len(laws):
        return [Side(law, []) for law in laws]
    best = logits.topk(min(TOP_M, logits.shape[-1]))
    drawable = torch.isfinite(best.values).sum(-1).tolist()
    ids = best.indices if places is None else places.ids[best.indices.to(places.ids.device)]
    return [
        Side(law, likeliest[:count], row, places)
        for law, row, likeliest, count in zip(laws, logits, ids.tolist(), drawable, strict=True)
    ]


def entropy(law: Tensor) -> float:
    """Return the entropy of a law [V] in nats, to five digits; single precision is enough for those."""
    single = law.float()
    return figures(
        max(0.0, -float(torch.dot(single, single.clamp(min=torch.finfo(torch.float32).tiny).log_())))
    )


def overlap(p: Tensor, q: Tensor) -> float:
    """Return the overlap sum(min(p, q)) of two laws [V], which is the chance that a draft is kept (Leviathan, 3.1)."""
    return float(torch.minimum(p, q).sum())


def row(
    p: Side,
    q: Side | None,
    drawn: Sequence[int],
    q_ends: Tensor | None,
    final_ends: Tensor,
    shared: float | None,
) -> dict[str, Any]:
    """Return what a chart of one position needs, as columns over its likeliest tokens and the `drawn` ones.

    `q_ends` and `final_ends` (see `sampling.cumulative`) say where each token's interval begins in the draft's law and
    in the law that a final draw at this position would use; `shared` is the position's overlap.
    """
    ids = _shown(p, q, drawn, TOP_M)
    index = torch.tensor(ids, device=p.law.device)
    columns = {"p": p.law[index], "p_raw": _raw(p, index), "low": _begins(final_ends, index, None)}
    if q is not None and q_ends is not None:
        columns |= {"q": q.law[index], "q_raw": _raw(q, index), "q_low": _begins(q_ends, index, q.places)}
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
    """Return the likeliest ids of either side, then the drawn ones, each once."""
    return list(dict.fromkeys([*p.likeliest[:count], *(q.likeliest[:count] if q else ()), *drawn]))


def _raw(side: Side, index: Tensor) -> Tensor:
    """Return the probabilities at `index` at temperature 1, untruncated; a law without logits is its own."""
    if side.logits is None:
        return side.law[index]
    logits = side.logits.float()
    normaliser = torch.logsumexp(logits, -1).double()
    rows = (index if side.places is None else side.places.rows[index]).to(logits.device)
    raw = (logits[rows.clamp(min=0)].double() - normaliser).exp()
    return torch.where(rows >= 0, raw, 0.0).to(index.device)


def _begins(ends: Tensor, index: Tensor, places: Places | None) -> Tensor:
    """Return where the intervals of the target's ids `index` begin; an id that the draft lacks has an empty one."""
    before = index if places is None else torch.searchsorted(places.ids, index)
    return torch.where(before > 0, ends[(before - 1).clamp(min=0)], 0.0)


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


# --- a step ---


def record(verdict: Verdict, step: int, k_reason: str | None, rules: Rules) -> dict[str, Any]:
    """Return a step's record without times and totals, as the trace keeps it."""
    p_sides = sides(list(verdict.p), verdict.p_logits)
    proposal = verdict.proposal
    q_logits = torch.stack(proposal.logits) if proposal.logits else None
    q_sides = sides(proposal.laws, q_logits, proposal.places)
    pairs = list(zip(p_sides, q_sides, strict=False))
    drafts = [_draft_record(verdict, index, p, q, rules) for index, (p, q) in enumerate(pairs)]
    finals = [
        _residual_record(final, *pairs[verdict.accepted], drafts[verdict.accepted])
        if final.kind == RESIDUAL
        else _bonus_record(final, p_sides[verdict.kept])
        for final in verdict.finals
    ]
    return {
        "step": step,
        "k": len(drafts),
        "k_reason": k_reason,
        "drafts": drafts,
        "final": finals[0] if finals else None,
        "extra": finals[1] if len(finals) > 1 else None,
    }


def _draft_record(verdict: Verdict, index: int, p: Side, q: Side, rules: Rules) -> dict[str, Any]:
    drawn = verdict.proposal.draws[index]
    shared = overlap(p.law, q.law)
    facts: dict[str, Any] = {
        "id": drawn.id,
        "u_draft": verdict.proposal.uniforms[index],
        "low": drawn.low,
        "high": drawn.high,
        "q": float(q.law[drawn.id]),
        "p": float(p.law[drawn.id]),
        "coin": None,
        "state": DISCARDED,
        "overlap": None,
        "mass": None,
        "entropy_p": None,
        "entropy_q": entropy(q.law),
        "call": None,
    }
    if index >= len(verdict.coins):
        return facts | {"row": short_row(p, q, drawn.id, shared)}
    here = verdict.finals[0] if index == verdict.accepted and verdict.finals else None
    if here:
        ends, mass = here.ends, here.mass
    else:
        law, mass = rules.residual(p.law, q.law, drawn.id)
        ends = cumulative(law)
    ids = [drawn.id] + ([here.id] if here else [])
    return facts | {
        "coin": verdict.coins[index],
        "state": ACCEPTED if index < verdict.accepted else REJECTED,
        "overlap": shared,
        "mass": mass,
        "entropy_p": entropy(p.law),
        "row": row(p, q, ids, verdict.proposal.ends[index], ends, shared),
    }


def _residual_record(final: Final, p: Side, q: Side, rejected: Mapping[str, Any]) -> dict[str, Any]:
    return _drawn(final) | {
        "p": float(p.law[final.id]),
        "q": float(q.law[final.id]),
        "mass": final.mass,
        **{name: rejected[name] for name in ("overlap", "entropy_p", "entropy_q")},
        "fallback": final.mass == 0,
        "row": None,
    }


def _bonus_record(final: Final, p: Side) -> dict[str, Any]:
    return _drawn(final) | {
        "p": float(p.law[final.id]),
        "q": None,
        "mass": None,
        "overlap": None,
        "entropy_p": entropy(p.law),
        "entropy_q": None,
        "fallback": False,
        "row": row(p, None, [final.id], None, final.ends, None),
    }


def _drawn(final: Final) -> dict[str, Any]:
    return {name: getattr(final, name) for name in ("kind", "id", "u", "low", "high")}
