"""The sweep measures few cells well: blocks whose loops take turns, and advice only where cells differ."""

from __future__ import annotations

import pytest

from specviz import Sampling, decode, load_pair
from specviz.speed import sweep
from specviz.speed.contest import FEWEST
from specviz.speed.sweep import Cell, Task, best_cells, blocks
from specviz.timing import Spread

ORDER = [(0.0, (2, 1)), (1.0, (2, 1))]
TASK = Task("1 15 42", Sampling(top_p=0.9), seed=3, chat=None, tokens=16)


def cells_of(rounds):
    return {(cell.temperature, cell.k): cell for cells in rounds for cell in cells}


def test_each_cell_is_the_run_that_its_k_and_temperature_name():
    pair = load_pair("toy")
    measured = cells_of(sweep.sweep(pair, TASK, lambda: True, ORDER))
    assert list(measured) == [(temperature, k) for temperature, ks in ORDER for k in ks]
    for (temperature, k), cell in measured.items():
        run = decode(
            pair, TASK.prompt, k=k, max_new_tokens=16, seed=3, sampling=Sampling(temperature, 0, 0.9)
        )
        assert cell.tokens_per_pass == run.metrics["tokens_per_pass"]
        assert cell.speedup and 0 < cell.speedup.low <= cell.speedup.median <= cell.speedup.high


def test_a_blocks_loops_take_turns_and_no_cell_is_shown_before_there_are_enough_rounds(monkeypatch):
    asked = []
    plain, speculative = sweep.start_plain, sweep.start

    def start_plain(*given, **options):
        asked.append("plain")
        return plain(*given, **options)

    def start(*given, **options):
        asked.append(options["k"])
        return speculative(*given, **options)

    monkeypatch.setattr(sweep, "start_plain", start_plain)
    monkeypatch.setattr(sweep, "start", start)
    yielded = []
    for cells in sweep.sweep(load_pair("toy"), TASK, lambda: True, ORDER[:1]):
        yielded.append((len(cells), asked.count("plain")))
    rounds = asked.count("plain")
    assert asked == [1, *["plain", 2, 1] * rounds]  # the first warms up
    assert [at for cells, at in yielded if cells] == list(range(FEWEST, rounds + 1))
    assert sum(not cells for cells, _ in yielded) >= 16 * rounds  # whoever waits hears after every step


def test_a_sweep_that_is_stopped_keeps_what_had_enough_rounds():
    whole = len(list(sweep.sweep(load_pair("toy"), TASK, lambda: True, ORDER[:1])))
    asked = 0

    def may_go_on():
        nonlocal asked
        asked += 1
        return asked < 60 * (whole + FEWEST - 1)

    measured = cells_of(sweep.sweep(load_pair("toy"), TASK, may_go_on, ORDER * 3))
    assert all(cell.tokens == 16 for cell in measured.values())
    assert list(sweep.sweep(load_pair("toy"), TASK, lambda: False, ORDER)) == []
    answers = iter([True] * 30 + [False] * 1000)
    assert cells_of(sweep.sweep(load_pair("toy"), TASK, lambda: next(answers), ORDER)) == {}


def test_runs_too_short_to_be_timed_have_no_speedup():
    short = Task("1 15 42", Sampling(), seed=3, chat=None, tokens=5)
    measured = cells_of(sweep.sweep(load_pair("toy"), short, lambda: True, [(0.8, (2,))]))
    (cell,) = measured.values()
    assert cell.speedup is None
    assert cell.tokens_per_pass >= 1


def test_every_cell_is_in_one_block_and_the_usual_k_come_first():
    order = blocks()
    assert sorted((k, t) for t, ks in order for k in ks) == sorted(
        (k, t) for k in sweep.KS for t in sweep.TEMPERATURES
    )
    assert {ks for _, ks in order[: len(sweep.TEMPERATURES)]} == {(1, 2, 4, 8)}


def cell(k, temperature, speedup, off=0.02, doubt=None):
    spread = Spread(speedup, speedup - off, speedup + off) if speedup else None
    return Cell(k, temperature, 16, 2.0, spread, doubt)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_fastest_cell_and_those_that_its_spread_does_not_part_from_it(reverse):
    measured = [
        cell(1, 0.0, 1.2), cell(4, 0.0, 1.6), cell(8, 0.0, 1.58), cell(2, 0.0, None), cell(16, 0.0, 9.9, doubt="busy"),
        cell(1, 1.0, 0.9), cell(4, 1.0, 0.7), cell(1, 1.2, 1.4, doubt="busy"),
    ]  # fmt: skip
    best = best_cells(measured[::-1] if reverse else measured)
    assert {at: [each.k for each in cells] for at, cells in best.items()} == {0.0: [4, 8], 1.0: [1]}
    assert best_cells([cell(2, 0.0, None)]) == {}


def test_a_cell_above_its_own_tokens_per_pass_is_in_doubt(monkeypatch):
    monkeypatch.setattr(sweep.Contest, "ratio", lambda self, k: Spread(9.0, 8.9, 9.1))
    measured = cells_of(sweep.sweep(load_pair("toy"), TASK, lambda: True, [(0.8, (2,))]))
    assert "tokens that a target pass gave" in measured[0.8, 2].doubt
