"""The formulas against the papers' own tables and figures of known machines."""

from __future__ import annotations

import pytest

from specviz.errors import SpecVizError
from specviz.record.metrics import ideal_speedup
from specviz.speed.hardware import (
    CACHE_8B,
    CACHE_70B,
    MACHINES,
    Machine,
    Model,
    bytes_held,
    bytes_moved,
    bytes_read,
    cache_bytes,
    draft_cost,
    free_rows,
    intensity,
    machine_from,
    machines_needed,
    operations,
    pass_seconds,
    plain_tokens_per_s,
    speculative_tokens_per_s,
)
from specviz.theory import best_k, break_even, expected_tokens, kept_so_far, operations_factor, speedup

BY_NAME = {machine.name: machine for machine in MACHINES}
H100 = BY_NAME["NVIDIA H100 SXM"]
LLAMA_70B = Model(70e9, 16)
LLAMA_8B = Model(8.03e9, 16)


@pytest.mark.parametrize(
    ("alpha", "k", "expected"),
    [
        (0.5, 4, 1.9375), (0.6, 4, 2.3056), (0.7, 4, 2.7731), (0.8, 1, 1.8), (0.8, 2, 2.44), (0.8, 3, 2.952), (0.8, 4, 3.3616),
        (0.8, 5, 3.6893), (0.8, 7, 4.1611), (0.8, 10, 4.5705), (0.9, 4, 4.0951), (0.95, 4, 4.5244), (1, 4, 5), (0, 4, 1), (0.7, 0, 1),
    ],
)  # fmt: skip
def test_the_expected_tokens_are_those_of_the_closed_form(alpha, k, expected):
    assert expected_tokens(alpha, k) == pytest.approx(expected, abs=5e-5)


def test_the_closed_form_is_one_more_than_the_sum_of_the_chances_to_come_that_far():
    for alpha in (0, 0.3, 0.8, 1):
        assert 1 + sum(kept_so_far(alpha, 6)) == pytest.approx(expected_tokens(alpha, 6), abs=1e-12)
    assert kept_so_far(0.5, 0) == []


# Leviathan, Table 2 and 4: K, alpha and c of each row, and the speedup that Theorem 3.8 predicts there
TABLE = [
    (7, 0.75, 0.02, 3.2), (7, 0.80, 0.04, 3.3), (7, 0.82, 0.11, 2.5), (7, 0.62, 0.02, 2.3), (5, 0.68, 0.04, 2.4), (3, 0.71, 0.11, 2.0),
    (5, 0.65, 0.02, 2.4), (5, 0.73, 0.04, 2.6), (3, 0.74, 0.11, 2.0), (5, 0.53, 0.02, 1.9), (3, 0.55, 0.04, 1.8), (3, 0.56, 0.11, 1.6),
]  # fmt: skip


@pytest.mark.parametrize(("k", "alpha", "c", "predicted"), TABLE)
def test_the_ideal_speedup_is_what_the_paper_predicts_for_its_own_pairs(k, alpha, c, predicted):
    assert speedup(alpha, k, c) == pytest.approx(predicted, abs=0.075)  # alpha and c stand there rounded


# research table: K* and its speedup for alpha (rows) and c (columns .02 .05 .1 .2 .3 .5)
COSTS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
OPTIMA = {
    0.5: [(4, 1.79), (3, 1.63), (2, 1.46), (1, 1.25), (1, 1.15), (0, 1.00)],
    0.6: [(6, 2.17), (4, 1.92), (3, 1.67), (2, 1.40), (1, 1.23), (1, 1.07)],
    0.7: [(8, 2.76), (6, 2.35), (4, 1.98), (3, 1.58), (2, 1.37), (1, 1.13)],
    0.8: [(11, 3.82), (8, 3.09), (6, 2.47), (4, 1.87), (3, 1.55), (2, 1.22)],
    0.9: [(19, 6.37), (13, 4.67), (10, 3.43), (7, 2.37), (5, 1.87), (3, 1.38)],
}


