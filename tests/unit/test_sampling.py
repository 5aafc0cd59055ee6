import math

import pytest
import torch

from specviz.decoding.sampling import Sampling, accept, cumulative, draw, residual, warp
from specviz.errors import SpecVizError

P = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
Q = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)


def law(*logits, dtype=torch.float32, **how):
    return warp(torch.tensor(logits, dtype=dtype), Sampling(**{"temperature": 1.0} | how)).tolist()


def test_a_law_is_a_float64_softmax_at_the_temperature():
    expected = [math.exp(x / 0.7) for x in (0.1, -1.0, 2.5)]
    expected = [x / sum(expected) for x in expected]
    got = warp(torch.tensor([0.1, -1.0, 2.5], dtype=torch.float64), Sampling(0.7))
    assert got.dtype == torch.float64
    assert got.tolist() == pytest.approx(expected, abs=1e-15)


def test_half_precision_logits_are_widened_before_the_temperature():
    logits = torch.tensor([10.0, 10.0625, 9.5], dtype=torch.bfloat16)
    assert warp(logits, Sampling(0.3)).tolist() == warp(logits.double(), Sampling(0.3)).tolist()


def test_top_k_keeps_every_token_tied_with_the_kth():
    assert [x > 0 for x in law(1.0, 3.0, 2.0, 2.0, 0.0, top_k=2)] == [False, True, True, True, False]
    assert law(1.0, 3.0, 2.0, top_k=0) == law(1.0, 3.0, 2.0, top_k=3) == law(1.0, 3.0, 2.0, top_k=99)


def test_top_p_keeps_the_smallest_set_that_reaches_it_with_ties_by_id():
    logits = [math.log(x) for x in (0.1, 0.25, 0.4, 0.25)]
    assert [x > 0 for x in law(*logits, top_p=0.6)] == [False, True, True, False]
    assert [x > 0 for x in law(*logits, top_p=0.39)] == [False, False, True, False]
    assert [x > 0 for x in law(*logits, top_p=1e-9)] == [False, False, True, False]
    assert [x > 0 for x in law(*logits, top_p=1.0)] == [True] * 4


def test_top_k_comes_before_top_p():
    logits = [math.log(x) for x in (0.4, 0.3, 0.2, 0.1)]
    # among the first two, 0.4 is 4/7 = 0.571 of the mass: enough for 0.55, though not of the whole law
    assert [x > 0 for x in law(*logits, top_k=2, top_p=0.55)] == [True, False, False, False]


@pytest.mark.parametrize("spread", [0.1, 3.0, 12.0])
def test_top_p_on_a_large_vocabulary_keeps_what_a_full_sort_would(spread):
    generator = torch.Generator().manual_seed(1)
    logits = (torch.randn(3, 5000, generator=generator, dtype=torch.float64) * spread).round(
        decimals=1
    )  # with ties
    whole = warp(logits, Sampling(1.0))
    for row, full, cut in zip(logits, whole, warp(logits, Sampling(1.0, 0, 0.8)), strict=True):
        order = sorted(range(len(row)), key=lambda i: (-float(full[i]), i))
        kept, mass = set(), 0.0
        for token in order:
            kept.add(token)
            mass += float(full[token])
            if mass >= 0.8:
                break
        surplus = {int(i) for i in cut.nonzero()} ^ kept
        assert len(surplus) <= 1  # partial sums in another order may differ in the last bit


def test_greedy_is_one_hot_on_the_lowest_of_the_best_ids_however_it_is_asked_for():
    for temperature in (0, 0.0, 1e-7, 1e-40):
        assert law(1.0, 5.0, 5.0, 2.0, temperature=temperature) == [0, 1, 0, 0]
    rows = torch.zeros(4, 1000)
    rows[:, 700] = rows[:, 300] = 1.0
    assert warp(rows, Sampling(0.0)).argmax(-1).tolist() == [300] * 4
    assert warp(rows, Sampling(0.0)).sum(-1).tolist() == [1.0] * 4


def test_a_low_temperature_neither_overflows_nor_turns_into_nan():
    assert law(1000.0, 999.0, -1000.0, temperature=1e-6) == [1, 0, 0]
    assert law(-1e30, 0.0, temperature=2.0) == [0, 1]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "how", [Sampling(0.0), Sampling(0.5), Sampling(0.7, 2), Sampling(1.3, 0, 0.5), Sampling(2.0, 3, 0.4)]
)
def test_the_models_own_logits_are_left_alone(dtype, how):
    logits = torch.tensor([[0.1, -1.0, 2.5, 0.5]], dtype=dtype)
    before = logits.clone()
    warp(logits, how)
    assert torch.equal(logits, before)


def test_a_masked_token_has_no_mass():
    assert law(0.0, -math.inf, 0.0) == [0.5, 0, 0.5]


