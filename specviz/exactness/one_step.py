"""The law of one speculative step, to the last digit, beside what N throws of it show: the numbers of the exactness lab.

Two worlds. A *position* is one row of p and q: a step of one draft is taken there, and the law of the first token that
comes out is computed from the rules themselves. A *table* is the three-token example: whole steps are enumerated, so that
a mistake shows that leaves every single token right.

>>> from specviz.exactness.faults import FAULTS
>>> from specviz.exactness.worlds import P, Q, START
>>> position = position_of_laws(P[START], Q[START])
>>> check_position(position, EXACT).bias < 1e-12
True
>>> round(check_position(position, FAULTS["resample-from-p"].rules).bias, 12)
0.15
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from specviz.decoding.coins import Address
from specviz.decoding.rules import EXACT, RESIDUAL, Rules
from specviz.decoding.sampling import Draw, Sampling, cumulative
from specviz.errors import SpecVizError
from specviz.exactness import throws
from specviz.exactness.enumeration import accepted_below, table_law
from specviz.exactness.faults import HOT, Fault, without_rejected
from specviz.exactness.findings import TOKENS, in_table
from specviz.exactness.worlds import FOUR, FOUR_DRAFT, P, Q, Table
from specviz.models import toy
from specviz.record.shape import BonusRow, DraftRow

Floats = np.ndarray
Interval = tuple[Any, Any]

STAND_INS = 500  # on either side of "everything else": each too small to be anybody's favourite
LATER_TOKENS = ("bonus-after-rejection", "argmax-bonus", "one-coin")
WHOLE_LOGITS = (
    "tested-at-temperature-1", "drawn-at-temperature-1", "target-at-temperature-1", "draft-at-temperature-1", "tested-untruncated",
    "target-untruncated",
)  # fmt: skip
WHOLE_VOCABULARY = (
    "clamped-residual",
    "coin-is-draft-uniform",
    "residual-reuses-coin",
    "one-uniform-a-position",
)
ELSEWHERE = (*LATER_TOKENS, *WHOLE_LOGITS, *WHOLE_VOCABULARY)  # what a selected position of a run can't show
FOUR_TOKENS = ("residual-reuses-coin",)  # right with three: what is owed there is owed to one token alone


# --- where a step is taken --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Position:
    """One place in a text: logits [V] of target and draft, how they are warped, and the cell that each token counts in.

    `ids` [C] are the cells' tokens; None is everything else, counted as one.
    """

    target: Tensor
    draft: Tensor
    sampling: Sampling
    cell_of: Floats
    ids: tuple[int | None, ...]

    @property
    def whole(self) -> bool:
        """Whether every token of the vocabulary is a cell of its own."""
        return None not in self.ids


def position_of_laws(p: Sequence[float], q: Sequence[float]) -> Position:
    """Return the place where two laws [V] stand, every token a cell."""
    target, draft = (torch.tensor(law, dtype=torch.float64).log() for law in (p, q))
    return Position(target, draft, HOT, np.arange(len(p)), tuple(range(len(p))))


def position_of_row(row: DraftRow | BonusRow) -> Position:
    """Return the place that a trace's row is about; raises SpecVizError for a row without both laws.

    A row holds the likeliest tokens, and of all others the sum of p, of q and of their overlap. In their place stand
    1000 tokens with these very sums, one half of them likelier to the target, the other to the draft; they count as one
    cell. What the algorithm puts out there depends on nothing but the sums; a mistake's figure is a close one.
    """
    if row["q"] is None or row["q_rest"] is None or row["overlap_rest"] is None:
        raise SpecVizError(
            "This position has no draft law: choose a drafted token that was kept or rejected."
        )
    rest = _stand_ins(row["p_rest"], row["q_rest"], row["overlap_rest"])
    p, q = np.array(row["p"]), np.array(row["q"])
    laws = [np.concatenate([shown, extra]) for shown, extra in zip((p, q), rest, strict=True)]
    shown = len(row["ids"])
    cells = np.minimum(np.arange(shown + len(rest[0])), shown)
    ids = (*row["ids"], None) if len(rest[0]) else tuple(row["ids"])
    target, draft = (torch.from_numpy(law / law.sum()).log() for law in laws)
    return Position(target, draft, HOT, cells, ids)


def _stand_ins(p_rest: float, q_rest: float, overlap: float) -> tuple[Floats, Floats]:
    """Return the laws [1000] of tokens that together have the given sums; none where there is no mass."""
    overlap = min(overlap, p_rest, q_rest)
    if p_rest <= 0 and q_rest <= 0:
        return np.empty(0), np.empty(0)
    half, owed, over = overlap / 2, p_rest - overlap, q_rest - overlap
    p = np.repeat([half + owed, half], STAND_INS) / STAND_INS
    q = np.repeat([half, half + over], STAND_INS) / STAND_INS
    return p, q


def position_of_toy(prompt: str, agreement: float, sampling: Sampling) -> Position:
    """Return the place after a prompt of the toy world, its whole vocabulary; raises SpecVizError for a bad prompt."""
    ids = toy.ToyTokenizer()(prompt)["input_ids"]
    if not ids:
        raise SpecVizError("The toy's prompt is empty: write a few token ids, as in 1 15 42.")
    before, last = ([-1, *ids])[-2:]
    agreement = toy.check_agreement(agreement)
    target, draft = (torch.from_numpy(toy.toy_logits(before, last, own)) for own in (1.0, agreement))
    return Position(target, draft, sampling, np.arange(toy.VOCAB), tuple(range(toy.VOCAB)))


def cannot_show(fault: Fault, position: Position) -> str | None:
    """Return why a mistake can't be shown at a position, in a sentence that says where it can; None where it can."""
    name = fault.name
    if name in LATER_TOKENS:
        return "This mistake leaves a position's own token right and spoils the ones after it: it shows in the three-token example."
    if name in WHOLE_LOGITS and not position.whole:
        return "This mistake is about how logits become a law, and a trace keeps only the law: it shows in the toy and in the three-token example."
    if name in WHOLE_VOCABULARY and not position.whole:
        return "This mistake depends on every token of the vocabulary, and a trace keeps the likeliest: it shows in the toy and in the small examples."
    return None