@pytest.mark.parametrize("alpha", OPTIMA)
def test_the_best_k_and_its_speedup_are_those_of_the_table(alpha):
    found = [best_k(alpha, c, most=40) for c in COSTS]
    assert [k for k, _ in found] == [k for k, _ in OPTIMA[alpha]]
    assert [s for _, s in found] == pytest.approx([s for _, s in OPTIMA[alpha]], abs=0.005)


def test_the_best_k_heeds_what_more_rows_cost_and_stops_where_nothing_was_measured():
    assert best_k(0.8, 0.05, most=40)[0] == 8
    dear = [1 + 0.4 * k for k in range(17)]
    assert best_k(0.8, 0.05, dear)[0] == 2
    assert best_k(0.8, 0.05, [1.0, 1.0, 1.0])[0] == 2
    assert best_k(0.2, 0.5, rest=0.5) == (0, 1.0)


# Break-even alpha from E = 1 + v K + c K, for c and v per row (columns K = 1, 2, 4, 8)
@pytest.mark.parametrize(
    ("c", "row", "expected"),
    [
        (0.1, 0.0, [0.10, 0.17, 0.29, 0.44]), (0.2, 0.0, [0.20, 0.31, 0.46, 0.62]), (0.1, 0.12, [0.22, 0.33, 0.48, 0.64]),
        (0.2, 0.12, [0.32, 0.44, 0.59, 0.74]), (0.2, 0.24, [0.44, 0.56, 0.70, 0.81]),
    ],
)  # fmt: skip
def test_the_break_even_acceptance_is_that_of_the_table(c, row, expected):
    found = [break_even(k, c, 1 + row * k) for k in (1, 2, 4, 8)]
    assert found == pytest.approx(expected, abs=0.0051)


def test_where_even_perfect_drafts_do_not_pay_there_is_no_break_even():
    assert break_even(4, 1.0) == pytest.approx(1.0)  # the target as its own draft: never faster
    assert break_even(4, 1.0, rest=0.1) is None


# Leviathan, Table 1 (c = 0): alpha, K, factor of operations, factor of speed; and a pair whose draft is 5 % of the target
@pytest.mark.parametrize(
    ("alpha", "k", "draft", "factor"),
    [(0.6, 2, 0, 1.53), (0.7, 3, 0, 1.58), (0.8, 2, 0, 1.23), (0.8, 5, 0, 1.63), (0.9, 2, 0, 1.11), (0.9, 10, 0, 1.60),
     (0.8, 5, 0.05, 1.694), (0.5, 4, 0.09, 2.77)],
)  # fmt: skip
def test_speculation_costs_arithmetic(alpha, k, draft, factor):
    assert operations_factor(alpha, k, draft) == pytest.approx(factor, abs=0.006)


def test_a_trace_whose_steps_are_alike_has_the_ideal_speedup_of_the_formula():
    tokens, k, c = 3.3616, 4, 0.1
    steps = [{"k": k, "totals": {"tokens": tokens}}]
    data = {"steps": steps, "costs": {"target_ms": [20.0] * 17, "draft_ms": 20.0 * c, "rest_ms": 3.0}}
    assert ideal_speedup(data) == pytest.approx(speedup(0.8, k, c), abs=1e-9)


def test_seventy_billion_weights_in_sixteen_bits_are_140_gigabytes_and_an_h100_reads_them_24_times_a_second():
    assert LLAMA_70B.bytes == 140e9
    assert plain_tokens_per_s(H100, LLAMA_70B) == pytest.approx(23.93, abs=0.005)


