"""The law of whole texts, as the production loop really makes them, is the target's own: every path is walked.

In the everyday suite: the grid over three tokens, pairwise cases over four, six cases of four new tokens (K = 3: the
last token is never drafted). The rest of both is marked `full`.
"""

from __future__ import annotations

from itertools import product

import pytest

from specviz.decoding.rules import EXACT
from specviz.decoding.run import decode
from specviz.decoding.sampling import Sampling
from specviz.errors import SpecVizError
from specviz.exactness.enumeration import (
    MOST_PATHS,
    accepted_below,
    decided_until,
    enumerate_runs,
    enumerate_step,
    most_paths,
    paths_of_step,
)
from specviz.exactness.faults import FAULTS
from specviz.exactness.worlds import tiny_model, tiny_pair
from specviz.models.loaded import wrap
from specviz.models.pairs import Pair
from tests.exact.tally import Tally
from tests.exact.worlds import DRAFTS, PROMPT, own_law, pair_with, tiny_llama

ROUNDING = 1e-12
Case = tuple[str, float, int, float, int, bool]


def pairwise(*factors: tuple) -> list[tuple]:
    """Few cases that hold every two values of different factors together at least once, chosen greedily."""
    missing = {
        ((i, a), (j, b))
        for i, j in product(range(len(factors)), repeat=2)
        if i < j
        for a, b in product(factors[i], factors[j])
    }

    def covered(case: tuple) -> set:
        marked = list(enumerate(case))
        return {(a, b) for a in marked for b in marked if a[0] < b[0]} & missing

    chosen = []
    while missing:
        best = max(product(*factors), key=lambda case: len(covered(case)))
        missing -= covered(best)
        chosen.append(best)
    return chosen


def check(tally: Tally, vocab: int, tokens: int, case: Case) -> int:
    draft, temperature, top_k, top_p, k, resumed = case
    pair, sampling = pair_with(draft, vocab), Sampling(temperature, top_k, top_p)
    found = enumerate_runs(pair, PROMPT, k=k, max_new_tokens=tokens, sampling=sampling, resumed=resumed)
    assert sum(found.law.values()) == pytest.approx(1, abs=ROUNDING)
    assert tally.compare(found, own_law(pair.target, PROMPT, sampling, tokens)) <= ROUNDING
    return found.paths


TEMPERATURES = (0.0, 0.7, 1.0, 1.3)
GRID_3 = list(product(DRAFTS, TEMPERATURES, (0, 2), (1.0, 0.8), (1, 2), (False,)))
FACTORS_4 = (DRAFTS, TEMPERATURES[1:], (0, 2, 3), (1.0, 0.8), (1, 2), (False, True))
PAIRWISE_4 = pairwise(*FACTORS_4)
REST_4 = [case for case in product(*FACTORS_4[:-1], (False,)) if case not in PAIRWISE_4]
LONG_3 = list(product(DRAFTS, TEMPERATURES, (0, 2), (1.0, 0.8), (3,), (False,)))
CHOSEN_LONG_3: list[Case] = [
    ("equal", 1.0, 0, 1.0, 3, True),
    ("smaller", 0.7, 0, 1.0, 3, True),
    ("larger", 1.3, 2, 1.0, 3, False),
    ("trimmed", 1.0, 0, 0.8, 3, False),
    ("lookup", 1.3, 0, 1.0, 3, False),
    ("noise", 0.7, 2, 1.0, 3, True),
]


@pytest.mark.parametrize("case", GRID_3, ids=str)
def test_three_tokens(tally: Tally, case: Case) -> None:
    check(tally, 3, 3, case)


@pytest.mark.parametrize("case", PAIRWISE_4, ids=str)
def test_four_tokens_pairwise(tally: Tally, case: Case) -> None:
    check(tally, 4, 3, case)


@pytest.mark.parametrize("case", CHOSEN_LONG_3, ids=str)
def test_three_drafts_of_four_new_tokens(tally: Tally, case: Case) -> None:
    check(tally, 3, 4, case)


@pytest.mark.full
@pytest.mark.parametrize("case", REST_4, ids=str)
def test_four_tokens_the_rest(tally: Tally, case: Case) -> None:
    check(tally, 4, 3, case)


@pytest.mark.full
@pytest.mark.parametrize("case", [case for case in LONG_3 if case not in CHOSEN_LONG_3], ids=str)
def test_three_drafts_of_four_new_tokens_the_rest(tally: Tally, case: Case) -> None:
    check(tally, 3, 4, case)


def test_greedy_has_one_path(tally: Tally) -> None:
    assert check(tally, 4, 3, ("equal", 0.0, 0, 1.0, 2, False)) == 1


def test_llama_with_rotary_positions_and_grouped_heads(tally: Tally) -> None:
    pair = Pair("llama", tiny_llama(3, 1, end_id=2), tiny_llama(3, 2), "model")
    sampling = Sampling(1.0)
    found = enumerate_runs(pair, PROMPT, k=2, max_new_tokens=3, sampling=sampling)
    assert tally.compare(found, own_law(pair.target, PROMPT, sampling, 3)) <= ROUNDING
    assert found.paths > 50


