"""One step of speculative decoding: draft, verify in one target pass, accept or reject, draw the final token.

Sources: Leviathan, Kalman, Matias (arXiv 2211.17192), Algorithm 1; Chen et al. (arXiv 2302.01318), Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from specviz.decoding.coins import Coins
from specviz.decoding.drafters import Drafter, Proposal
from specviz.decoding.rules import BONUS, EXACT, Rules
from specviz.decoding.sampling import Sampling, cumulative, draw
from specviz.models.cursors import Cursor
from specviz.record.shape import FinalKind


@dataclass(frozen=True)
class Verdict:
    """What a step decided, with the rows it was decided on: p [k, V], and q and its draws in the proposal.

    `logits` [k + 1, V] are the target's, `p_drafted` what p gives to the drafts. `kept` drafts were up for verification: all of them, but under a fault. `next_p`
    [V] is the target's law after the kept drafts where a bonus was due, else None.
    """

    proposal: Proposal
    logits: Tensor
    p: Tensor
    p_drafted: list[float]
    next_p: Tensor | None
    kept: int
    coins: list[float]
    accepted: int
    ended: bool
    finals: list[Final]

    @property
    def emitted(self) -> list[int]:
        """The ids that the step adds to the text."""
        return self.proposal.ids[: self.accepted] + [final.id for final in self.finals]


@dataclass(frozen=True)
class Final:
    """One final draw: its kind, where it fell, where the intervals of its law end, the residual's mass (None for a bonus)."""

    kind: FinalKind
    id: int
    u: float
    low: float
    high: float
    ends: Tensor
    mass: float | None


@dataclass(frozen=True)
class Terms:
    """What is settled for a whole run: its random numbers, how logits become laws, which tokens end a text, and the rules."""

    coins: Coins
    sampling: Sampling
    end_ids: frozenset[int]
    rules: Rules = EXACT


def speculate(
    target: Cursor,
    drafter: Drafter,
    sequence: Sequence[int],
    k: int,
    step: int,
    terms: Terms,
) -> Verdict:
    """Compute step number `step` after `sequence`: draft at most k tokens, verify them in one target pass, draw the final one.

    The target's pass gives k + 1 laws; one coin a draft is thrown from left to right; the final token takes a rejected
    draft's place, drawn from the residual, or follows k accepted ones, drawn from the last law.

    Both models have read at most len(sequence) - 1 tokens before, and at most one less than the new text after.
    """
    coins, sampling, end_ids, rules = terms.coins, terms.sampling, terms.end_ids, terms.rules
    proposal = drafter.propose(
        sequence,
        k,
        lambda position: coins.u(*rules.address(step, position, "draft")),
        lambda logits: rules.draft_law(logits, sampling),
    )
    drafts = proposal.ids
    logits = target.extend([*sequence[target.length :], *drafts], len(drafts) + 1)
    p = rules.target_law(logits[: len(drafts)], sampling)  # the last row is for a bonus alone

    kept = rules.kept(proposal.draws)
    p_drafted = p[list(range(len(drafts))), drafts].tolist()
    thrown: list[float] = []
    accepted, ended = 0, False
    for position, (token, p_x, q_x) in enumerate(
        zip(drafts[:kept], p_drafted, proposal.q, strict=False), start=1
    ):
        thrown.append(coins.u(*rules.address(step, position, "accept")))
        if not rules.accept(thrown[-1], p_x, q_x):
            break
        accepted += 1
        ended = token in end_ids
        if ended:
            break

    finals: list[Final] = []
    due = rules.finals(accepted, kept, ended)
    next_p = None
    if BONUS in due:
        next_p = p[kept] if kept < len(drafts) else rules.target_law(logits[kept:], sampling)[0]
    for kind in due:
        u = coins.u(*rules.address(step, accepted + 1 + len(finals), "final"))
        law, mass = _final_law(kind, p, next_p, proposal, accepted, kept, rules)
        ends = cumulative(law)
        drawn = draw(ends, u)
        finals.append(Final(kind, drawn.id, u, drawn.low, drawn.high, ends, mass))
        if drawn.id in end_ids:
            break
    verdict = Verdict(proposal, logits, p, p_drafted, next_p, kept, thrown, accepted, ended, finals)

    # What was read is right as far as the last accepted draft, and the text's last token is left to be read next.
    known = min(len(sequence) + accepted, len(sequence) + len(verdict.emitted) - 1)
    target.rollback(known)
    drafter.rollback(known)
    return verdict


def _final_law(
    kind: FinalKind,
    p: Tensor,
    next_p: Tensor | None,
    proposal: Proposal,
    accepted: int,
    kept: int,
    rules: Rules,
) -> tuple[Tensor, float | None]:
    """Return the law [V] of the token that ends a step and a residual's mass: a replacement's at row accepted + 1, or a bonus's."""
    if kind == BONUS and next_p is not None:
        return rules.bonus_law(next_p, proposal.law(kept) if kept < len(proposal.draws) else None), None
    return rules.residual(p[accepted], proposal.law(accepted), proposal.draws[accepted].id)