@pytest.mark.parametrize(
    ("name", "of_70b", "of_8b", "balance"),
    [
        ("NVIDIA A100 80 GB SXM", 14.6, 127, 153), ("NVIDIA H100 SXM", 23.9, 209, 295), ("NVIDIA H200 SXM", 34.3, 299, 206),
        ("AMD Instinct MI300X", 37.9, 330, 247), ("NVIDIA B200", 57.1, 498, 281),
    ],
)  # fmt: skip
def test_the_machines_give_the_bounds_of_the_research(name, of_70b, of_8b, balance):
    machine = BY_NAME[name]
    assert plain_tokens_per_s(machine, LLAMA_70B) == pytest.approx(of_70b, abs=0.06)
    assert plain_tokens_per_s(machine, LLAMA_8B) == pytest.approx(of_8b, abs=0.6)
    assert round(machine.balance) == balance
    assert free_rows(machine, LLAMA_70B) == pytest.approx(machine.balance, rel=1e-9)
    assert machine.source


def test_fewer_bits_make_reading_faster_and_verification_dear_sooner():
    assert [round(free_rows(H100, Model(70e9, bits))) for bits in (16, 8, 4)] == [295, 148, 74]
    assert plain_tokens_per_s(H100, Model(70e9, 4)) == pytest.approx(4 * plain_tokens_per_s(H100, LLAMA_70B))


def test_a_pass_costs_the_same_up_to_the_balance_and_grows_with_its_rows_after_it():
    one, five, many = (pass_seconds(H100, LLAMA_70B, rows) for rows in (1, 5, 590.4))
    assert one == five == pytest.approx(140e9 / 3.35e12)
    assert many == pytest.approx(2 * one, rel=1e-3)
    assert intensity(LLAMA_70B, 5) == pytest.approx(5)


def test_speculation_moves_the_bound_by_theorem_38_while_memory_is_the_limit_and_not_at_all_after():
    plain, with_draft = (
        plain_tokens_per_s(H100, LLAMA_70B),
        speculative_tokens_per_s(H100, LLAMA_70B, LLAMA_8B, 0.8, 4),
    )
    assert with_draft / plain == pytest.approx(speedup(0.8, 4, LLAMA_8B.bytes / LLAMA_70B.bytes), rel=1e-9)
    full = speculative_tokens_per_s(H100, LLAMA_70B, LLAMA_8B, 0.8, 4, batch=512)
    assert full < plain_tokens_per_s(H100, LLAMA_70B, batch=512)


def test_a_hundred_tokens_read_the_weights_a_hundred_times_without_speculation():
    assert bytes_moved(LLAMA_70B, LLAMA_8B, 0.8, 0, 100) == (14e12, 0)
    target, draft = bytes_moved(LLAMA_70B, LLAMA_8B, 0.8, 4, 100)
    assert target == pytest.approx(14e12 / 3.3616, rel=1e-9)
    assert draft == pytest.approx(100 / 3.3616 * 4 * LLAMA_8B.bytes, rel=1e-9)


def test_more_rows_wake_more_experts():
    sparse = Model(100e9, 16, active=0.1)
    assert bytes_read(sparse, 1) == pytest.approx(20e9)
    assert operations(sparse, 3) == pytest.approx(3 * 2 * 10e9)
    assert bytes_read(sparse, 5) == pytest.approx(200e9 * (1 - 0.9**5))
    assert bytes_read(sparse, 1000) == pytest.approx(200e9)
    machine = Machine("slow", 1e12, 50e12, "")
    assert pass_seconds(machine, sparse, 5) > 4 * pass_seconds(machine, sparse, 1)
    rows = free_rows(machine, sparse)
    assert intensity(sparse, rows) == pytest.approx(machine.balance)
    assert free_rows(Machine("hungry", 1e12, 0.5e12, ""), sparse) == 1
    assert free_rows(Machine("hungry", 1e12, 0.5e12, ""), LLAMA_70B) == 1


def test_a_token_of_the_cache_is_a_key_and_a_value_in_every_layer():
    assert cache_bytes(1, 1, 1) == 4  # two numbers of two bytes
    assert (CACHE_70B, CACHE_8B) == (327_680, 131_072)  # Llama 3.1: 80 and 32 layers, 8 heads of 128
    assert cache_bytes(80, 8, 128, bits=8) == 327_680 / 2


