"""From the tensors of a step to the plain numbers of its record (the trace's shape, see `record.shape`).

The numbers that decide are kept in full; a chart's numbers have five significant digits and only the likeliest tokens.
All positions of a step are looked up together: beside a small model's forwards, every operation counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch
from torch import Tensor

from specviz.decoding.drafters import Places
from specviz.decoding.rules import ACCEPTED, DISCARDED, REJECTED, RESIDUAL, Rules
from specviz.decoding.sampling import cumulative
from specviz.decoding.step import Final, Verdict
from specviz.record.shape import (
    BonusRow,
    DraftCell,
    DraftRow,
    DraftState,
    Drawn,
    ExaminedColumns,
    FinalCell,
    KReason,
    Outcome,
)

TOP_M = 12
TOP_M_DISCARDED = 4


def figures(value: float) -> float:
    """Round to five significant digits, which is how a trace keeps the numbers that decide nothing."""
    return float(f"{value:.5g}")


@dataclass(frozen=True)
class Side:
    """One model's view of a step's n positions: laws [n, S] over its own S tokens, and the logits [n, S] where it made them.

    `places` says which tokens the S are, None where they are the target's ids.
    """

    laws: Tensor
    logits: Tensor | None = None
    places: Places | None = None

    def likeliest(self) -> list[list[int]]:
        """Return the target's ids of each position's best logits, best first.

        The warp keeps logits in order: under a one-hot law the runners-up are worth seeing too. A law without logits
        (lookup, noise) has none but the tokens drawn there.
        """
        if self.logits is None or not len(self.logits):
            return [[] for _ in self.laws]
        best = self.logits.topk(min(TOP_M, self.logits.shape[-1]))
        drawable = torch.isfinite(best.values).sum(-1).tolist()
        ids = (
            best.indices if self.places is None else self.places.ids[best.indices.to(self.places.ids.device)]
        )
        return [row[:count] for row, count in zip(ids.tolist(), drawable, strict=True)]

    def at(self, positions: Tensor, ids: Tensor) -> Tensor:
        """Return the probabilities [m] of the target's `ids` [m] at `positions` [m]."""
        return self._look_up(self.laws, positions, ids, missing=0.0)

    def raw_at(self, positions: Tensor, ids: Tensor) -> Tensor:
        """Return the same at temperature 1, untruncated; a law without logits is its own."""
        if self.logits is None or not len(positions):
            return self.at(positions, ids)
        logits = self.logits[: int(positions[-1]) + 1].to(self.laws.device).float()
        scores = self._look_up(logits, positions, ids, missing=-torch.inf)
        return (scores - torch.logsumexp(logits, -1)[positions]).exp().double()

    def _look_up(self, table: Tensor, positions: Tensor, ids: Tensor, missing: float) -> Tensor:
        if self.places is None:
            return table[positions, ids]
        rows = self.places.rows[ids]  # -1, the last one, for an id that the draft lacks
        return torch.where(rows >= 0, table[positions, rows], missing)


def entropies(laws: Tensor) -> list[float]:
    """Return the entropies of laws [n, S] in nats, to five digits; single precision is enough for those."""
    single = laws.float()
    logs = single.clamp(min=torch.finfo(torch.float32).tiny).log_()
    return [figures(max(0.0, each)) for each in (-torch.linalg.vecdot(single, logs)).tolist()]


def overlaps(p: Side, q: Side) -> list[float]:
    """Return each position's overlap sum(min(p, q)), which is the chance that a draft is kept (Leviathan, 3.1)."""
    p_there = p.laws if q.places is None else p.laws[:, q.places.ids]  # elsewhere q has no mass
    overlap: list[float] = torch.minimum(p_there, q.laws).sum(-1).tolist()
    return overlap


# --- charts ---


