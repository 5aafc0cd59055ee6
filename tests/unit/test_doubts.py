"""The bounds that no machine breaks: each has a made measurement that breaks it, and a control that does not."""

from __future__ import annotations

from copy import deepcopy

import pytest

from specviz import Trace, decode, load_pair
from specviz.record import doubts
from specviz.record.doubts import ONCE
from specviz.timing import Spread

ROWS = 17


def costs(target=None, spread=0.01, disturbed=None, draft=2.0, rest=1.0):
    """Costs whose bounds lie `spread` of each figure to either side."""
    target = target or [20.0 + rows / 4 for rows in range(ROWS)]
    return {
        "target_ms": target,
        "draft_ms": draft,
        "rest_ms": rest,
        "timing": {
            "rounds": 9,
            "target_low": [ms * (1 - spread) for ms in target],
            "target_high": [ms * (1 + spread) for ms in target],
            "draft_low": draft * (1 - spread),
            "draft_high": draft * (1 + spread),
            "rest_low": rest * (1 - spread),
            "rest_high": rest * (1 + spread),
            "waited": 0.0,
            "disturbed": disturbed,
        },
    }


def run(tokens=40, k=4):
    """A real run of the toy, with times that a real pair could have: 16 ms of forwards and 4 of the rest a step."""
    data = deepcopy(decode(load_pair("toy"), "1 15 42", k=k, max_new_tokens=tokens).data)
    for step in data["steps"]:
        step["ms"] = {"draft": 6.0, "verify": 10.0, "rest": 4.0, "step": 20.0}
    return data


def with_race(data, ratio, spread=0.02, disturbed=None):
    """The run beside a plain loop that makes the measured speedup `ratio`."""
    spent = sum(step["ms"]["step"] for step in data["steps"])
    tokens = data["steps"][-1]["totals"]["tokens"]
    return {
        **data,
        "baseline": {
            "tokens": tokens,
            "ms": ratio * spent,
            "token_ids": [1] * tokens,
            "timing": {
                "rounds": 3,
                "low": ratio * (1 - spread),
                "high": ratio * (1 + spread),
                "waited": 0.0,
                "disturbed": disturbed,
            },
        },
    }


def falling(rows, by):
    target = costs()["target_ms"]
    return [ms * (1 - by) if number == rows else ms for number, ms in enumerate(target, start=1)]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (costs(), None),
        (costs(falling(5, 0.20)), "5 rows took 16.8 ms and one over 1 row 20 ms"),  # v below 1
        (costs(falling(5, 0.04)), None),  # beyond neither spread nor what medians wander by
        (costs(falling(17, 0.12)), "17 rows took"),  # v above 1, but below that of fewer rows
        (costs(falling(5, 0.20), spread=0.15), None),  # the spreads reach so far
        (costs(disturbed="other work"), "other work"),
        (costs([0.0] * ROWS), "no time"),
        (costs(draft=-1.0), "no time"),
        ({"target_ms": [20.0] * ROWS, "draft_ms": 2.0, "rest_ms": 1.0}, ONCE),
        ({"target_ms": falling(5, 0.20), "draft_ms": 2.0, "rest_ms": 1.0}, "more rows are never cheaper"),
    ],
)
def test_a_pass_over_more_rows_is_never_cheaper(given, why):
    found = doubts.doubt_of_costs(given)
    assert found is None if why is None else found and why in found


def test_no_speedup_is_above_the_tokens_that_a_target_pass_gave():
    data = run()
    per_pass = Trace(data).metrics["tokens_per_pass"]
    for ratio, spread, in_doubt in (
        (per_pass * 0.9, 0.02, False),
        (per_pass * 1.2, 0.02, True),
        (per_pass * 1.2, 0.25, False),  # the spread reaches below: that it is wide is said elsewhere
    ):
        figures = Trace(with_race(data, ratio, spread)).metrics
        assert figures["speedup_measured"] == pytest.approx(ratio)
        assert ("tokens that a target pass gave" in str(figures["speedup_measured_doubt"])) == in_doubt
    once = with_race(data, per_pass * 1.2)
    del once["baseline"]["timing"]
    assert "tokens that a target pass gave" in Trace(once).metrics["speedup_measured_doubt"]


def test_a_steps_parts_are_no_larger_than_the_step():
    data = with_race(run(), 1.2)
    assert Trace(data).metrics["speedup_measured_doubt"] is None
    data["steps"][2]["ms"]["verify"] = 30.0
    assert Trace(data).metrics["speedup_measured_doubt"] == "the parts of step 3 took longer than the step"
    data["steps"][2]["ms"] = {"draft": 0.0, "verify": 0.0, "rest": 0.0, "step": 0.0}
    assert "step 3 took no time" in Trace(data).metrics["speedup_measured_doubt"]


def test_a_measurement_that_was_disturbed_or_made_once_is_in_doubt():
    data = run()
    assert Trace(with_race(data, 1.2, disturbed="busy")).metrics["speedup_measured_doubt"] == "busy"
    once = with_race(data, 1.2)
    del once["baseline"]["timing"]
    figures = Trace(once).metrics
    assert figures["speedup_measured_doubt"] == ONCE
    assert figures["speedup_measured_low"] is figures["speedup_measured_high"] is None


def test_model_and_clock_that_contradict_each_other_are_both_in_doubt():
    data = run() | {"costs": costs()}
    modelled = Trace(data).metrics["speedup_modelled"]
    for ratio, in_doubt in ((modelled, False), (modelled * 1.1, False), (modelled * 0.7, True)):
        figures = Trace(with_race(data, ratio, spread=0.001)).metrics
        assert (figures["speedup_measured_doubt"] is not None) == in_doubt
        assert (figures["speedup_modelled_doubt"] is not None) == in_doubt
    wide = Trace(with_race(run() | {"costs": costs(spread=0.3)}, modelled * 0.7, spread=0.001)).metrics
    assert wide["speedup_modelled_doubt"] is None
    assert doubts.doubt_of_both(Spread(1.0, 0.9, 1.1), Spread(1.3, 1.29, 1.31)) is not None
    assert doubts.doubt_of_both(Spread(1.0, 0.9, 1.1), Spread(1.3, 1.2, 1.31)) is None


def test_the_modelled_speedup_comes_with_the_bounds_of_its_costs():
    data = run() | {"costs": costs(spread=0.05)}
    figures = Trace(data).metrics
    low, value, high = (figures[f"speedup_modelled{what}"] for what in ("_low", "", "_high"))
    assert low < value < high
    assert 0.05 < (high - low) / 2 / value < 0.1  # one row and one step, 5 % each or less
    assert figures["speedup_measured_low"] is None
    wider = Trace(run() | {"costs": costs(spread=0.1)}).metrics
    assert wider["speedup_modelled_low"] < low
