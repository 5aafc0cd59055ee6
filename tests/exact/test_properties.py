"""What must stay the same when something else changes, and what holds for every law there is."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from specviz import Pair, Sampling, decode, replay, start
from specviz.decoding.coins import Coins
from specviz.decoding.drafters import drafter_of
from specviz.decoding.rules import EXACT
from specviz.decoding.sampling import accept, cumulative, draw, residual, warp
from specviz.decoding.step import Terms, speculate
from specviz.exactness.enumeration import enumerate_runs, enumerate_step, total_variation
from specviz.exactness.worlds import PROMPT as TABLE_PROMPT
from specviz.exactness.worlds import START, table_pair, tiny_model
from specviz.models.loaded import LoadedModel, wrap
from tests.exact.worlds import PROMPT, own_law, pair_with, reference_warp, tiny_llama

repeatable = settings(derandomize=True, deadline=None, max_examples=300)
few = settings(derandomize=True, deadline=None, max_examples=12)

HOT = Sampling(1.0)
logits = st.lists(st.floats(-30, 30) | st.just(0.0) | st.just(-math.inf), min_size=1, max_size=9).filter(
    lambda row: max(row) > -math.inf
)
samplings = st.builds(
    Sampling,
    temperature=st.just(0.0) | st.floats(0.01, 2),
    top_k=st.integers(0, 9),
    top_p=st.just(1.0) | st.floats(0.05, 1),
)
uniforms = st.floats(0, 1, exclude_max=True) | st.sampled_from([0.0, 1 - 2**-53])


@st.composite
def two_laws(make) -> tuple[torch.Tensor, torch.Tensor]:
    size = make(st.integers(1, 7))
    rows = [
        make(st.lists(st.sampled_from([0.0, 1e-9, 0.1, 0.5, 1.0, 3.0]), min_size=size, max_size=size))
        for _ in "pq"
    ]
    rows = [row if sum(row) else [1.0] * size for row in rows]
    p, q = (torch.tensor(row, dtype=torch.float64) for row in rows)
    return p / p.sum(), q / q.sum()


# --- laws -------------------------------------------------------------------------------------------------------------


@repeatable
@given(logits, samplings)
def test_a_warped_row_is_a_law_and_the_one_that_the_definition_gives(
    row: list[float], sampling: Sampling
) -> None:
    law = warp(torch.tensor(row, dtype=torch.float64), sampling)
    assert float(law.sum()) == pytest.approx(1, abs=1e-12) and float(law.min()) >= 0
    if (
        sampling.top_p < 1 or sampling.top_k
    ):  # where a sum or a tie falls on the very threshold, rounding decides
        perturbed = [x + i * 1e-6 for i, x in enumerate(row)]
        law, row = warp(torch.tensor(perturbed, dtype=torch.float64), sampling), perturbed
    expected = reference_warp(torch.tensor(row, dtype=torch.float64).numpy(), sampling)
    assert law.tolist() == pytest.approx(expected.tolist(), abs=1e-9)


@repeatable
@given(two_laws(), uniforms)
def test_a_draw_has_mass_and_its_interval_holds_the_uniform(laws, u: float) -> None:
    for law in laws:
        drawn = draw(cumulative(law), u)
        assert drawn.low <= u < drawn.high and float(law[drawn.id]) > 0


@repeatable
@given(two_laws())
def test_residuals_sum_to_one_and_give_nothing_to_what_was_drafted_enough(laws) -> None:
    p, q = laws
    law, mass = residual(p, q)
    assert float(law.sum()) == pytest.approx(1, abs=1e-12) and float(law.min()) >= 0
    assert mass == pytest.approx(1 - float(torch.minimum(p, q).sum()), abs=1e-12)
    if mass > 0:
        assert not bool((law[p <= q] > 0).any())
    else:
        assert torch.equal(law, p)


@repeatable
@given(two_laws())
def test_what_is_kept_and_what_is_replaced_add_up_to_the_target(laws) -> None:
    """min(p, q) + (1 - sum of it) * residual = p: the theorem, row by row."""
    p, q = laws
    law, _ = residual(p, q)
    kept = torch.minimum(p, q)
    assert (kept + (1 - float(kept.sum())) * law).tolist() == pytest.approx(p.tolist(), abs=1e-12)


@repeatable
@given(uniforms, st.floats(0, 1), st.floats(0, 1))
def test_a_token_that_the_target_forbids_is_never_kept(u: float, p_x: float, q_x: float) -> None:
    assert not accept(u, 0.0, q_x)
    assert accept(u, p_x, q_x) == (u * q_x < p_x)


# --- steps ------------------------------------------------------------------------------------------------------------

rows_of_three = st.lists(st.sampled_from([0.0, 0.02, 0.3, 0.5, 1.0]), min_size=3, max_size=3).filter(sum)


def table(rows: list[list[float]]) -> dict[int, list[float]]:
    return {last: [x / sum(row) for x in row] for last, row in zip((START, 0, 1, 2), rows, strict=True)}


@few
@given(*[st.lists(rows_of_three, min_size=4, max_size=4)] * 2, st.integers(0, 2))
def test_any_draft_for_any_target_leaves_the_targets_law(p_rows, q_rows, k: int) -> None:
    p, q = table(p_rows), table(q_rows)
    found = enumerate_runs(table_pair(p, q), TABLE_PROMPT, k=k, max_new_tokens=2, sampling=HOT)
    own = {
        (a, b): p[START][a] * p[a][b]
        for a, b in itertools.product(range(3), repeat=2)
        if p[START][a] * p[a][b]
    }
    assert total_variation(found.law, own) < 1e-12


def test_a_draft_that_never_says_what_the_target_says_is_never_accepted() -> None:
    p = dict.fromkeys((START, 0, 1, 2, 3), (0.4, 0.6, 0.0, 0.0))
    q = dict.fromkeys((START, 0, 1, 2, 3), (0.0, 0.0, 0.3, 0.7))
    pair = table_pair(p, q)
    step = enumerate_step(pair, TABLE_PROMPT, k=2, sampling=HOT)
    assert step.law == pytest.approx({(0,): 0.4, (1,): 0.6}, abs=1e-12)
    trace = decode(pair, TABLE_PROMPT, k=3, max_new_tokens=30, sampling=HOT)
    assert trace.metrics["acceptance_examined"] == 0 and trace.metrics["overlap_mean"] == 0


@few
@given(st.integers(0, 2**53 - 1), st.integers(0, 6), samplings)
def test_on_every_examined_cell_the_state_is_what_the_numbers_say(
    seed: int, k: int, sampling: Sampling
) -> None:
    for pair in (pair_with("equal", 4), pair_with("noise", 4), pair_with("lookup", 4)):
        trace = decode(pair, PROMPT, k=k, max_new_tokens=12, seed=seed, sampling=sampling)
        assert replay(trace) == []
        for draft in (draft for step in trace.data["steps"] for draft in step["drafts"]):
            assert (draft["coin"] is None) == (draft["state"] == "discarded")
            if draft["coin"] is not None:
                assert (draft["state"] == "accepted") == (draft["coin"] * draft["q"] < draft["p"])


# --- whole runs -------------------------------------------------------------------------------------------------------


def permuted(model: LoadedModel, order: list[int]) -> LoadedModel:
    """The same model with token i renamed order[i]: its input and output rows change places (they are not tied)."""
    renamed = tiny_llama(len(order), 0).model
    renamed.load_state_dict(model.model.state_dict())
    places = torch.tensor(order).argsort()
    with torch.no_grad():
        for rows in (renamed.get_input_embeddings().weight, renamed.get_output_embeddings().weight):
            rows.copy_(rows[places].clone())
    return wrap(renamed, name="permuted")


@pytest.mark.parametrize("order", [[2, 0, 1], [1, 0, 2]], ids=str)
@pytest.mark.parametrize("sampling", [HOT, Sampling(0.8, top_k=2), Sampling(1.3, top_p=0.8)], ids=str)
def test_renaming_the_tokens_renames_the_law(order: list[int], sampling: Sampling) -> None:
    models = tiny_llama(3, 1), tiny_llama(3, 2)
    options = {"k": 2, "max_new_tokens": 3, "sampling": sampling}
    before = enumerate_runs(Pair("plain", *models, "model"), PROMPT, **options).law
    renamed = Pair("renamed", *(permuted(model, order) for model in models), "model")
    after = enumerate_runs(renamed, [order[token] for token in PROMPT], **options).law
    expected = {tuple(order[token] for token in text): weight for text, weight in before.items()}
    assert total_variation(after, expected) < 1e-12
    assert total_variation(after, before) > 0.01


@pytest.mark.parametrize("draft", ["equal", "lookup", "noise"])
def test_runs_that_take_turns_are_the_same_as_one_after_the_other(draft: str) -> None:
    pair = pair_with(draft, 4)
    options = [
        {"k": k, "max_new_tokens": 10, "seed": seed, "sampling": HOT} for k, seed in ((2, 1), (3, 2), (0, 3))
    ]
    alone = [decode(pair, PROMPT, **option).token_ids for option in options]
    runs = [start(pair, PROMPT, **option) for option in options]
    for _ in itertools.zip_longest(*runs):
        pass
    assert [run.trace.token_ids for run in runs] == alone


def test_a_run_that_is_left_midway_leaves_nothing_behind() -> None:
    pair = pair_with("equal", 4)
    before = decode(pair, PROMPT, k=3, max_new_tokens=10, seed=4, sampling=HOT).token_ids
    left = start(pair, PROMPT, k=3, max_new_tokens=10, seed=9, sampling=HOT)
    next(left)
    del left
    stopped = start(pair, PROMPT, k=3, max_new_tokens=10, seed=9, sampling=HOT)
    next(stopped)
    stopped.stop()
    assert list(stopped) == [] and stopped.trace.data["stop"] == "stopped"
    assert decode(pair, PROMPT, k=3, max_new_tokens=10, seed=4, sampling=HOT).token_ids == before


def test_a_draft_with_more_tokens_than_the_target_gives_the_law_of_one_without_them() -> None:
    """The surplus is masked before the warp, so top-k and top-p count only what can be proposed."""
    sampling = Sampling(1.0, top_k=2)
    pair = pair_with("larger", 3)
    drafter = drafter_of(pair)
    proposal = drafter.propose(PROMPT, 1, lambda i: 0.5, lambda row: EXACT.draft_law(row, sampling))
    with torch.inference_mode():
        row = pair.draft.model(torch.tensor([PROMPT])).logits[0, -1, :3]
    assert proposal.law(0).tolist() == pytest.approx(warp(row, sampling).tolist(), abs=1e-12)
    assert int((proposal.law(0) > 0).sum()) == 2


def test_neither_cache_reads_ahead_of_the_text_nor_is_anything_read_twice() -> None:
    pair, read = Pair("counted", tiny_model(6, 2, limit=128), tiny_model(6, 3, limit=128), "model"), []

    for seed in range(3):
        target, drafter, text = pair.target.cursor(), drafter_of(pair), list(PROMPT)
        coins = Coins(seed)
        target.extend(text[:-1], 0)
        drafter.prefill(text[:-1])
        for step in range(1, 15):
            verdict = speculate(target, drafter, text, 3, step, Terms(coins, HOT, frozenset()))
            text += verdict.emitted
            assert target.length == len(text) - 1
            read.append(len(text) - drafter._cursor.length)
    assert set(read) == {1, 2}  # two after a whole block was accepted: the last draft and the bonus


def test_the_reference_itself_sums_to_one() -> None:
    for tokens in (1, 2, 3):
        assert sum(own_law(pair_with("equal", 3).target, PROMPT, HOT, tokens).values()) == pytest.approx(1)