def draft_rows(
    p: Side,
    q: Side,
    shown: Sequence[Sequence[int]],
    shared: Sequence[float],
    final_ends: Sequence[Tensor],
    q_ends: Sequence[Tensor],
) -> Iterator[DraftRow]:
    """Yield what a chart of each position needs, as columns over the ids `shown` there, and the rests beyond them.

    `final_ends` and `q_ends` [n, ...] (see `sampling.cumulative`) say where each token's interval begins in the law that a
    final draw there would use, and in the draft's; positions beyond `final_ends` were never examined, and have only ids,
    p, q and the rests. `shared` are the overlaps.
    """
    columns = _columns(p, q, shown, final_ends, q_ends)
    for index, (ids, exact, overlap) in enumerate(zip(shown, columns, shared, strict=True)):
        examined: ExaminedColumns = {}
        if index < len(final_ends):
            examined = {
                "p_raw": _rounded(exact["p_raw"]),
                "q_raw": _rounded(exact["q_raw"]),
                "q_low": _rounded(exact["q_low"]),
                "low": _rounded(exact["low"]),
            }
        both = sum(min(a, b) for a, b in zip(exact["p"], exact["q"], strict=True))
        yield {
            "ids": list(ids),
            "p": _rounded(exact["p"]),
            "q": _rounded(exact["q"]),
            **examined,
            "p_rest": _rest(sum(exact["p"])),
            "q_rest": _rest(sum(exact["q"])),
            "overlap_rest": _rest(both, overlap),
        }


def bonus_row(p: Side, shown: Sequence[int], ends: Tensor) -> BonusRow:
    """Return the same for one position where nothing was drafted."""
    exact = next(_columns(p, None, [shown], [ends], []))
    return {
        "ids": list(shown),
        "p": _rounded(exact["p"]),
        "q": None,
        "p_raw": _rounded(exact["p_raw"]),
        "q_raw": None,
        "q_low": None,
        "low": _rounded(exact["low"]),
        "p_rest": _rest(sum(exact["p"])),
        "q_rest": None,
        "overlap_rest": None,
    }


def _columns(
    p: Side,
    q: Side | None,
    shown: Sequence[Sequence[int]],
    final_ends: Sequence[Tensor],
    q_ends: Sequence[Tensor],
) -> Iterator[dict[str, list[float]]]:
    """Yield each position's columns by name, unrounded: p and q, and where there are `final_ends` the others too."""
    bounds = [0, *accumulate(len(ids) for ids in shown)]
    parts = [slice(*bound) for bound in pairwise(bounds)]
    flat = torch.tensor(
        [[index, token] for index, ids in enumerate(shown) for token in ids], device=p.laws.device
    ).T
    examined = flat[:, : bounds[len(final_ends)]]
    columns = {"p": p.at(*flat), "p_raw": p.raw_at(*examined), "low": _lows(final_ends, flat[1], parts, None)}
    if q is not None:
        columns |= {
            "q": q.at(*flat),
            "q_raw": q.raw_at(*examined),
            "q_low": _lows(q_ends[: len(final_ends)], flat[1], parts, q.places),
        }
    exact: list[float] = torch.cat(list(columns.values())).tolist()
    begins = [0, *accumulate(len(column) for column in columns.values())]
    for index, part in enumerate(parts):
        yield {
            name: exact[begin + part.start : begin + part.stop]
            for name, begin in zip(columns, begins, strict=False)
            if index < len(final_ends) or name in ("p", "q")
        }


def _lows(ends: Sequence[Tensor], ids: Tensor, parts: Sequence[slice], places: Places | None) -> Tensor:
    """Return where the intervals of the target's `ids` begin, position by position; an id that the draft lacks has an empty one."""
    begins = []
    for its_ends, part in zip(ends, parts, strict=False):
        before = ids[part] if places is None else torch.searchsorted(places.ids, ids[part].contiguous())
        begins.append(torch.where(before > 0, its_ends[before - 1], 0.0))
    return torch.cat(begins) if begins else ids.new_empty(0, dtype=torch.float64)


def _rounded(values: list[float]) -> list[float]:
    return [figures(value) for value in values]


def _rest(shown: float, whole: float = 1.0) -> float:
    """Return the mass of the tokens that are not shown."""
    return figures(max(0.0, whole - shown))


# --- a step ---


