"""A hundred thousand steps at once agree with the enumeration, and chance is told from a mistake."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from specviz import EXACT, Sampling, SpecVizError
from specviz.decoding.sampling import warp
from specviz.exactness.enumeration import continued, enumerate_step, table_law, total_variation
from specviz.exactness.faults import FAULTS
from specviz.exactness.throws import (
    MOST_TRIALS,
    NOTHING,
    Sample,
    chance_band,
    check_trials,
    distance,
    rows_of_run,
    rows_of_tables,
    throw,
)
from specviz.exactness.worlds import FOUR, FOUR_DRAFT, PROMPT, P, Q, table_pair

TRIALS = 100_000
HOT = Sampling(1.0)
TOO_SMALL_TO_SEE = {"clamped-residual"}  # 2e-5: some 5e10 trials would be needed
INVISIBLE_IN_ONE_TOKEN = {"bonus-after-rejection", "argmax-bonus", "bonus-from-q", "one-coin"}


def within(shares: dict, law: dict) -> bool:
    low, high = chance_band(np.array([*law.values()]), TRIALS)
    return low <= total_variation(shares, law) <= high


@pytest.mark.parametrize("name", [None, *FAULTS])
def test_the_sample_of_a_step_is_that_of_the_enumerated_law(name: str | None) -> None:
    """The arrays follow the very rules that the loop follows, the wrong ones too, shared random numbers and all."""
    rules = FAULTS[name].rules if name else EXACT
    how, k = (FAULTS[name].sampling, FAULTS[name].k) if name else (HOT, 2)
    for p, q in ((P, Q), (FOUR, FOUR_DRAFT)):
        sample = throw(rows_of_tables(p, q), k, how, trials=TRIALS, seed=1, rules=rules)
        law = enumerate_step(table_pair(p, q), PROMPT, k=k, sampling=how, rules=rules).law
        assert within(sample.law(), law)


@pytest.mark.parametrize("name", [None, *FAULTS])
def test_a_fault_that_can_be_seen_is_outside_the_band_and_the_algorithm_inside(name: str | None) -> None:
    fault = FAULTS[name] if name else None
    p, q = (FOUR, FOUR_DRAFT) if fault and fault.k == 1 else (P, Q)
    how, k, rules = (fault.sampling, fault.k, fault.rules) if fault else (HOT, 2, EXACT)
    own = table_law(p, how)
    target = continued({(): 1.0}, own, 3)
    sample = throw(rows_of_tables(p, q), k, how, trials=TRIALS, seed=2, rules=rules)
    right = fault is None or fault.exact or name in TOO_SMALL_TO_SEE
    assert within(sample.gone_on(own, 3, seed=2), target) == right
    first = distance(sample.first(len(own(()))), np.array(own(())))
    low, high = chance_band(np.array(own(())), TRIALS)
    assert (low <= first <= high) == (right or name in INVISIBLE_IN_ONE_TOKEN)


@pytest.mark.parametrize("size", [64, 50_000])
@pytest.mark.parametrize("name", [None, "resample-from-p", "resample-without-rejected", "lenience-0.8"])
def test_rows_of_a_real_size(size: int, name: str | None) -> None:
    generator = torch.Generator().manual_seed(1)
    target = torch.randn(2, size, generator=generator) * 3
    draft = target + torch.randn(2, size, generator=generator)
    rules = FAULTS[name].rules if name else EXACT
    sample = throw(rows_of_run(target, draft), 1, Sampling(0.8), trials=20_000, seed=3, rules=rules)
    law = warp(target[0], Sampling(0.8)).numpy()
    likeliest = np.argsort(-law)[:60]

    def gathered(shares: np.ndarray) -> np.ndarray:
        return np.append(shares[likeliest], shares.sum() - shares[likeliest].sum())

    low, high = chance_band(gathered(law), 20_000)
    assert (low <= distance(gathered(sample.first(size)), gathered(law)) <= high) == (name is None)


def test_the_rows_of_a_step_are_each_at_their_position() -> None:
    """Two drafts from rows that do not depend on each other: the three tokens are independent, each of its own law."""
    generator = torch.Generator().manual_seed(5)
    target, draft = torch.randn(2, 3, 5, generator=generator) * 1.5
    sample = throw(rows_of_run(target, draft), 2, HOT, trials=TRIALS, seed=4)
    laws = warp(target, HOT)
    whole = sample.gone_on(lambda text: laws[len(text)].tolist(), 3, seed=4)
    own = continued({(): 1.0}, lambda text: laws[len(text)].tolist(), 3)
    assert within(whole, own)


def test_the_same_seed_throws_the_same_and_another_seed_others() -> None:
    rows = rows_of_tables(P, Q)
    first, second, third = (throw(rows, 2, HOT, trials=1000, seed=seed).tokens for seed in (1, 1, 2))
    assert (first == second).all() and (first != third).any()


def test_a_step_without_drafts_is_the_targets_own_draw() -> None:
    sample = throw(rows_of_tables(P, Q), 0, HOT, trials=TRIALS, seed=1)
    assert sample.tokens.shape == (TRIALS, 1)
    low, high = chance_band(np.array([0.5, 0.3, 0.2]), TRIALS)
    assert low <= distance(sample.first(3), np.array([0.5, 0.3, 0.2])) <= high


@pytest.mark.parametrize("trials", [1, 10, 100, 1000, 100_000])
def test_of_a_thousand_right_samplers_one_leaves_the_band(trials: int) -> None:
    """A bound that is wider than need be fails as well: nobody would leave it."""
    law = np.array([0.5, 0.3, 0.15, 0.05, 0.0])
    samples = np.random.default_rng(0).multinomial(trials, law, size=40_000) / trials
    seen = np.abs(samples - law).sum(axis=1) / 2
    low, high = chance_band(law, trials)
    leave = int(((seen < low) | (seen > high)).sum())
    assert leave <= 70
    if trials > 100:  # few throws have few distances, and the band ends at one of them
        assert leave >= 15


def test_texts_that_the_target_goes_on_are_thrown_as_whole_texts_are() -> None:
    """From no token at all: what is drawn then is a sample of whole texts, neither nearer to its law nor farther off."""
    own = table_law(P, HOT)
    target = continued({(): 1.0}, own, 3)
    texts, law = [*target], np.array([*target.values()])
    empty = Sample(np.full((1000, 1), NOTHING))
    seen = []
    for seed in range(400):
        shares = empty.gone_on(own, 3, seed)
        assert sum(shares.values()) == pytest.approx(1)
        seen.append(distance(np.array([shares.get(text, 0.0) for text in texts]), law))
    plain = np.random.default_rng(1).multinomial(1000, law, size=4000) / 1000
    expected = np.abs(plain - law).sum(axis=1) / 2
    assert np.mean(seen) == pytest.approx(expected.mean(), rel=0.03)
    assert np.std(seen) == pytest.approx(expected.std(), rel=0.15)


def test_a_one_hot_law_leaves_nothing_to_chance() -> None:
    assert chance_band(np.array([0.0, 1.0]), 1000) == pytest.approx((0, 0), abs=1e-9)


@pytest.mark.parametrize("trials", [0, -1, MOST_TRIALS + 1, 10.5, True, None])
def test_a_number_of_trials_out_of_range_is_refused(trials: object) -> None:
    with pytest.raises(SpecVizError, match="number of trials"):
        check_trials(trials)
    with pytest.raises(SpecVizError, match="number of trials"):
        throw(rows_of_tables(P, Q), 2, HOT, trials=trials, seed=1)
