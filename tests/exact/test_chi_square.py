"""Sampling tests at fixed seeds, on rows too large to enumerate and on whole steps, each with a control that must fail.

Reject below 1e-6: a right sampler fails once in a million seeds, and the seeds are fixed. Cells that expect fewer than
five are counted as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from specviz import EXACT, Rules, Sampling, with_draft
from specviz.decoding.coins import Coins
from specviz.decoding.drafters import drafter_of
from specviz.decoding.sampling import cumulative, draw
from specviz.decoding.step import Terms, speculate
from specviz.exactness.enumeration import continued, uncached_law
from specviz.exactness.faults import FAULTS
from specviz.models.catalogue import has_own_draft
from tests.exact.worlds import PROMPT, pair_with

REJECT_BELOW = 1e-6
HOT = Sampling(1.0)


def p_value(counts: Mapping[Hashable, int], law: Mapping[Hashable, float]) -> float:
    """Return the p-value of Pearson's chi-square of counted outcomes against their law."""
    trials = sum(counts.values())
    if any(law.get(outcome, 0.0) == 0 for outcome in counts):
        return 0.0
    large = [outcome for outcome, p in law.items() if p * trials >= 5]
    seen = [counts.get(outcome, 0) for outcome in large]
    expected = [law[outcome] * trials for outcome in large]
    rest = trials - sum(expected)
    if rest > 1e-6:
        seen.append(trials - sum(seen))
        expected.append(rest)
    assert len(seen) > 3, "too few cells to tell anything"
    return float(chisquare(seen, np.array(expected) * (trials / sum(expected))).pvalue)


# --- one position of the default pair ---------------------------------------------------------------------------------

TEXT = "The cat sat on the mat, and then the"
DRAFTS = [*(["model"] if has_own_draft("smollm2-135m") else []), "lookup", "noise"]


def one_position(pair, ids: list[int], rules: Rules, trials: int) -> tuple[Counter, dict[int, float]]:
    """Throw one position again and again, by the loop's own draw, test and replacement; count what is put out."""
    with torch.inference_mode():
        target, drafter = pair.target.cursor(), drafter_of(pair)
        p = rules.target_law(target.extend(ids, 1)[0], HOT)
        proposal = drafter.propose(ids, 1, lambda i: 0.5, lambda logits: rules.draft_law(logits, HOT))
    q, q_ends = proposal.law(0), cumulative(proposal.law(0))
    p_list, q_list, ends_of = p.tolist(), q.tolist(), {}
    counts: Counter = Counter()
    for seed in range(trials):
        coins = Coins(seed)
        token = draw(q_ends, coins.u(*rules.address(1, 1, "draft"))).id
        if not rules.accept(coins.u(*rules.address(1, 1, "accept")), p_list[token], q_list[token]):
            if not ends_of:
                ends_of["residual"] = cumulative(rules.residual(p, q, token)[0])
            token = draw(ends_of["residual"], coins.u(*rules.address(1, 1, "final"))).id
        counts[token] += 1
    return counts, dict(enumerate(p_list))


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_position_of_the_default_pair(default_pair, draft: str) -> None:
    pair = with_draft(default_pair, draft)
    ids = pair.target.encode(TEXT, False)
    counts, law = one_position(pair, ids, EXACT, 20_000)
    assert p_value(counts, law) > REJECT_BELOW
    wrong, _ = one_position(pair, ids, FAULTS["inverted-ratio"].rules, 20_000)
    assert p_value(wrong, law) < REJECT_BELOW


def test_a_position_whose_replacement_comes_from_p(default_pair) -> None:
    """Where the text repeats itself, prompt lookup proposes what the target would say anyway: p(x) is large."""
    pair = with_draft(default_pair, "lookup")
    ids = pair.target.encode("red, green, blue. red, green,", False)
    counts, law = one_position(pair, ids, EXACT, 20_000)
    assert p_value(counts, law) > REJECT_BELOW
    wrong, _ = one_position(pair, ids, FAULTS["resample-from-p"].rules, 20_000)
    assert p_value(wrong, law) < REJECT_BELOW


# --- the joint law of K + 1 tokens ------------------------------------------------------------------------------------


@torch.inference_mode()
def whole_steps(rules: Rules, k: int, trials: int) -> tuple[Counter, dict[tuple[int, ...], float]]:
    """Compute one step of tiny models for many seeds, let the target's plain law go on to K + 1 tokens; count texts."""
    pair = pair_with("equal", 3)
    own, ends = uncached_law(pair.target, PROMPT, HOT), pair.target.end_ids
    target, drafter = pair.target.cursor(), drafter_of(pair)
    generator, counts = np.random.default_rng(0), Counter()
    for seed in range(trials):
        for reader in (target, drafter):
            reader.rollback(len(PROMPT) - 1)
        if not target.length:
            target.extend(PROMPT[:-1], 0)
            drafter.prefill(PROMPT[:-1])
        text = tuple(speculate(target, drafter, PROMPT, k, 1, Terms(Coins(seed), HOT, ends, rules)).emitted)
        while len(text) <= k and text[-1] not in ends:
            law = np.array(own(text))
            text = (*text, int(generator.choice(len(law), p=law / law.sum())))
        counts[text] += 1
    return counts, continued({(): 1.0}, own, k + 1, ends)


@pytest.mark.parametrize("k", [1, 2])
def test_the_joint_law_of_a_step(k: int) -> None:
    assert p_value(*whole_steps(EXACT, k, 3000)) > REJECT_BELOW


@pytest.mark.parametrize("name", ["argmax-draft", "resample-from-p", "argmax-bonus", "one-coin"])
def test_the_joint_law_of_a_step_with_a_fault_is_refused(name: str) -> None:
    """The last two leave the first token's law as it is: only the tokens together give them away."""
    assert p_value(*whole_steps(FAULTS[name].rules, 2, 3000)) < REJECT_BELOW