# --- the exact law of the first token ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class FirstToken:
    """The law [V] of the first token of a one-draft step, by how it came: a kept draft, or a draw of the target's."""

    kept: Floats
    drawn: Floats


def first_token(position: Position, rules: Rules) -> FirstToken:
    """Return the law of the first token that a step of one draft puts out, computed from the rules and no sample.

    A draft x, a coin and a final draw each take an interval of a uniform number. Decisions that read different numbers
    are independent, so the intervals' lengths multiply; those that share a number have to hold at once.
    """
    p = rules.target_law(position.target, position.sampling)
    drawn_from, q = rules.draft_law(position.draft, position.sampling)
    draft, coin, final = (rules.address(1, 1, purpose) for purpose in ("draft", "accept", "final"))
    ends = cumulative(drawn_from).tolist()
    kept, drawn = np.zeros(len(p)), np.zeros(len(p))
    final_of = _finals(rules, p, q)
    for x in drawn_from.nonzero()[:, 0].tolist():
        came = (ends[x - 1] if x else 0.0, ends[x])
        if rules.kept([Draw(x, *came)]) == 0:
            drawn += _chance([(draft, came), (final, final_of(None))])
            continue
        bound = accepted_below(rules, float(p[x]), float(q[x]))
        kept[x] += _chance([(draft, came), (coin, (0.0, bound))])
        drawn += _chance([(draft, came), (coin, (bound, 1.0)), (final, final_of(x))])
    return FirstToken(kept, drawn)


def _finals(rules: Rules, p: Tensor, q: Tensor) -> Any:
    """Return a function from a rejected token (None: nothing was verified) to where the final draw's intervals lie."""

    def intervals(law: Tensor) -> Interval:
        ends = cumulative(law).numpy()
        return np.concatenate([[0.0], ends[:-1]]), ends

    @cache
    def of(rejected: int | None) -> Interval:
        if rejected is None:
            return intervals(rules.bonus_law(p, q))
        assert rules.finals(0, 1, False)[0] == RESIDUAL
        return intervals(rules.residual(p, q, rejected)[0])

    # one wrong replacement depends on which token was rejected, the others need to be computed once
    return (
        of if rules.residual is without_rejected else lambda rejected: of(rejected if rejected is None else 0)
    )


