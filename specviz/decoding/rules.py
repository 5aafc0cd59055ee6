"""The decisions of one speculative step, as a bundle of pure functions that is handed to it.

`EXACT` is the algorithm. A deliberate mistake is another bundle, made with `dataclasses.replace`; nothing is ever
patched, so one visitor's lab can't touch another's run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from torch import Tensor

from specviz.decoding import sampling
from specviz.decoding.coins import Address
from specviz.decoding.sampling import Draw, Sampling
from specviz.record.shape import FinalKind

ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
DISCARDED: Final = "discarded"
RESIDUAL: Final = "residual"
BONUS: Final = "bonus"


def _draft_law(logits: Tensor, how: Sampling) -> tuple[Tensor, Tensor]:
    """Return the law that drafts are drawn from and the one that they are tested with: one and the same row."""
    law = sampling.warp(logits, how)
    return law, law


def _address(step: int, position: int, purpose: str) -> Address:
    return step, position, purpose


def _kept(draws: Sequence[Draw]) -> int:
    """Return how many of the drawn drafts are verified: all of them."""
    return len(draws)


def _residual(p: Tensor, q: Tensor, rejected: int) -> tuple[Tensor, float]:
    """Return the law of a replacement and its mass: whichever token was rejected, what p is still owed."""
    return sampling.residual(p, q)


def _finals(accepted: int, kept: int, ended: bool) -> tuple[FinalKind, ...]:
    """Return which final draws are due: none after an accepted end token, else a replacement or a bonus."""
    if ended:
        return ()
    return (BONUS,) if accepted == kept else (RESIDUAL,)


def _bonus_law(p: Tensor, q: Tensor | None) -> Tensor:
    """Return the law of a bonus: the target's row after the last draft, whatever the draft says of that place."""
    return p


@dataclass(frozen=True)
class Rules:
    """Pure functions that decide one step; see `EXACT` for what each does in the algorithm.

    Laws are rows [V]. `draft_law` returns the law drawn from and the one tested with; `kept` looks at the draws in their
    order; `accept` takes u, p(x) and q(x) and must not turn from false to true as u grows; `residual` takes p, q and the
    rejected id; `finals` takes how many drafts were accepted, how many kept, and whether an end token was accepted;
    `bonus_law` takes p and, where a drawn draft was not kept, q after the kept ones; `address` says for (step, position,
    purpose) which random number is read. `name` is None for the algorithm itself.
    """

    name: str | None
    target_law: Callable[[Tensor, Sampling], Tensor]
    draft_law: Callable[[Tensor, Sampling], tuple[Tensor, Tensor]]
    kept: Callable[[Sequence[Draw]], int]
    accept: Callable[[float, float, float], bool]
    residual: Callable[[Tensor, Tensor, int], tuple[Tensor, float]]
    finals: Callable[[int, int, bool], tuple[FinalKind, ...]]
    bonus_law: Callable[[Tensor, Tensor | None], Tensor]
    address: Callable[[int, int, str], Address]


EXACT = Rules(
    name=None,
    target_law=sampling.warp,
    draft_law=_draft_law,
    kept=_kept,
    accept=sampling.accept,
    residual=_residual,
    finals=_finals,
    bonus_law=_bonus_law,
    address=_address,
)