def record(verdict: Verdict, step: int, k_reason: KReason | None, rules: Rules) -> Outcome:
    """Return a step's record as the trace keeps it, but for its times and totals."""
    drafts = _draft_records(verdict, rules) if verdict.proposal.draws else []
    finals = [
        _residual_record(final, verdict, drafts[verdict.accepted])
        if final.kind == RESIDUAL
        else _bonus_record(final, verdict)
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


def _draft_records(verdict: Verdict, rules: Rules) -> list[DraftCell]:
    proposal, examined = verdict.proposal, len(verdict.coins)
    count = len(proposal.draws)
    p = Side(verdict.p, verdict.logits[:count])
    q = Side(
        torch.stack(proposal.tested),
        torch.stack(proposal.logits) if proposal.logits else None,
        proposal.places,
    )
    shared = overlaps(p, q)
    owed = [_owed(verdict, index, rules) for index in range(examined)]
    rows = draft_rows(p, q, _shown(verdict, p, q), shared, [ends for ends, _ in owed], proposal.ends)
    entropies_p, entropies_q = entropies(p.laws[:examined]), entropies(q.laws)
    return [
        {
            "id": drawn.id,
            "u_draft": proposal.uniforms[index],
            "low": drawn.low,
            "high": drawn.high,
            "q": proposal.q[index],
            "p": verdict.p_drafted[index],
            "coin": verdict.coins[index] if index < examined else None,
            "state": _state(index, verdict),
            "overlap": shared[index] if index < examined else None,
            "mass": owed[index][1] if index < examined else None,
            "entropy_p": entropies_p[index] if index < examined else None,
            "entropy_q": entropies_q[index],
            "call": None,
            "row": row,
        }
        for index, (drawn, row) in enumerate(zip(proposal.draws, rows, strict=True))
    ]


def _state(index: int, verdict: Verdict) -> DraftState:
    if index >= len(verdict.coins):
        return DISCARDED
    return ACCEPTED if index < verdict.accepted else REJECTED


def _owed(verdict: Verdict, index: int, rules: Rules) -> tuple[Tensor, float | None]:
    """Return where the intervals of what p is still owed at an examined position end, and its mass."""
    if index == verdict.accepted and verdict.finals:
        return verdict.finals[0].ends, verdict.finals[0].mass
    proposal = verdict.proposal
    law, mass = rules.residual(verdict.p[index], proposal.law(index), proposal.draws[index].id)
    return cumulative(law), mass


def _shown(verdict: Verdict, p: Side, q: Side) -> list[list[int]]:
    """Return each position's likeliest ids of either side, then the drawn ones, each once."""
    shown = []
    for index, (best_p, best_q) in enumerate(zip(p.likeliest(), q.likeliest(), strict=True)):
        count = TOP_M if index < len(verdict.coins) else TOP_M_DISCARDED
        drawn = [verdict.proposal.draws[index].id]
        if index == verdict.accepted and index < len(verdict.coins) and verdict.finals:
            drawn.append(verdict.finals[0].id)
        shown.append(list(dict.fromkeys([*best_p[:count], *best_q[:count], *drawn])))
    return shown


def _residual_record(final: Final, verdict: Verdict, rejected: DraftCell) -> FinalCell:
    return {
        **_drawn(final),
        "p": float(verdict.p[verdict.accepted, final.id]),
        "q": float(verdict.proposal.law(verdict.accepted)[final.id]),
        "mass": final.mass,
        "overlap": rejected["overlap"],
        "entropy_p": rejected["entropy_p"],
        "entropy_q": rejected["entropy_q"],
        "fallback": final.mass == 0,
        "row": None,
    }


def _bonus_record(final: Final, verdict: Verdict) -> FinalCell:
    assert verdict.next_p is not None  # a bonus was due
    p = Side(verdict.next_p[None], verdict.logits[verdict.kept :][:1])
    shown = list(dict.fromkeys([*p.likeliest()[0], final.id]))
    return {
        **_drawn(final),
        "p": float(verdict.next_p[final.id]),
        "q": None,
        "mass": None,
        "overlap": None,
        "entropy_p": entropies(p.laws)[0],
        "entropy_q": None,
        "fallback": False,
        "row": bonus_row(p, shown, final.ends),
    }


def _drawn(final: Final) -> Drawn:
    return {"kind": final.kind, "id": final.id, "u": final.u, "low": final.low, "high": final.high}
