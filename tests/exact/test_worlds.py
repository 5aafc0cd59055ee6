"""The three-token tables: every figure of a step is known as a fraction, and the loop gives it to twelve decimals."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from specviz import Sampling
from specviz.decoding.recording import Side, overlaps
from specviz.decoding.sampling import residual
from specviz.exactness.enumeration import continued, enumerate_step, table_law, total_variation
from specviz.exactness.worlds import FOUR, FOUR_DRAFT, PROMPT, START, P, Q, fixture_pair, table_pair
from specviz.theory import expected_tokens

HOT = Sampling(1.0)
STEP_LAW = {
    (0,): 0.3,
    (1, 1): 0.075,
    (1, 2): 0.015,
    (0, 0): 0.06,
    (2, 2): 0.08,
    (0, 0, 0): 0.036,
    (0, 0, 1): 0.018,
    (0, 0, 2): 0.006,
    (0, 1, 0): 0.012,
    (0, 1, 1): 0.03,
    (0, 1, 2): 0.018,
    (0, 2, 0): 0.002,
    (0, 2, 1): 0.004,
    (0, 2, 2): 0.014,
    (1, 0, 0): 0.036,
    (1, 0, 1): 0.018,
    (1, 0, 2): 0.006,
    (1, 1, 0): 0.015,
    (1, 1, 1): 0.0375,
    (1, 1, 2): 0.0225,
    (1, 2, 0): 0.0075,
    (1, 2, 1): 0.015,
    (1, 2, 2): 0.0525,
    (2, 0, 0): 0.012,
    (2, 0, 1): 0.006,
    (2, 0, 2): 0.002,
    (2, 1, 0): 0.008,
    (2, 1, 1): 0.02,
    (2, 1, 2): 0.012,
    (2, 2, 0): 0.006,
    (2, 2, 1): 0.012,
    (2, 2, 2): 0.042,
}


def test_the_law_of_a_step() -> None:
    law = enumerate_step(fixture_pair(), PROMPT, k=2, sampling=HOT).law
    # A text of probability 1e-17 may stand there as well: the rounding of a p that equals q.
    for text in {*law, *STEP_LAW}:
        assert law.get(text, 0.0) == pytest.approx(STEP_LAW.get(text, 0.0), abs=1e-12)


def test_the_figures_of_a_step() -> None:
    """Accepted drafts, accepted / drafted, accepted / examined, tokens a pass, as the trace's own metrics count them."""

    def counts(trace) -> tuple[int, ...]:
        figures = trace.metrics
        return tuple(figures[name] for name in ("accepted", "examined", "drafted", "tokens"))

    law = enumerate_step(fixture_pair(), PROMPT, k=2, sampling=HOT, outcome=counts).law
    mean = [sum(weight * numbers[i] for numbers, weight in law.items()) for i in range(4)]
    accepted, examined, drafted, tokens = mean
    lengths = [sum(w for numbers, w in law.items() if numbers[0] == n) for n in range(3)]
    assert lengths == pytest.approx([0.30, 0.23, 0.47], abs=1e-12)
    assert tokens == pytest.approx(2.17, abs=1e-12)
    assert accepted / drafted == pytest.approx(0.585, abs=1e-12)
    assert accepted / examined == pytest.approx(1.17 / 1.70, abs=1e-12)
    assert round(accepted / examined, 3) == 0.688


def test_acceptance_by_position() -> None:
    """Of all steps .70 keep their first draft and .47 both; of those that examine the second, .671 keep it."""

    def positions(trace) -> tuple[int, ...]:
        return tuple(count["accepted"] for count in trace.metrics["acceptance_by_position"])

    law = enumerate_step(fixture_pair(), PROMPT, k=2, sampling=HOT, outcome=positions).law
    first, second = (sum(w for kept, w in law.items() if kept[i]) for i in range(2))
    assert (first, second) == pytest.approx((0.70, 0.47), abs=1e-12)
    assert round(second / first, 3) == 0.671


def test_the_rows_overlap_and_owe_what_they_should() -> None:
    rows = {last: [torch.tensor(table[last], dtype=torch.float64) for table in (P, Q)] for last in P}
    p, q = (Side(torch.stack([rows[last][side] for last in (START, 0, 1, 2)])) for side in (0, 1))
    assert overlaps(p, q) == pytest.approx([0.7, 0.7, 0.7, 0.6], abs=1e-12)
    law, mass = residual(*rows[START])
    assert law.tolist() == [1.0, 0.0, 0.0] and mass == pytest.approx(0.3, abs=1e-12)
    assert residual(*rows[1])[0].tolist() == pytest.approx([0, 5 / 6, 1 / 6], abs=1e-12)


@pytest.mark.parametrize("k", range(5))
@pytest.mark.parametrize(
    "sampling", [HOT, Sampling(0.5), Sampling(1.0, top_k=2), Sampling(0.7, top_p=0.8)], ids=str
)
def test_a_step_of_any_length_continued_by_the_target_is_the_targets_law(k: int, sampling: Sampling) -> None:
    for p, q in ((P, Q), (FOUR, FOUR_DRAFT)) if k < 3 else ((P, Q),):
        found = enumerate_step(table_pair(p, q), PROMPT, k=k, sampling=sampling)
        own = table_law(p, sampling)
        target = continued({(): 1.0}, own, k + 1)
        assert total_variation(continued(found.law, own, k + 1), target) < 1e-12


def test_alike_positions_give_leviathans_expected_tokens() -> None:
    """Equation (1), with the overlap of the four-token rows, which are the same at every position."""
    alpha = sum(min(p, q) for p, q in zip(FOUR[START], FOUR_DRAFT[START], strict=True))
    for k in range(4):
        found = enumerate_step(table_pair(FOUR, FOUR_DRAFT), PROMPT, k=k, sampling=HOT)
        tokens = sum(weight * len(text) for text, weight in found.law.items())
        assert tokens == pytest.approx(expected_tokens(alpha, k), abs=1e-12)


def test_a_law_that_is_continued_stops_at_an_end_token() -> None:
    own = table_law(P, HOT)
    law = continued({(): 1.0}, own, 3, end_ids={2})
    assert law[2,] == pytest.approx(0.2) and (2, 0, 0) not in law
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    assert set(continued({(): 1.0}, own, 3)) == set(product(range(3), repeat=3))
