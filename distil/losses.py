"""What the student is taught: the target's likeliest tokens and one bucket for the rest, and how well it overlaps with them."""

from __future__ import annotations

from typing import NamedTuple

import torch

# Of the mass that both laws give to the bucket, this much is taken to overlap. What is known of the bucket is its sum alone.
BUCKET_OVERLAP = 0.3


class Batch(NamedTuple):
    """Known of the target at n positions; ids are head ids, -1 where the head has none."""

    top: torch.Tensor  # [n, m] int64, the likeliest ids
    logp: torch.Tensor  # [n, m] float32, their log-probabilities at temperature 1
    drawn: torch.Tensor  # [n] int64, the id that the target drew here


def target_law(batch: Batch, temperature: float, tail: float) -> torch.Tensor:
    """Probabilities [n, m] of `batch.top` at `temperature`; what is missing to 1 is the rest's.

    The rest's own normaliser is not recorded; it is rest mass * (tail * p_m)^(1/T - 1), p_m the smallest known probability:
    exact if the rest were equal tokens of tail * p_m each. `tail` is fitted on rows where the whole law is known.
    """
    p = batch.logp.exp()
    power = 1 / temperature
    rest = (1 - p.sum(-1)).clamp_min(0) * (tail * p[:, -1]) ** (power - 1)
    scaled = p**power
    return scaled / (scaled.sum(-1) + rest)[:, None]


class LogProbabilities(torch.autograd.Function):
    """log softmax(logits / temperature) at a few ids a row: [n, H] and ids [n, m] to [n, m] float32.

    By hand because autograd would pass over the n * H numbers, most of a step's memory, three times as often.
    """

    @staticmethod
    def forward(ctx, logits: torch.Tensor, ids: torch.Tensor, temperature: float) -> torch.Tensor:
        z = logits.float()
        z = z - z.amax(-1, keepdim=True) if z is logits else z.sub_(z.amax(-1, keepdim=True))
        z.mul_(1 / temperature)
        picked = z.gather(1, ids)
        total = z.exp_().sum(-1, keepdim=True)
        ctx.save_for_backward(z, total, ids)
        ctx.temperature, ctx.dtype = temperature, logits.dtype
        return picked - total.log()

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        z, total, ids = ctx.saved_tensors
        gradient = gradient / ctx.temperature
        z.mul_(-gradient.sum(-1, keepdim=True) / total)  # in place: a step goes backward once
        z.scatter_add_(1, ids, gradient)
        return z.to(ctx.dtype), None, None


def distillation_losses(
    logits: torch.Tensor, batch: Batch, temperature: float, tail: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross-entropy and overlap, both [n], of softmax(logits / temperature) [n, H] with the target's law.

    The bucket's inner cross-entropy is estimated by the drawn token where that one fell into the bucket.
    """
    known = batch.top >= 0
    p = target_law(batch, temperature, tail) * known
    p_rest = 1 - p.sum(-1)
    ids = torch.cat([batch.top, batch.drawn[:, None]], 1).clamp_min(0)
    log_probabilities = LogProbabilities.apply(logits, ids, temperature)
    log_q, log_drawn = log_probabilities[:, :-1], log_probabilities[:, -1]
    q = log_q.exp() * known
    q_rest = (1 - q.sum(-1)).clamp_min(1e-6)
    cross_entropy = -(p * log_q).sum(-1) - p_rest * q_rest.log()
    in_rest = (batch.drawn >= 0) & (batch.top != batch.drawn[:, None]).all(-1)
    inside = (log_drawn - q_rest.log()).clamp_max(0)
    cross_entropy = cross_entropy - inside * in_rest
    overlap = torch.minimum(p, q).sum(-1) + BUCKET_OVERLAP * torch.minimum(p_rest, q_rest)
    return cross_entropy, overlap
