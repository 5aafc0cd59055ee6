"""The decisions of one speculative step, as a bundle of pure functions that is handed to it.

`EXACT` is the algorithm. A deliberate mistake is another bundle, made with `dataclasses.replace`; nothing is ever
patched, so one visitor's lab can't touch another's run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from specviz import sampling
from specviz.coins import Address
from specviz.sampling import Draw, Sampling

ACCEPTED, REJECTED, DISCARDED, RESIDUAL, BONUS = "accepted", "rejected", "discarded", "residual", "bonus"


def _draft_law(logits: Tensor, how: Sampling) -> tuple[Tensor, Tensor]:
    """Return the law that drafts are drawn from and the one that they are tested with: one and the same row."""
    law = sampling.warp(logits, how)
    return law, law


def _address(step: int, position: int, purpose: str) -> Address:
    return step, position, purpose


def _finals(accepted: int, drafted: int, ended: bool) -> tuple[str, ...]:
    """Return which final draws are due: none after an accepted end token, else a replacement or a bonus."""
    if ended:
        return ()
    return (BONUS,) if accepted == drafted else (RESIDUAL,)


@dataclass(frozen=True)
class Rules:
    """Pure functions that decide one step; see `EXACT` for what each does in the algorithm."""

    name: str | None
    target_law: Callable[[Tensor, Sampling], Tensor]
    draft_law: Callable[[Tensor, Sampling], tuple[Tensor, Tensor]]
    accept: Callable[[float, float, float], bool]
    residual: Callable[[Tensor, Tensor], tuple[Tensor, float]]
    finals: Callable[[int, int, bool], tuple[str, ...]]
    final_draw: Callable[[Tensor, float], Draw]
    address: Callable[[int, int, str], Address]


EXACT = Rules(
    name=None,
    target_law=sampling.warp,
    draft_law=_draft_law,
    accept=sampling.accept,
    residual=sampling.residual,
    finals=_finals,
    final_draw=sampling.draw,
    address=_address,
)
