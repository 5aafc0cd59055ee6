"""Speculative sampling on rows of numbers: pure functions that read like the papers.

p is the target's law and q the draft's, both after temperature, top-k and top-p; every law is one float64 row of V
probabilities, normalised once. That very row is drawn from, tested and subtracted: rounding it a second time, or
drawing from another one than is tested, is where most published engines lose exactness.

Sources: Leviathan, Kalman, Matias (arXiv 2211.17192), Algorithm 1 and Section 2.2; Chen et al. (arXiv 2302.01318),
Algorithm 2, whose p and q are the other way round.

>>> import torch
>>> p, q = torch.tensor([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]], dtype=torch.float64)
>>> accept(0.59, p[1], q[1]), accept(0.61, p[1], q[1])      # min(1, .3 / .5) = .6
(True, False)
>>> law, mass = residual(p, q)
>>> law.tolist(), round(mass, 12)
([1.0, 0.0, 0.0], 0.3)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from specviz.bounds import MAX_TEMPERATURE, positive, real, whole
from specviz.errors import SpecVizError

GREEDY_BELOW = 1e-6


@dataclass(frozen=True)
class Sampling:
    """How logits become a law: temperature (0 to 2; below 1e-6 is greedy), top_k (0 is off), top_p (in (0, 1]).

    Raises SpecVizError for anything else.
    """

    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", real("The temperature", self.temperature, 0, MAX_TEMPERATURE))
        object.__setattr__(self, "top_k", whole("Top-k (0 is off)", self.top_k, 0))
        object.__setattr__(self, "top_p", positive("Top-p", self.top_p, 1))

    @property
    def greedy(self) -> bool:
        """Whether every law is one-hot on the likeliest token."""
        return self.temperature < GREEDY_BELOW


class Draw(NamedTuple):
    """A drawn id and its interval [low, high) of the cumulative law, which the uniform fell into."""

    id: int
    low: float
    high: float


def warp(logits: Tensor, sampling: Sampling) -> Tensor:
    """Turn logits [..., V] of any dtype into float64 laws [..., V]: temperature, then top-k, then top-p.

    Every token tied with the k-th stays; top-p keeps the smallest set with mass >= top_p, descending, ties by id; at
    least one token stays. Greedy is one-hot on the lowest id among the best. A logit of -inf is a token that cannot
    be drawn. Raises SpecVizError where a row holds NaN or +inf, or nothing that can be drawn.
    Source: Leviathan et al., Section 2.2 (every standard way of sampling is sampling from an adjusted law).
    """
    if logits.device.type == "mps":  # has no float64
        logits = logits.cpu()
    scores = logits.to(torch.float64, copy=True)  # never the model's own tensor, it is written to below
    if sampling.greedy:
        best = scores.amax(-1, keepdim=True)
        _refuse_unless_finite(best)
        return _one_hot_on_lowest(scores == best)
    scores /= sampling.temperature
    if 0 < sampling.top_k < scores.shape[-1]:
        kth = scores.topk(sampling.top_k, -1).values[..., -1:]
        scores.masked_fill_(scores < kth, -torch.inf)
    if sampling.top_p < 1:
        whole = scores.softmax(-1)
        _refuse_unless_finite(whole[..., 0])
        scores.masked_fill_(~_nucleus(whole, sampling.top_p), -torch.inf)
    law = scores.softmax(-1)
    _refuse_unless_finite(law[..., 0])  # one NaN or +inf among the logits makes the whole row NaN
    return law


def _refuse_unless_finite(values: Tensor) -> None:
    if not math.isfinite(values.sum().item()):
        raise SpecVizError(
            "The model's logits are not finite numbers (NaN or infinite); load it in float32 or check its weights."
        )


def _one_hot_on_lowest(candidates: Tensor) -> Tensor:
    # argmax of 0/1 values may return any of the ties; the running count is 1 only up to the second candidate.
    return (candidates & (candidates.cumsum(-1) == 1)).double()


def _nucleus(law: Tensor, top_p: float, first: int = 1024) -> Tensor:
    """Mark the smallest set of tokens with mass >= top_p: bool [..., V].

    A full sort of 150,000 tokens takes longer than a small model's forward pass, so the likeliest `first` are sorted,
    and everything only where their mass does not reach top_p. Same set either way.
    """
    size = min(first, law.shape[-1])
    # Ties are broken by id: a stable sort over ids in ascending order, of every token as likely as the last of the top.
    if size < law.shape[-1]:
        threshold = law.topk(size, -1).values[..., -1:]
        inside = torch.where(law > threshold, law, 0.0).sum(-1)
        if not bool((inside >= top_p).all()):
            size = law.shape[-1]
    if size == law.shape[-1]:
        values, ids = law.sort(dim=-1, descending=True, stable=True)
    else:
        ids = law.topk(size, -1).indices.sort(dim=-1).values
        values, order = law.gather(-1, ids).sort(dim=-1, descending=True, stable=True)
        ids = ids.gather(-1, order)
    keep = torch.ones_like(values, dtype=torch.bool)
    keep[..., 1:] = values.cumsum(-1)[..., :-1] < top_p
    return torch.zeros_like(law, dtype=torch.bool).scatter(-1, ids, keep)


def cumulative(law: Tensor) -> Tensor:
    """Return where each id's interval ends in a law [V]: partial sums in id order, cut at 1.

    The last id with mass ends at 1 whatever the rounded sum is, so every uniform in [0, 1) falls on a token with mass.
    """
    ends = law.cumsum(-1)
    if ends[-1].item() > 1:
        ends.clamp_(max=1.0)
    ends[_last_with_mass(law) :].fill_(1.0)
    return ends


def _last_with_mass(law: Tensor, tail: int = 256) -> int:
    """Return the last id with mass in a law [V]; it is nearly always among the last few, so they are searched first."""
    if law[-1].item() > 0:
        return len(law) - 1
    found = law[-tail:].nonzero()
    offset = max(0, len(law) - tail)
    if not len(found):
        found, offset = law.nonzero(), 0
    return offset + int(found[-1])


def draw(ends: Tensor, u: float) -> Draw:
    """Draw by inverse CDF: the id whose interval [low, high) of `ends` [V] (see `cumulative`) holds u in [0, 1)."""
    token = int(torch.searchsorted(ends, u, right=True))
    low, high = ends[token - 1 : token + 1].tolist() if token else (0.0, float(ends[0]))
    return Draw(token, low, high)


def accept(u: float, p_x: float, q_x: float) -> bool:
    """Decide whether a drafted token is kept: u * q(x) < p(x), strictly, u in [0, 1).

    Without the division there is nothing to divide by zero, and with `<` a token with p(x) = 0 is never kept.
    Source: Leviathan et al., Algorithm 1; Chen et al., Algorithm 2.
    """
    return bool(u * q_x < p_x)


def residual(p: Tensor, q: Tensor) -> tuple[Tensor, float]:
    """Return norm(max(0, p - q)) [V] and its mass before normalising, which is the chance of a rejection.

    Mass 0 (p = q, reachable by rounding alone) falls back to p itself and returns a mass of 0.
    Source: Leviathan et al., Algorithm 1; Chen et al., Theorem 1.
    """
    owed = (p - q).clamp_(min=0)
    mass = float(owed.sum())
    return (owed / mass, mass) if mass > 0 else (p, 0.0)