@pytest.mark.parametrize(
    "how",
    [{"temperature": 0.0}, {"temperature": 1.0}, {"top_k": 1}, {"top_p": 0.5}, {"top_k": 2, "top_p": 0.1}],
)
@pytest.mark.parametrize("bad", [[1.0, math.nan, 2.0], [math.inf, 1.0, 2.0], [-math.inf] * 3])
def test_logits_that_are_no_numbers_are_refused_and_never_sampled(bad, how):
    with pytest.raises(SpecVizError, match="not finite"):
        law(*bad, **how)
    with pytest.raises(SpecVizError, match="not finite"):
        warp(torch.tensor([[0.0, 1.0, 2.0], bad]), Sampling(**how))


@pytest.mark.parametrize(
    "settings",
    [{"temperature": t} for t in (-0.1, 2.1, math.nan, math.inf, "1", None, True)]
    + [{"top_k": k} for k in (-1, 1.5, "3", None)]
    + [{"top_p": p} for p in (0, -0.5, 1.01, math.nan, "1", None)],
)
def test_sampling_settings_out_of_range_are_refused(settings):
    with pytest.raises(SpecVizError, match=r"must be"):
        Sampling(**settings)


def test_a_draw_falls_into_the_interval_of_the_uniform_in_id_order():
    ends = cumulative(torch.tensor([0.25, 0.0, 0.5, 0.25, 0.0], dtype=torch.float64))
    assert ends.tolist() == [0.25, 0.25, 0.75, 1.0, 1.0]
    assert draw(ends, 0.0) == (0, 0.0, 0.25)
    assert draw(ends, 0.25) == (2, 0.25, 0.75)
    assert draw(ends, 0.75) == (3, 0.75, 1.0)
    assert draw(ends, math.nextafter(1, 0)) == (3, 0.75, 1.0)


def test_the_last_token_with_mass_ends_at_one_whatever_the_rounded_sum_is():
    short = torch.tensor([0.3, 0.3, 0.3, 0.0], dtype=torch.float64)
    assert cumulative(short).tolist()[2:] == [1.0, 1.0]
    assert draw(cumulative(short), math.nextafter(1, 0)).id == 2
    long = torch.tensor([0.6, 0.6, 0.1], dtype=torch.float64)
    assert cumulative(long).tolist() == [0.6, 1.0, 1.0]
    assert draw(cumulative(long), math.nextafter(1, 0)).id == 1


def test_a_draw_never_returns_a_token_without_mass():
    generator = torch.Generator().manual_seed(3)
    row = torch.rand(400, generator=generator, dtype=torch.float64)
    row[torch.rand(400, generator=generator) < 0.7] = 0.0
    row /= row.sum()
    ends = cumulative(row)
    edges = [float(end) for end in ends if end < 1]
    uniforms = [0.0, math.nextafter(1, 0), *edges, *(math.nextafter(edge, 0) for edge in edges if edge)]
    assert all(row[draw(ends, u).id] > 0 for u in uniforms)


@pytest.mark.parametrize("last", [0, 5, 255, 256, 700, 999])
def test_the_last_token_with_mass_is_found_wherever_it_stands(last):
    law = torch.zeros(1000, dtype=torch.float64)
    law[: last + 1] = 0.9 / (last + 1)
    ends = cumulative(law)
    assert ends[last:].tolist() == [1.0] * (1000 - last)
    assert draw(ends, math.nextafter(1, 0)).id == last


@pytest.mark.parametrize(
    ("u", "p", "q", "kept"), [(0.0, 0.0, 0.5, False), (0.6, 0.3, 0.5, False), (0.5999, 0.3, 0.5, True)]
)
def test_a_draft_is_kept_iff_u_q_is_strictly_below_p(u, p, q, kept):
    assert accept(u, p, q) is kept


def test_a_draft_is_always_kept_where_p_is_at_least_q():
    assert accept(math.nextafter(1, 0), 0.5, 0.5)
    assert accept(math.nextafter(1, 0), 0.5, 0.1)


def test_the_residual_is_what_the_target_is_still_owed():
    owed, mass = residual(P, Q)
    assert owed.tolist() == [1.0, 0.0, 0.0]
    assert mass == pytest.approx(0.3, abs=1e-15)
    owed, mass = residual(Q, P)
    assert owed.tolist() == pytest.approx([0.0, 2 / 3, 1 / 3], abs=1e-15)


def test_the_residual_keeps_its_shape_when_the_laws_nearly_agree():
    p, q = P.clone(), P.clone()
    q[0] -= 1e-12
    q[2] += 1e-12
    owed, mass = residual(p, q)
    assert owed.tolist() == [1.0, 0.0, 0.0]
    assert mass == pytest.approx(1e-12, rel=1e-3)


def test_a_residual_without_mass_falls_back_to_the_target():
    owed, mass = residual(P, P)
    assert mass == 0.0
    assert torch.equal(owed, P)