@pytest.mark.parametrize("shorter", ["target", "draft"])
def test_a_full_context_stops_the_run_and_changes_no_law(tally: Tally, shorter: str) -> None:
    """Room for three more tokens in the target, or for fewer drafts than K in the draft model."""
    limit = len(PROMPT) + 3
    target = tiny_model(3, 2, limit=limit if shorter == "target" else 32)
    draft = tiny_model(3, 3, limit=limit if shorter == "draft" else 32)
    pair, sampling = Pair("short", target, draft, "model"), Sampling(1.0)
    found = enumerate_runs(
        pair, PROMPT, k=2, max_new_tokens=4 if shorter == "target" else 3, sampling=sampling
    )
    assert {len(text) for text in found.law} == {3}
    assert tally.compare(found, own_law(target, PROMPT, sampling, 3)) <= ROUNDING


def test_several_end_ids_that_the_draft_does_not_know(tally: Tally) -> None:
    model = tiny_model(4, 2).model
    model.generation_config.eos_token_id = [0, 3]
    target = wrap(model, name="two ends")
    assert target.end_ids == {0, 3}
    pair, sampling = Pair("ends", target, tiny_model(4, 3), "model"), Sampling(1.0)
    found = enumerate_runs(pair, PROMPT, k=2, max_new_tokens=3, sampling=sampling)
    assert tally.compare(found, own_law(target, PROMPT, sampling, 3)) <= ROUNDING


def test_the_law_depends_neither_on_k_nor_on_the_draft(tally: Tally) -> None:
    sampling = Sampling(1.0)
    own = own_law(pair_with("equal", 3).target, PROMPT, sampling, 3)
    for draft, k in (("equal", 0), ("equal", 1), ("self", 2), ("noise", 2), ("lookup", 16)):
        found = enumerate_runs(pair_with(draft, 3), PROMPT, k=k, max_new_tokens=3, sampling=sampling)
        assert tally.compare(found, own) <= ROUNDING


def test_the_enumeration_walks_both_sides_of_every_coin() -> None:
    """An enumeration that never saw a rejection, or never an acceptance, would prove nothing."""
    found = enumerate_runs(pair_with("equal", 3), PROMPT, k=2, max_new_tokens=3, sampling=Sampling(1.0))
    plain = enumerate_runs(pair_with("equal", 3), PROMPT, k=0, max_new_tokens=3, sampling=Sampling(1.0))
    assert found.paths > 3 * plain.paths


@pytest.mark.parametrize(
    "p_x, q_x", [(0.3, 0.5), (0.1, 0.7), (1e-12, 1.0), (0.5, 0.5), (0.0, 0.4), (0.4, 0.0)]
)
def test_a_coin_is_walked_at_its_very_threshold(p_x: float, q_x: float) -> None:
    expected = 0.0 if p_x == 0 else min(1.0, p_x / q_x if q_x else 1.0)
    assert accepted_below(EXACT, p_x, q_x) == pytest.approx(expected, rel=1e-15)
    lenient = FAULTS["lenience-0.5"].rules
    assert accepted_below(lenient, p_x, q_x) == pytest.approx(min(1.0, 2 * expected) if q_x else expected)


def test_a_coin_that_did_not_decide_by_p_and_q_stops_the_enumeration() -> None:
    trace = decode(pair_with("noise", 3), PROMPT, k=2, max_new_tokens=3, sampling=Sampling(1.0))
    first = trace.data["steps"][0]["drafts"][0]
    first["state"] = "accepted" if first["state"] == "rejected" else "rejected"
    with pytest.raises(AssertionError, match="against p and q"):
        decided_until(trace, EXACT)


@pytest.mark.parametrize("resumed", [False, True])
def test_what_is_too_large_is_refused_with_its_count(resumed: bool) -> None:
    with pytest.raises(SpecVizError, match=f"{most_paths(3, 4, 9):,} runs"):
        enumerate_runs(tiny_pair(3), PROMPT, k=4, max_new_tokens=9, sampling=Sampling(1.0), resumed=resumed)
    with pytest.raises(SpecVizError, match=f"{paths_of_step(200, 2):,} runs"):
        enumerate_step(tiny_pair(200), PROMPT, k=2, sampling=Sampling(1.0))
    assert most_paths(3, 4, 9) > MOST_PATHS


def test_no_run_has_more_paths_than_said() -> None:
    for k in (0, 1, 2):
        found = enumerate_runs(pair_with("noise", 3), PROMPT, k=k, max_new_tokens=3, sampling=Sampling(1.0))
        assert found.paths <= most_paths(3, k, 3)
    wrong = FAULTS["resample-from-p"].rules
    step = enumerate_step(tiny_pair(3), PROMPT, k=2, sampling=Sampling(1.0), rules=wrong)
    assert step.paths <= paths_of_step(3, 2)