def _chance(decisions: Sequence[tuple[Address, Interval]]) -> Any:
    """Return the probability that every decision falls as said; an interval's ends may be arrays."""
    joint: dict[Address, Interval] = {}
    for address, (low, high) in decisions:
        before_low, before_high = joint.get(address, (0.0, 1.0))
        joint[address] = (np.maximum(low, before_low), np.minimum(high, before_high))
    chance: Any = 1.0
    for low, high in joint.values():
        chance = chance * np.maximum(high - low, 0.0)
    return chance


# --- a check ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Throws:
    """What N throws showed: the share [C] of each cell, its distance from the target's law, and chance's band for it."""

    trials: int
    shares: Floats
    distance: float
    band: tuple[float, float]

    @property
    def inside(self) -> bool:
        """Whether chance alone explains the distance, as it does in 999 of 1000 right samples."""
        return self.band[0] <= self.distance <= self.band[1]


@dataclass(frozen=True)
class Check:
    """What should come out and what does, as columns over cells: `target` and `law` [C], and where there are, the others.

    `cells` are token ids at a position (None is everything else), texts of three ids in a table. `bias` is the total
    variation between `law` and `target`.
    """

    cells: tuple[Any, ...]
    target: Floats
    law: Floats
    draft: Floats | None
    kept: Floats | None
    throws: Throws | None

    @property
    def bias(self) -> float:
        """The exact total variation between the law that comes out and the target's own."""
        return throws.distance(self.law, self.target)


def _gathered(values: Floats, position: Position) -> Floats:
    return np.bincount(position.cell_of, weights=values, minlength=len(position.ids))


def check_position(position: Position, rules: Rules, trials: int | None = None, seed: int = 0) -> Check:
    """Compare the first token of a one-draft step with p, exactly and, with `trials`, as so many throws.

    p is the law that was asked for: the target's, warped by the position's own sampling, whatever the rules do to it.
    Raises SpecVizError for a number of trials out of 1 to 1,000,000.
    """
    found = first_token(position, rules)
    target = _gathered(EXACT.target_law(position.target, position.sampling).numpy(), position)
    drawn_from, _ = rules.draft_law(position.draft, position.sampling)
    thrown = None
    if trials is not None:
        rows = throws.rows_of_run(position.target.expand(2, -1), position.draft.expand(2, -1))
        sample = throws.throw(rows, 1, position.sampling, trials=trials, seed=seed, rules=rules)
        thrown = _throws(trials, _gathered(sample.first(len(position.target)), position), target)
    return Check(
        position.ids,
        target,
        _gathered(found.kept + found.drawn, position),
        _gathered(drawn_from.numpy(), position),
        _gathered(found.kept, position),
        thrown,
    )


def _throws(trials: int, shares: Floats, target: Floats) -> Throws:
    return Throws(trials, shares, throws.distance(shares, target), throws.chance_band(target, trials))


def table_of(fault: Fault | None) -> tuple[str, Table, Table]:
    """Return the table that shows a mistake: its name, p and q. Three tokens are enough for all mistakes but one."""
    four = fault is not None and fault.name in FOUR_TOKENS
    return ("four tokens", FOUR, FOUR_DRAFT) if four else ("three tokens", P, Q)


def check_table(fault: Fault | None, trials: int | None = None, seed: int = 0) -> Check:
    """Compare the law of three tokens with the target's own, at the mistake's own settings: enumerated, and thrown.

    Raises SpecVizError for a number of trials out of 1 to 1,000,000.
    """
    world, p, q = table_of(fault)
    found = _found(world, fault)
    texts = tuple(sorted({*found.target, *found.law}))
    target, law = (np.array([each.get(text, 0.0) for text in texts]) for each in (found.target, found.law))
    thrown = None
    if trials is not None:
        rules, own = fault.rules if fault else EXACT, table_law(p, found.sampling)
        rows = throws.rows_of_tables(p, q)
        sample = throws.throw(rows, found.k, found.sampling, trials=trials, seed=seed, rules=rules)
        shares = sample.gone_on(own, TOKENS, seed)
        thrown = _throws(trials, np.array([shares.get(text, 0.0) for text in texts]), target)
    return Check(texts, target, law, None, None, thrown)


@lru_cache(maxsize=64)
def _found(world: str, fault: Fault | None) -> Any:
    return in_table(world, *table_of(fault)[1:], fault)
