"""A race in rounds: what one disturbed pass changes, when it is over, and what a trace keeps of it."""

from __future__ import annotations

import pytest

from specviz import Sampling, decode, load_pair, race
from specviz.decoding.options import RunOptions
from specviz.decoding.plain import begin_plain
from specviz.decoding.run import begin
from specviz.speed import contest
from specviz.speed.contest import FEWEST, MOST, UNSTEADY, Contest, Lane, settled
from specviz.speed.cores import Lap

QUIET, BUSY = Lap(10.0, 0.0), Lap(10.0, 9.0)


def step_of(ms, tokens):
    return {
        "ms": {"draft": ms / 4, "verify": ms / 2, "rest": ms / 4, "step": ms},
        "totals": {"tokens": tokens, "target_passes": 1, "draft_passes": 4},
    }


class Told:
    """Laps as a test wants them, in place of the machine's."""

    def __init__(self, laps):
        self.laps = iter(laps)

    def begin(self):
        pass

    def lap(self):
        return next(self.laps, QUIET)


def played(rounds, laps=()):
    """A contest of K = 4: of each round the milliseconds of the plain passes and of the speculative steps, two tokens each."""
    held = Contest([4])
    held._cores = Told(laps)
    for plain, speculative in rounds:
        times = [sum(plain[: i + 1]) for i in range(len(plain))]
        seen = []

        def tokens(times=times, seen=seen):
            for ms in times:
                seen.append(ms)
                yield 7

        list(held.plain_steps(tokens(), seen))
        list(held.steps((step_of(ms, 2 * i + 2) for i, ms in enumerate(speculative)), 4))
        held.keep()
    return held


def test_rounds_that_agree_give_their_ratio_and_no_doubt():
    held = played([([10.0] * 4, [12.0, 8.0])] * FEWEST)
    assert held.ratio(4) == (2.0, 2.0, 2.0)
    assert held.is_over()
    assert held.timing(4) == {"rounds": 3, "low": 2.0, "high": 2.0, "waited": 0.0, "disturbed": None}


def test_a_disturbed_pass_counts_with_the_quiet_median_of_the_same_pass():
    laps = [BUSY if number == 1 else QUIET for number in range(100)]
    rounds = [([10.0, 500.0, 10.0, 10.0], [12.0, 8.0]), *[([10.0] * 4, [12.0, 8.0])] * 2]
    held = played(rounds, laps)
    assert held.ratio(4) == (2.0, 2.0, 2.0)
    assert held.timing(4)["disturbed"] is None
    unseen = played(rounds)  # the control: had nobody seen it, its rounds would differ
    assert unseen.timing(4)["disturbed"].startswith("from round to round it was 2.00× to")


def test_a_pass_that_was_never_undisturbed_leaves_the_race_in_doubt():
    laps = [BUSY if number % 6 == 1 else QUIET for number in range(100)]
    held = played([([10.0] * 4, [12.0, 8.0])] * MOST, laps)
    assert held.timing(4)["disturbed"] == "other work kept the computing from the cores for 15% of the time"


def test_rounds_that_differ_go_on_until_enough_were_run():
    rounds = [([10.0] * 4, [12.0 + number, 8.0]) for number in range(MOST)]
    assert not played(rounds[:2]).is_over()
    assert not played(rounds[:FEWEST]).is_over()
    assert played(rounds).is_over()


def test_the_fewest_rounds_are_run_and_no_more_once_the_time_is_up(monkeypatch):
    monkeypatch.setattr(contest, "BUDGET_S", -1.0)
    rounds = [([10.0] * 4, [12.0 + number, 8.0]) for number in range(FEWEST)]
    assert not played(rounds[: FEWEST - 1]).is_over()
    assert played(rounds).is_over()
    assert played(rounds[:1]).timing(4)["disturbed"] == f"only 1 of {FEWEST} rounds were run"


def test_rounds_with_other_passes_are_not_compared():
    held = played([([10.0] * 4, [12.0, 8.0]), ([10.0] * 4, [12.0]), ([10.0] * 4, [12.0, 8.0])])
    assert held.is_over()
    assert held.timing(4)["disturbed"] == UNSTEADY


def test_a_round_that_was_not_kept_is_forgotten():
    lane = Lane()
    lane.add(5.0, QUIET)
    lane.begin()
    lane.add(7.0, QUIET)
    lane.keep()
    assert lane.rounds == [[(7.0, QUIET)]]


def test_a_race_is_the_run_with_the_times_of_its_median_rounds():
    pair, options = load_pair("toy"), RunOptions(k=3, max_new_tokens=12, sampling=Sampling(0.9), seed=5)
    held, runs = Contest([3]), []
    for number in range(3):
        runs.append(begin(pair, "1 15 42", options))
        for step in held.steps(runs[-1], 3):
            whole = float([9, 1, 5][number])
            step["ms"].update({"draft": whole / 2, "verify": whole / 4, "rest": whole / 4, "step": whole})
        plain = begin_plain(pair.target, "1 15 42", options)
        list(held.plain_steps(plain, plain.ms))
        held.speculative[3]._passes = [(float([9, 1, 5][number]), QUIET)] * len(runs[-1].trace.data["steps"])
        held.keep()
    timed = settled(runs[0].trace.data, plain.token_ids, held)
    assert {step["ms"]["step"] for step in timed["steps"]} == {5.0}
    assert {step["ms"]["draft"] for step in timed["steps"]} == {2.5}
    assert timed["baseline"]["token_ids"] == plain.token_ids
    assert timed["baseline"]["timing"]["rounds"] == 3


def test_the_public_race_runs_both_loops_and_says_how_well_it_knows():
    pair = load_pair("toy")
    timed = race(pair, "1 15 42", k=3, max_new_tokens=12, seed=5)
    alone = decode(pair, "1 15 42", k=3, max_new_tokens=12, seed=5)
    assert timed.token_ids == alone.token_ids
    baseline = timed.data["baseline"]
    assert baseline["tokens"] == 12
    assert baseline["timing"]["rounds"] >= FEWEST
    figures = timed.metrics
    assert figures["speedup_measured_low"] <= figures["speedup_measured"] <= figures["speedup_measured_high"]
    assert all(str(token) in timed.data["tokens"] for token in baseline["token_ids"])
    with pytest.raises(Exception, match="prompt is empty"):
        race(pair, " ")
