"""What a pair's forwards cost, and when that is in doubt."""

import itertools

import pytest

from specviz import load_pair, measure_costs
from specviz.record.doubts import doubt_of_costs
from specviz.speed import costs
from specviz.speed.cores import Lap


@pytest.fixture
def quick(monkeypatch):
    """A machine whose pass over R rows takes 20 + R ms, in no time, with a lap that a test may change."""
    told = {"lap": lambda: Lap(20.0, 0.0), "ms": lambda rows: 20.0 + rows}

    class Told:
        def begin(self):
            pass

        def lap(self):
            return told["lap"]()

    monkeypatch.setattr(costs, "Cores", Told)
    monkeypatch.setattr(costs, "BUDGET_S", 0.05)
    monkeypatch.setattr(costs.Reader, "pass_ms", lambda reader, rows: told["ms"](rows))
    monkeypatch.setattr(costs, "_rest_ms", lambda *_: [(2.0, told["lap"]())])
    return told


def test_medians_of_rounds_with_their_bounds(quick):
    calls = itertools.count()
    quick["ms"] = lambda rows: 20.0 + rows + (next(calls) // 21 % 2) / 10  # every other round 0.1 ms more
    measured = measure_costs(load_pair("toy"))
    timing = measured["timing"]
    assert timing["rounds"] >= costs.FEWEST
    assert timing["target_low"][0] == 21.0 and timing["target_high"][0] == 21.1
    assert 21.0 <= measured["target_ms"][0] <= 21.1
    assert (measured["draft_ms"] >= 21.0, measured["rest_ms"]) == (True, 2.0)
    assert doubt_of_costs(measured) is None


def test_what_disturbs_the_machine_for_a_moment_changes_no_figure(quick):
    calls, lapsed = itertools.count(), itertools.count()
    quick["ms"] = lambda rows: 900.0 if 45 <= next(calls) < 70 else 20.0 + rows
    quick["lap"] = lambda: Lap(20.0, 19.0 if 40 <= next(lapsed) < 75 else 0.0)
    measured = measure_costs(load_pair("toy"))
    assert measured["target_ms"] == [20.0 + rows for rows in range(1, 18)]
    assert measured["timing"]["target_high"] == measured["target_ms"]
    assert measured["timing"]["disturbed"] is None
    assert 0 < measured["timing"]["waited"] < 1


def test_a_machine_that_is_never_quiet_gives_costs_in_doubt(quick):
    quick["lap"] = lambda: Lap(20.0, 5.0)
    measured = measure_costs(load_pair("toy"))
    assert (
        measured["timing"]["disturbed"] == "other work kept the computing from the cores for 25% of the time"
    )
    assert doubt_of_costs(measured) == measured["timing"]["disturbed"]


def test_rounds_that_differ_give_costs_in_doubt_though_nobody_waited(quick):
    calls = itertools.count()
    quick["ms"] = lambda rows: (20.0 + rows) * (1 + next(calls) // 21 % 3)
    measured = measure_costs(load_pair("toy"))
    assert measured["timing"]["disturbed"].startswith("from round to round a pass over one row took")


def test_whoever_waits_hears_after_every_forward_how_far_it_is(quick):
    shares = list(costs.measure_in_rounds(load_pair("toy")))
    assert len(shares) >= (costs.FEWEST + 1) * 19
    assert all(0 < share <= 1 for share in shares)
    assert shares[-1] == 1
    assert shares[0] < 0.05


def test_the_real_thing_on_the_toy(monkeypatch):
    monkeypatch.setattr(costs, "BUDGET_S", 0.2)
    measured = measure_costs(load_pair("toy"))
    assert len(measured["target_ms"]) == 17
    assert all(
        low <= ms <= high
        for low, ms, high in zip(
            measured["timing"]["target_low"],
            measured["target_ms"],
            measured["timing"]["target_high"],
            strict=True,
        )
    )
    assert measured["rest_ms"] > 0
