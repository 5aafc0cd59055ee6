"""One step of speculative decoding: draft, verify in one target pass, accept or reject, draw the final token.

Sources: Leviathan, Kalman, Matias (arXiv 2211.17192), Algorithm 1; Chen et al. (arXiv 2302.01318), Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from specviz.coins import Coins
from specviz.cursors import Cursor
from specviz.drafters import Drafter, Proposal
from specviz.rules import EXACT, RESIDUAL, Rules
from specviz.sampling import Sampling, cumulative, draw


@dataclass(frozen=True)
class Verdict:
    """What a step decided, with the rows it was decided on: p [k + 1, V], and q and its draws in the proposal.

    `kept` drafts were up for verification: all of them, but under a fault.
    """

    proposal: Proposal
    p: Tensor
    p_logits: Tensor
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

    kind: str
    id: int
    u: float
    low: float
    high: float
    ends: Tensor
    mass: float | None


def speculate(
    target: Cursor,
    drafter: Drafter,
    sequence: Sequence[int],
    k: int,
    step: int,
    coins: Coins,
    sampling: Sampling,
    end_ids: frozenset[int],
    rules: Rules = EXACT,
) -> Verdict:
    """Compute one step after `sequence`: draft at most k tokens, verify them in one target pass, draw the final one.

    The target's pass gives k + 1 laws; one coin a draft is thrown from left to right; the final token takes a rejected
    draft's place, drawn from the residual, or follows k accepted ones, drawn from the last law.

    Both models have read at most len(sequence) - 1 tokens before, and at most one less than the new text after.
    """
    proposal = drafter.propose(
        sequence,
        k,
        lambda position: coins.u(*rules.address(step, position, "draft")),
        lambda logits: rules.draft_law(logits, sampling),
    )
    drafts = proposal.ids
    logits = target.extend([*sequence[target.length :], *drafts], len(drafts) + 1)
    p = rules.target_law(logits, sampling)

    kept = rules.kept(proposal.draws)
    thrown: list[float] = []
    accepted, ended = 0, False
    for position, (token, q) in enumerate(zip(drafts[:kept], proposal.laws, strict=False), start=1):
        thrown.append(coins.u(*rules.address(step, position, "accept")))
        if not rules.accept(thrown[-1], float(p[position - 1, token]), float(q[token])):
            break
        accepted += 1
        ended = token in end_ids
        if ended:
            break

    finals: list[Final] = []
    for kind in rules.finals(accepted, kept, ended):
        u = coins.u(*rules.address(step, accepted + 1 + len(finals), "final"))
        finals.append(_final(kind, u, p, proposal, accepted, kept, rules))
        if finals[-1].id in end_ids:
            break
    verdict = Verdict(proposal, p, logits, kept, thrown, accepted, ended, finals)

    # What was read is right as far as the last accepted draft, and the text's last token is left to be read next.
    known = min(len(sequence) + accepted, len(sequence) + len(verdict.emitted) - 1)
    target.rollback(known)
    drafter.rollback(known)
    return verdict


def _final(
    kind: str, u: float, p: Tensor, proposal: Proposal, accepted: int, kept: int, rules: Rules
) -> Final:
    """Draw the token that ends a step: a replacement from row accepted + 1, or a bonus from row kept + 1."""
    if kind == RESIDUAL:
        law, mass = rules.residual(p[accepted], proposal.laws[accepted], proposal.draws[accepted].id)
    else:
        unverified = proposal.laws[kept] if kept < len(proposal.laws) else None
        law, mass = rules.bonus_law(p[kept], unverified), None
    ends = cumulative(law)
    drawn = draw(ends, u)
    return Final(kind, drawn.id, u, drawn.low, drawn.high, ends, mass)
