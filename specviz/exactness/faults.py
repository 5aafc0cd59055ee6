"""The classic mistakes of speculative decoding, and a few things that look like one and are exact.

Each is the algorithm with one of its decisions replaced (`dataclasses.replace(EXACT, ...)`): the lab shows what it does
to the law, and the tests show that they would notice. `row` is its number in the project's notes: F a fault of a
formula, R one of the random numbers, a prime for what is exact after all, "five" for several at once.

>>> FAULTS["resample-from-p"].row, FAULTS["no-bonus"].exact
('F2', True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from specviz.decoding import sampling
from specviz.decoding.coins import Address
from specviz.decoding.rules import BONUS, EXACT, RESIDUAL, Rules
from specviz.decoding.sampling import Draw, Sampling
from specviz.errors import SpecVizError
from specviz.record.shape import FinalKind

UNSURE_BELOW = 0.29  # not 0.3, which the fixture's q has: rounding must not decide
EPSILON = 1e-9
GREEDY = Sampling(temperature=0.0)


# --- laws -------------------------------------------------------------------------------------------------------------


def _at_temperature_1(how: Sampling) -> Sampling:
    return replace(how, temperature=1.0)


def _untruncated(how: Sampling) -> Sampling:
    return Sampling(how.temperature)


def _argmax_draft(logits: Tensor, how: Sampling) -> tuple[Tensor, Tensor]:
    return sampling.warp(logits, GREEDY), sampling.warp(logits, how)


def _argmax_one_hot(logits: Tensor, how: Sampling) -> tuple[Tensor, Tensor]:
    one_hot = sampling.warp(logits, GREEDY)
    return one_hot, one_hot


def _tested_at_temperature_1(logits: Tensor, how: Sampling) -> tuple[Tensor, Tensor]:
    return sampling.warp(logits, how), sampling.warp(logits, _at_temperature_1(how))


def _drawn_at_temperature_1(logits: Tensor, how: Sampling) -> tuple[Tensor, Tensor]:
    return sampling.warp(logits, _at_temperature_1(how)), sampling.warp(logits, how)


def _draft_at_temperature_1(logits: Tensor, how: Sampling) -> tuple[Tensor, Tensor]:
    law = sampling.warp(logits, _at_temperature_1(how))
    return law, law


def _target_at_temperature_1(logits: Tensor, how: Sampling) -> Tensor:
    return sampling.warp(logits, _at_temperature_1(how))


def _tested_untruncated(logits: Tensor, how: Sampling) -> tuple[Tensor, Tensor]:
    return sampling.warp(logits, how), sampling.warp(logits, _untruncated(how))


def _target_untruncated(logits: Tensor, how: Sampling) -> Tensor:
    return sampling.warp(logits, _untruncated(how))


# --- verdicts ---------------------------------------------------------------------------------------------------------


def _lenient(lenience: float) -> Rules:
    return replace(
        EXACT, name=f"lenience-{lenience:g}", accept=lambda u, p_x, q_x: bool(u * lenience * q_x < p_x)
    )


def _inverted(u: float, p_x: float, q_x: float) -> bool:
    return bool(u * p_x < q_x)


def _sample_or_coin(u: float, p_x: float, q_x: float) -> bool:
    # One uniform for two independent events: below p(x) the target's own sample is x; what is above it, stretched to
    # [0, 1), is the coin.
    return u < p_x or sampling.accept((u - p_x) / (1 - p_x), p_x, q_x)


def _as_if_q_were_1(u: float, p_x: float, q_x: float) -> bool:
    return bool(u < p_x)


def _never_divides_by_zero(u: float, p_x: float, q_x: float) -> bool:
    return bool(u < min(1.0, p_x / (q_x + EPSILON)))


def _unsure(draws: Sequence[Draw]) -> int:
    """Return how many drafts come before the first that its draft gave less than UNSURE_BELOW."""
    sure = (index for index, drawn in enumerate(draws) if drawn.high - drawn.low < UNSURE_BELOW)
    return next(sure, len(draws))


def _unsure_included(draws: Sequence[Draw]) -> int:
    return min(_unsure(draws) + 1, len(draws))


def _all_but_last(draws: Sequence[Draw]) -> int:
    return max(0, len(draws) - 1)


# --- replacements -----------------------------------------------------------------------------------------------------


def _normalised(weights: Tensor, p: Tensor) -> tuple[Tensor, float]:
    mass = float(weights.sum())
    return (weights / mass, mass) if mass > 0 else (p, 0.0)


def _from_p(p: Tensor, q: Tensor, rejected: int) -> tuple[Tensor, float]:
    return p, 1.0


def without_rejected(p: Tensor, q: Tensor, rejected: int) -> tuple[Tensor, float]:
    """Return p without the rejected token, the one wrong replacement that depends on which token that was."""
    weights = p.clone()
    weights[rejected] = 0.0
    return _normalised(weights, p)


def _absolute_difference(p: Tensor, q: Tensor, rejected: int) -> tuple[Tensor, float]:
    return _normalised((p - q).abs(), p)


def _clamped(p: Tensor, q: Tensor, rejected: int) -> tuple[Tensor, float]:
    return _normalised((p - q).clamp(min=1e-5), p)


# --- bonuses ----------------------------------------------------------------------------------------------------------


def _bonus_after_last_rejection(accepted: int, kept: int, ended: bool) -> tuple[FinalKind, ...]:
    return (RESIDUAL, BONUS) if accepted == kept - 1 and not ended else EXACT.finals(accepted, kept, ended)


def _no_bonus(accepted: int, kept: int, ended: bool) -> tuple[FinalKind, ...]:
    return () if 0 < accepted == kept else EXACT.finals(accepted, kept, ended)


def _argmax_bonus(p: Tensor, q: Tensor | None) -> Tensor:
    one_hot = torch.zeros_like(p)
    one_hot[int((p == p.max()).nonzero()[0])] = 1.0  # the lowest id among the best
    return one_hot


def _bonus_from_q(p: Tensor, q: Tensor | None) -> Tensor:
    return p if q is None else q


# --- random numbers ---------------------------------------------------------------------------------------------------


def _coin_is_draft_uniform(step: int, position: int, purpose: str) -> Address:
    return step, position, "draft" if purpose == "accept" else purpose


def _residual_reuses_coin(step: int, position: int, purpose: str) -> Address:
    return step, position, "accept" if purpose == "final" else purpose


def _one_uniform_a_position(step: int, position: int, purpose: str) -> Address:
    return step, position, "draft"


def _one_coin(step: int, position: int, purpose: str) -> Address:
    return (1, 1, purpose) if purpose == "accept" else (step, position, purpose)


def _seeded_every_step(step: int, position: int, purpose: str) -> Address:
    return 1, position, purpose


# --- the list ---------------------------------------------------------------------------------------------------------


HOT = Sampling(temperature=1.0)
COLD = Sampling(temperature=0.5)
TOP_2 = Sampling(temperature=1.0, top_k=2)


@dataclass(frozen=True)
class Fault:
    """One deliberate mistake: what it does and why it is wrong (or exact after all), each in a sentence.

    `sampling` and `k` are the smallest settings under which the fixture shows it.
    """

    row: str
    does: str
    why: str
    rules: Rules
    exact: bool = False
    sampling: Sampling = HOT
    k: int = 2

    @property
    def name(self) -> str:
        """The name that the shell, the page and a trace's settings know it by."""
        assert self.rules.name is not None
        return self.rules.name


