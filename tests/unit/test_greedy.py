"""The check at temperature 0: the same text, or a near-tie with both logits, or an error that is called one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from specviz import Sampling, autoregress, decode, load_pair
from specviz.errors import SpecVizError
from specviz.exactness.greedy import Progress, check_greedy, checking
from specviz.exactness.worlds import P, Q, TableCursor, table_model
from specviz.models import pairs
from specviz.models.pairs import Pair, in_float32
from tests.conftest import tiny_pair


def test_the_toy_s_text_is_its_target_s_own() -> None:
    found = check_greedy(load_pair("toy"), "1 15 42", k=5, max_new_tokens=30)
    assert found.equal and found.contest is None and len(found.plain) == 30


def test_a_check_tells_how_far_it_is_first_alone_then_with_the_draft() -> None:
    told = list(checking(load_pair("toy"), "1 15 42", k=5, max_new_tokens=30))
    alone = [each for each in told if not each.with_draft]
    assert alone == [Progress(False, tokens, 30) for tokens in range(1, 31)] and told[:30] == alone
    tokens = [each.tokens for each in told[30:]]
    assert tokens == sorted(set(tokens)) and tokens[-1] == 30 and all(each.with_draft for each in told[30:])


def test_the_same_weights_in_float32() -> None:
    pair = tiny_pair(dtype=torch.bfloat16)
    wide = in_float32(pair)
    assert (pair.target.dtype, wide.target.dtype, wide.draft) == ("bfloat16", "float32", pair.draft)
    ours, theirs = pair.target.model.state_dict(), wide.target.model.state_dict()
    assert ours.keys() == theirs.keys() and all(
        torch.equal(ours[name].float(), theirs[name]) for name in ours
    )
    assert next(pair.target.model.parameters()).dtype == torch.bfloat16
    assert check_greedy(wide, [1, 2, 3], k=3, max_new_tokens=12).equal
    alone = in_float32(tiny_pair(draft="self", dtype=torch.bfloat16))
    assert (
        alone.draft is alone.target
        and in_float32(wide) is wide
        and in_float32(load_pair("toy")).name == "toy"
    )


def test_what_has_no_room_in_float32_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MOST_WIDENED", 1000)
    with pytest.raises(
        SpecVizError, match=r"A copy of tiny-llama in float32 takes .* too much to keep beside it here"
    ):
        in_float32(tiny_pair(dtype=torch.bfloat16))


class Rounding(TableCursor):
    """A cursor whose pass over several rows gives token 1 a little more than a pass over one row does."""

    def __init__(self, table: dict[int, list[float]], more: float) -> None:
        super().__init__(table)
        self._more = more

    def extend(self, ids: Sequence[int], rows: int) -> Tensor:
        logits = super().extend(ids, rows).clone()
        if rows > 1:
            logits[:, 1] += self._more
        return logits


def rounding_pair(gap: float) -> Pair:
    """A pair whose target prefers token 0 by `gap` in one row, and token 1 by as much in several."""
    table = {last: [0.4, 0.4, 0.2] for last in P}
    target = replace(table_model(table, "rounding"), cursor=lambda: Rounding(lean(table, gap), 2 * gap))
    return Pair("rounding", target, table_model(Q, "draft"), "model")


def lean(table: dict[int, list[float]], gap: float) -> dict[int, list[float]]:
    return {last: [row[0] * math.exp(gap), *row[1:]] for last, row in table.items()}


@pytest.mark.parametrize(("gap", "near"), [(1e-4, True), (0.1, False)])
def test_where_the_texts_part_both_logits_are_given(gap: float, near: bool) -> None:
    pair = rounding_pair(gap)
    found = check_greedy(pair, [0], k=3, max_new_tokens=6)
    assert not found.equal and found.contest is not None
    contest = found.contest
    assert (contest.ours, contest.plain, contest.index) == (1, 0, 0) and contest.rows == 4
    assert contest.one_row[1] - contest.one_row[0] == pytest.approx(gap)
    assert contest.many_rows[0] - contest.many_rows[1] == pytest.approx(gap)
    assert contest.near_tie == near


def test_half_precision_allows_two_units_in_the_last_place() -> None:
    pair = rounding_pair(0.1)
    coarse = replace(pair, target=replace(pair.target, dtype="bfloat16"))
    contest = check_greedy(coarse, [0], k=3, max_new_tokens=6).contest
    assert contest is not None and contest.allowed == pytest.approx(2 * 2**-7 * 2**-1)
    assert not contest.near_tie


def test_the_logits_are_those_of_the_run_itself_in_a_later_step() -> None:
    """A model that rounds differently only from the fourth token on: the first three agree, and the run is replayed."""
    table = {-1: [0.9, 0.05, 0.05], 0: [0.1, 0.8, 0.1], 1: [0.1, 0.1, 0.8], 2: [0.4004, 0.4, 0.2]}
    target = replace(table_model(table, "late"), cursor=lambda: Rounding(table, 0.002))
    pair = Pair("late", target, table_model(table, "draft"), "model")
    found = check_greedy(pair, [0], k=4, max_new_tokens=12)
    assert found.contest is not None and found.contest.index == 3 and found.contest.rows == 5
    ours = decode(pair, [0], k=4, max_new_tokens=12, sampling=Sampling(0.0))
    plain = autoregress(pair.target, [0], max_new_tokens=12, sampling=Sampling(0.0))
    assert (found.contest.ours, found.contest.plain) == (ours.token_ids[3], plain["token_ids"][3]) == (1, 0)
    log = [math.log(table[2][token]) for token in (1, 0)]
    assert found.contest.one_row == pytest.approx(log)
    assert found.contest.many_rows == pytest.approx([log[0] + 0.002, log[1]])
