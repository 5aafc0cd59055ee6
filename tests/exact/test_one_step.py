"""The exactness lab's numbers: the law computed from the rules is the enumerated one, and throws tell it from a mistake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from specviz import EXACT, Sampling, SpecVizError, decode, load_pair
from specviz.decoding.sampling import residual
from specviz.exactness.enumeration import enumerate_step, shortened
from specviz.exactness.faults import FAULTS
from specviz.exactness.findings import in_table
from specviz.exactness.one_step import (
    FOUR_TOKENS,
    LATER_TOKENS,
    WHOLE_LOGITS,
    WHOLE_VOCABULARY,
    Position,
    cannot_show,
    check_position,
    check_table,
    first_token,
    position_of_laws,
    position_of_row,
    position_of_toy,
    table_of,
)
from specviz.exactness.worlds import FOUR, FOUR_DRAFT, PROMPT, START, P, Q, table_pair

TRIALS = 100_000
HOT = Sampling(1.0)
TOO_SMALL_TO_SEE = {"clamped-residual"}
UNCHANGED_AT_TEMPERATURE_1 = {
    "tested-at-temperature-1", "drawn-at-temperature-1", "target-at-temperature-1", "drop-unsure-draft",
}  # fmt: skip


def rules_of(name: str | None) -> Any:
    return FAULTS[name].rules if name else EXACT


def examined_rows() -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Rows of a toy run's examined drafts, each with the last two tokens before it."""
    trace = decode(load_pair("toy"), "1 15 42", k=4, max_new_tokens=40, sampling=HOT, seed=3)
    text = list(trace.data["prompt"]["ids"])
    for step in trace.data["steps"]:
        drafted = [draft["id"] for draft in step["drafts"]]
        for index, draft in enumerate(step["drafts"]):
            if draft["coin"] is not None:
                yield draft["row"], [*text, *drafted[:index]][-2:]
        accepted = [draft["id"] for draft in step["drafts"] if draft["state"] == "accepted"]
        text += [*accepted, step["final"]["id"]]


@pytest.mark.parametrize("name", [None, *FAULTS])
def test_the_law_from_the_rules_is_the_one_of_the_real_loop(name: str | None) -> None:
    how = FAULTS[name].sampling if name else HOT
    for p, q in ((P, Q), (FOUR, FOUR_DRAFT)):
        found = enumerate_step(table_pair(p, q), PROMPT, k=1, sampling=how, rules=rules_of(name))
        own = position_of_laws(p[START], q[START])
        position = Position(own.target, own.draft, how, own.cell_of, own.ids)
        law = first_token(position, rules_of(name))
        first = shortened(found.law, 1)
        expected = [first.get((token,), 0.0) for token in range(len(p[START]))]
        assert law.kept + law.drawn == pytest.approx(expected, abs=1e-12)


def test_what_a_row_of_a_trace_leaves_out_is_one_cell_with_the_recorded_sums() -> None:
    rows = [row for row, _ in examined_rows()]
    assert any(row["p_rest"] > 0.05 for row in rows)
    for row in rows:
        check = check_position(position_of_row(row), EXACT)
        assert check.bias < 1e-9
        rest = [check.target[-1], check.draft[-1], check.kept[-1]]
        assert rest == pytest.approx([row["p_rest"], row["q_rest"], row["overlap_rest"]], abs=2e-4)


@pytest.mark.parametrize(
    ("name", "close"),
    [(None, 1e-4), ("resample-from-p", 1e-4), ("absolute-difference", 1e-4), ("lenience-0.5", 0.03), ("sample-or-coin", 0.03)],
)  # fmt: skip
def test_a_trace_s_row_gives_the_law_that_the_whole_row_gives(name: str | None, close: float) -> None:
    """The toy's whole rows are known, so the law with everything else in one cell can be compared with the true one."""
    for row, last_two in list(examined_rows())[:12]:
        lumped = check_position(position_of_row(row), rules_of(name))
        whole = check_position(position_of_toy(" ".join(map(str, last_two)), 0.9, HOT), rules_of(name))
        shown = [whole.law[token] for token in row["ids"]]
        assert lumped.law[:-1] == pytest.approx(shown, abs=close)
        assert lumped.bias <= whole.bias + close