_ALL = (
    Fault(
        "F1",
        "Drafts the likeliest token instead of drawing one, and tests it with the whole of q.",
        "The token was certain, so the law that it came from is one-hot: divided by q(x) < 1 it is accepted too often.",
        replace(EXACT, name="argmax-draft", draft_law=_argmax_draft),
    ),
    Fault(
        "F1'",
        "Drafts the likeliest token and tests it with a one-hot q.",
        "Exact: q is the law that the token was drawn from. It is accepted with probability p(x), less often than need be.",
        replace(EXACT, name="argmax-draft-one-hot", draft_law=_argmax_one_hot),
        exact=True,
    ),
    Fault(
        "F2",
        "Draws the replacement of a rejected token from p.",
        "Kept drafts have delivered min(p, q) already; drawing from p again gives tokens that q favours a second helping.",
        replace(EXACT, name="resample-from-p", residual=_from_p),
    ),
    Fault(
        "F2b",
        "Draws the replacement from p without the rejected token.",
        "Right where q is one-hot; elsewhere every token has had its share from kept drafts, not only the rejected one.",
        replace(EXACT, name="resample-without-rejected", residual=without_rejected),
    ),
    Fault(
        "F2c",
        "Draws the replacement from |p − q|.",
        "Tokens that were drafted too often are owed nothing, and here half of what they had too much stays: halfway from p to q.",
        replace(EXACT, name="absolute-difference", residual=_absolute_difference),
    ),
    Fault(
        "F2d",
        "Draws the replacement from max(p − q, 0.00001).",
        "Tokens that are owed nothing can be drawn, even impossible ones. Invisible with three tokens; with 49,152 and 0.3 owed, "
        "62 % of the replacements are such tokens, and the law is off by 0.19.",
        replace(EXACT, name="clamped-residual", residual=_clamped),
    ),
    Fault(
        "F3",
        "Adds a bonus when the last draft was rejected.",
        "The bonus comes from the row after the rejected draft, a text that does not exist: another token stands there.",
        replace(EXACT, name="bonus-after-rejection", finals=_bonus_after_last_rejection),
    ),
    Fault(
        "F4",
        "Takes the target's likeliest token as the bonus.",
        "At a temperature above 0 a draw was asked for; the first token's law is right, so a test of that alone passes.",
        replace(EXACT, name="argmax-bonus", bonus_law=_argmax_bonus),
    ),
    Fault(
        "F4b",
        "Leaves the last draft unverified and draws the bonus, in its place, from the draft's law.",
        "The one token that nobody checked has the draft's law instead of the target's.",
        replace(EXACT, name="bonus-from-q", kept=_all_but_last, bonus_law=_bonus_from_q),
        k=3,
    ),
    Fault(
        "F5",
        "Never takes a bonus.",
        "Exact: the next step draws that token. It wastes a row of the target's pass.",
        replace(EXACT, name="no-bonus", finals=_no_bonus),
        exact=True,
    ),
    Fault(
        "F6",
        "Draws drafts at the temperature asked for and tests them with q at temperature 1.",
        "The q of the test is not the law that the draft was drawn from.",
        replace(EXACT, name="tested-at-temperature-1", draft_law=_tested_at_temperature_1),
        sampling=COLD,
    ),
    Fault(
        "F6b",
        "Draws drafts at temperature 1 and tests them with q at the temperature asked for.",
        "The q of the test is not the law that the draft was drawn from.",
        replace(EXACT, name="drawn-at-temperature-1", draft_law=_drawn_at_temperature_1),
        sampling=COLD,
    ),
    Fault(
        "F6c",
        "Leaves the target at temperature 1 whatever temperature was asked for.",
        "Verification is true to the target at temperature 1, which is not the law that was asked for.",
        replace(EXACT, name="target-at-temperature-1", target_law=_target_at_temperature_1),
        sampling=COLD,
    ),
    Fault(
        "F6'",
        "Leaves the draft at temperature 1, both when drawing and when testing.",
        "Exact: q may be any law, if drafts are drawn from it. It only agrees less with the target.",
        replace(EXACT, name="draft-at-temperature-1", draft_law=_draft_at_temperature_1),
        exact=True,
        sampling=COLD,
    ),
    Fault(
        "F7",
        "Draws drafts from the truncated q (top-k, top-p) and tests them with the untruncated one.",
        "Truncation made the drafted tokens likelier than the q of the test says, so they are accepted too often.",
        replace(EXACT, name="tested-untruncated", draft_law=_tested_untruncated),
        sampling=TOP_2,
    ),
    Fault(
        "F7b",
        "Truncates the draft's law but not the target's.",
        "The output is true to the untruncated target: tokens that top-k or top-p were to forbid come out.",
        replace(EXACT, name="target-untruncated", target_law=_target_untruncated),
        sampling=TOP_2,
    ),
    Fault(
        "F8",
        "Keeps a draft if the target's own sample is the same token, or if its coin says so.",
        "Two chances instead of one: drafts are accepted more often than min(1, p/q).",
        replace(EXACT, name="sample-or-coin", accept=_sample_or_coin),
    ),
    Fault(
        "F8b",
        "Keeps a draft only if the target's own sample is the same token, else puts out that sample.",
        "Exact: every token put out is a sample of the target's; taking q for 1 comes to the same. It accepts less.",
        replace(EXACT, name="exact-match", accept=_as_if_q_were_1, residual=without_rejected),
        exact=True,
    ),
    Fault(
        "F9",
        "Accepts with min(1, p / (0.8 q)).",
        "A draft is kept more often than it deserves; faster, and drawn towards the draft's law.",
        _lenient(0.8),
    ),
    Fault(
        "F9",
        "Accepts with min(1, p / (0.5 q)).",
        "A draft is kept up to twice as often as it deserves; faster still, and nearly the draft's law.",
        _lenient(0.5),
    ),
    Fault(
        "F10",
        "Accepts with min(1, q/p).",
        "The ratio is upside down (papers disagree on which model is called p): what the target dislikes is kept.",
        replace(EXACT, name="inverted-ratio", accept=_inverted),
    ),
    Fault(
        "F12",
        f"Drops a drawn draft, and those after it, if the draft gave it less than {UNSURE_BELOW:g}.",
        "Looking at a draw before deciding whether it counts changes the law of the draws that do.",
        replace(EXACT, name="drop-unsure-draft", kept=_unsure),
    ),
    Fault(
        "F12'",
        f"Stops drafting after a draft that got less than {UNSURE_BELOW:g}, and verifies that draft too.",
        "Exact: when to stop may depend on the draws so far, as long as each of them is verified.",
        replace(EXACT, name="stop-after-unsure-draft", kept=_unsure_included),
        exact=True,
    ),
    Fault(
        "R1",
        "Uses the uniform that drew a draft as its coin as well (a generator started again with the same seed).",
        "Whether a draft with p < q is kept then depends on where it lies in the vocabulary, and not on p/q alone.",
        replace(EXACT, name="coin-is-draft-uniform", address=_coin_is_draft_uniform),
        k=1,
    ),
    Fault(
        "R2",
        "Draws the replacement with the coin that rejected the draft.",
        "A coin that rejected is a high number, so the replacement comes from the end of the vocabulary.",
        replace(EXACT, name="residual-reuses-coin", address=_residual_reuses_coin),
        k=1,
    ),
    Fault(
        "R3",
        "Uses one uniform for a position's draft, coin and replacement.",
        "Three decisions that ought to be independent follow each other.",
        replace(EXACT, name="one-uniform-a-position", address=_one_uniform_a_position),
        k=1,
    ),
    Fault(
        "R4",
        "Throws one coin for all positions (the generator is seeded before every coin).",
        "The first token's law is right. The later ones' are drawn towards q, because a coin that kept the first draft is a low one.",
        replace(EXACT, name="one-coin", address=_one_coin),
    ),
    Fault(
        "five",
        "Drafts the likeliest token and tests it with the whole of q (plus 0.000000001), replaces from p, adds a bonus even "
        "after a rejection at the last position, takes the likeliest token as the bonus, and seeds its generator again for "
        "every step.",
        "Five mistakes at once. The first four each have a switch here; the fifth leaves one step right and shows only over "
        "several, so no figure here holds it.",
        replace(
            EXACT,
            name="sample-engine",
            draft_law=_argmax_draft,
            accept=_never_divides_by_zero,
            residual=_from_p,
            finals=_bonus_after_last_rejection,
            bonus_law=_argmax_bonus,
            address=_seeded_every_step,
        ),
    ),
)

FAULTS = {fault.name: fault for fault in _ALL}
FORMER_NAMES = {"article-engine": "sample-engine"}  # in traces that were made before


def fault_named(name: object) -> Fault:
    """Return a fault by its name; raises SpecVizError, with the names there are, for anything else."""
    known_as = FORMER_NAMES.get(name, name) if isinstance(name, str) else None
    if known_as not in FAULTS:
        raise SpecVizError(f"There is no fault {name!r}: choose one of {', '.join(FAULTS)}.")
    return FAULTS[known_as]
