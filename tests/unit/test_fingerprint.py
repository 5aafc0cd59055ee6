"""A run's fingerprint: equal outcomes give the same, and a different one says from which step on."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from specviz import Trace, decode, load_pair
from specviz.record.fingerprint import CHECKPOINTS, WHOLE, fingerprint
from specviz.record.html import facts


@pytest.fixture(scope="module")
def trace() -> Trace:
    return decode(load_pair("toy"), "1 15 42", k=4, max_new_tokens=120, seed=3)


def copy(trace: Trace) -> dict[str, Any]:
    return json.loads(trace.to_json())


def parted_at(one: str, other: str) -> int:
    """The first checkpoint at which two fingerprints differ."""
    pairs = zip(CHECKPOINTS, one[WHOLE + 1 :], other[WHOLE + 1 :], strict=False)
    return next(step for step, mine, theirs in pairs if mine != theirs)


def test_it_is_short_and_safe_in_a_link(trace: Trace) -> None:
    assert re.fullmatch(r"[\w-]{8}\.[\w-]{33,45}", fingerprint(trace.data))
    assert len("x" * (WHOLE + 1)) + len(CHECKPOINTS) < 60


def test_the_numbers_behind_an_outcome_do_not_change_it_and_an_outcome_does(trace: Trace) -> None:
    again = decode(load_pair("toy"), "1 15 42", k=4, max_new_tokens=120, seed=3)
    assert again.data["run_id"] != trace.data["run_id"]
    assert fingerprint(again.data) == fingerprint(trace.data)
    nudged = copy(trace)
    nudged["steps"][2]["drafts"][0]["p"] *= 1 + 1e-9
    assert fingerprint(nudged) == fingerprint(trace.data)


@pytest.mark.parametrize("step", [1, 7, 30])
def test_two_runs_part_where_their_outcomes_do(trace: Trace, step: int) -> None:
    other = copy(trace)
    other["steps"][step - 1]["final"]["id"] += 1
    assert parted_at(fingerprint(trace.data), fingerprint(other)) == step
    assert fingerprint(trace.data)[:WHOLE] != fingerprint(other)[:WHOLE]


def test_a_discarded_draft_and_the_reason_for_stopping_count_too(trace: Trace) -> None:
    other = copy(trace)
    step = next(step for step in other["steps"] if step["drafts"][-1]["state"] == "discarded")
    step["drafts"][-1]["id"] += 1
    assert fingerprint(other) != fingerprint(trace.data)
    assert fingerprint(trace.data | {"stop": "stopped"}) != fingerprint(trace.data)


def test_the_player_is_told_the_checkpoints() -> None:
    assert tuple(json.loads(facts())["checkpoints"]) == CHECKPOINTS