@pytest.mark.parametrize("name", [None, *(name for name in FAULTS if name not in LATER_TOKENS)])
def test_throws_are_inside_the_band_unless_the_law_is_wrong(name: str | None) -> None:
    position = position_of_toy("1 15 42", 0.9, Sampling(1.0, 0, 0.9))
    check = check_position(position, rules_of(name), TRIALS, seed=5)
    assert check.throws is not None
    right = (
        name is None or FAULTS[name].exact or name in TOO_SMALL_TO_SEE or name in UNCHANGED_AT_TEMPERATURE_1
    )
    assert check.throws.inside == right
    assert (check.bias < 1e-9) == (right and name not in TOO_SMALL_TO_SEE)
    assert check.throws.distance == pytest.approx(check.bias, abs=0.02)


@pytest.mark.parametrize("name", [None, *FAULTS])
def test_the_table_shows_what_the_enumeration_found(name: str | None) -> None:
    check = check_table(FAULTS[name] if name else None, TRIALS, seed=4)
    assert check.throws is not None and sum(check.target) == pytest.approx(1) == pytest.approx(sum(check.law))
    right = name is None or FAULTS[name].exact or name in TOO_SMALL_TO_SEE
    assert check.throws.inside == right
    assert (check.bias < 1e-9) == (right and name not in TOO_SMALL_TO_SEE)


def test_a_mistake_that_a_place_can_t_show_says_where_it_can_be_seen() -> None:
    whole = position_of_toy("1", 0.9, HOT)
    row, _ = next(examined_rows())
    for name, fault in FAULTS.items():
        on_trace = cannot_show(fault, position_of_row(row))
        assert (on_trace is None) == (name not in (*LATER_TOKENS, *WHOLE_LOGITS, *WHOLE_VOCABULARY))
        assert (cannot_show(fault, whole) is None) == (name not in LATER_TOKENS)


def test_places_without_a_draft_law_and_bad_prompts_are_refused() -> None:
    with pytest.raises(SpecVizError, match="no draft law"):
        position_of_row(
            {"ids": [1], "p": [1.0], "q": None, "p_rest": 0.0, "q_rest": None, "overlap_rest": None}
        )
    for prompt in ("", "  ", "a b", "100"):
        with pytest.raises(SpecVizError, match="toy's prompt"):
            position_of_toy(prompt, 0.9, HOT)


def test_a_one_hot_law_needs_no_stand_ins() -> None:
    row = {"ids": [4, 7], "p": [1.0, 0.0], "q": [0.0, 1.0], "p_rest": 0.0, "q_rest": 0.0, "overlap_rest": 0.0}
    check = check_position(position_of_row(row), EXACT, 100)
    assert check.cells == (4, 7) and check.law.tolist() == [1.0, 0.0]
    assert check.throws is not None and check.throws.distance == 0 and np.isfinite(check.throws.band).all()


def test_a_million_throws_of_rows_with_a_large_vocabulary_are_counted_right() -> None:
    generator = torch.Generator().manual_seed(1)
    p = torch.rand(3000, generator=generator, dtype=torch.float64).softmax(-1)
    own = position_of_laws(p.tolist(), p.flip(0).tolist())
    cells = Position(own.target, own.draft, own.sampling, np.arange(3000) // 30, tuple(range(100)))
    check = check_position(cells, EXACT, 1_000_000, seed=1)
    assert check.throws is not None and check.throws.inside and check.throws.shares.sum() == pytest.approx(1)


def test_a_right_sampler_is_told_from_one_that_is_a_little_off() -> None:
    """A mistake of 0.02 in 100,000 throws of the toy: a bound that is twice as wide as need be explains it by chance."""
    toy = position_of_toy("1 15 42", 0.9, HOT)
    own = EXACT.target_law(toy.target, HOT)
    crumbs = torch.full_like(own, 1 / len(own))
    rules = replace(
        EXACT,
        name="a-little-uniform",
        residual=lambda p, q, rejected: (0.96 * residual(p, q)[0] + 0.04 * crumbs, 1.0),
    )
    check = check_position(toy, rules, TRIALS, seed=1)
    assert check.throws is not None and 0.008 < check.bias < 0.02
    assert not check.throws.inside and check_position(toy, EXACT, TRIALS, seed=1).throws.inside  # type: ignore[union-attr]


def test_four_tokens_are_taken_for_the_mistakes_that_three_do_not_show_and_for_no_other() -> None:
    hidden = {
        name
        for name, fault in FAULTS.items()
        if not fault.exact and in_table("three tokens", P, Q, fault).exact
    }
    assert hidden == {*FOUR_TOKENS}
    for name, fault in FAULTS.items():
        assert table_of(fault)[0] == ("four tokens" if name in FOUR_TOKENS else "three tokens")