def test_a_pass_reads_the_cache_of_every_text_once_and_weights_once_for_all():
    model = Model(1e9, 16, cache=1e6)
    assert bytes_read(model, 5, cached=3000) == 2e9 + 3e9
    assert bytes_read(model, 1, cached=3000) == bytes_read(model, 5, cached=3000)
    machine = Machine("slow", 1e9, 1e15, "")
    assert pass_seconds(machine, model, 5, 3000) == 5
    assert plain_tokens_per_s(machine, model, batch=3, context=1000) == 3 / 5
    draft = Model(0.5e9, 16, cache=0.5e6)
    # K = 1, three texts of 1000: a draft pass of 1 + 1.5 s, a target pass of 2 + 3 s, 1 + alpha tokens for each
    found = speculative_tokens_per_s(machine, model, draft, 0.5, 1, batch=3, context=1000)
    assert found == pytest.approx(3 * 1.5 / 7.5)
    assert draft_cost(machine, model, draft, batch=3, context=1000) == 0.5
    assert bytes_moved(model, draft, 0.5, 1, 3, context=1000) == pytest.approx((2 * 3e9, 2 * 1.5e9))
    assert free_rows(Machine("m", 1.0, 10.0, ""), model, 2000) == pytest.approx(10 * 4e9 / 2e9)


def test_an_overhead_comes_on_top_of_every_pass_and_weighs_most_on_the_smallest():
    machine = machine_from("mine", 1, 1e3, "", overhead_ms=500)
    target, draft = Model(2e9, 8), Model(0.5e9, 8)
    assert pass_seconds(machine, target, 1) == 2.5
    assert draft_cost(machine, target, draft) == 1.0 / 2.5
    found = speculative_tokens_per_s(machine, target, draft, 1.0, 2)
    assert found == pytest.approx(3 / (2 * 1.0 + 2.5))


def test_memory_holds_all_weights_and_a_cache_of_each_model_for_each_text():
    target, draft = Model(70e9, 16, active=0.1, cache=300e3), Model(8e9, 16, cache=100e3)
    assert bytes_held((target, draft), batch=2, context=1000) == 140e9 + 16e9 + 2 * 1000 * 400e3
    assert bytes_held((target,)) == 140e9
    assert [machines_needed(80e9, held) for held in (1, 80e9, 80.1e9, 160e9, 161e9)] == [1, 1, 2, 2, 3]


def test_every_machine_of_the_list_says_how_much_memory_it_has():
    gigabytes = [machine.memory / 1e9 for machine in MACHINES]
    assert gigabytes == [80, 80, 141, 180, 192, 24, 24]
    assert all(
        f"{each.memory / 1e9:.0f} GB" in each.source for each in MACHINES if each.name != "NVIDIA B200"
    )
    assert 8 * BY_NAME["NVIDIA B200"].memory == 1440e9
    assert "1,440 GB" in BY_NAME["NVIDIA B200"].source
    assert {each.eight_bit for each in MACHINES} == {2}


@pytest.mark.parametrize(
    "wrong", [{"gigabytes": 0}, {"gigabytes": -1}, {"overhead_ms": -1}, {"overhead_ms": float("nan")}]
)
def test_a_machine_with_no_memory_or_an_overhead_below_zero_is_refused(wrong):
    with pytest.raises(SpecVizError, match="must"):
        machine_from("mine", 1, 1, "", **wrong)


@pytest.mark.parametrize(("bandwidth", "peak"), [(0, 1), (1, 0), (-1, 1), (float("nan"), 1)])
def test_a_machine_without_bandwidth_or_peak_is_refused(bandwidth, peak):
    with pytest.raises(SpecVizError, match="above 0"):
        machine_from("mine", bandwidth, peak, "")
