"""The sweep measures every cell against its temperature's plain loop, and keeps what it has when it is stopped."""

from __future__ import annotations

import pytest

from specviz import Sampling, decode, load_pair
from specviz.speed import sweep
from specviz.speed.sweep import Cell, Task, best_cells, cells

ORDER = [(2, 0.0), (2, 1.0), (1, 0.0), (1, 1.0)]
TASK = Task("1 15 42", Sampling(top_p=0.9), seed=3, chat=None, tokens=16)


def test_each_cell_is_the_run_that_its_k_and_temperature_name():
    pair = load_pair("toy")
    measured = list(sweep.sweep(pair, TASK, lambda: True, ORDER))
    assert [(cell.k, cell.temperature) for cell in measured] == ORDER
    for cell in measured:
        run = decode(
            pair,
            TASK.prompt,
            k=cell.k,
            max_new_tokens=16,
            seed=3,
            sampling=Sampling(cell.temperature, 0, 0.9),
        )
        assert cell.tokens_per_pass == run.metrics["tokens_per_pass"]
        assert cell.speedup and cell.speedup > 0


def test_the_plain_loop_is_run_once_a_temperature(monkeypatch):
    asked = []

    def plain(target, prompt, **options):
        asked.append((options["sampling"].temperature, options["max_new_tokens"], options["seed"]))
        return {"tokens": 16, "ms": 1000.0, "token_ids": [0] * 16}

    monkeypatch.setattr(sweep, "autoregress", plain)
    measured = list(sweep.sweep(load_pair("toy"), TASK, lambda: True, ORDER))
    assert asked == [(0.0, 16, 3), (1.0, 16, 3)]
    assert all(cell.speedup > 1 for cell in measured)  # against a plain loop of a whole second


def test_a_sweep_that_is_stopped_keeps_whole_cells_only():
    answers = iter([True] * 25 + [False] * 100)
    measured = list(sweep.sweep(load_pair("toy"), TASK, lambda: next(answers), ORDER))
    assert 0 < len(measured) < len(ORDER)
    assert all(cell.tokens == 16 for cell in measured)
    assert list(sweep.sweep(load_pair("toy"), TASK, lambda: False, ORDER)) == []


def test_runs_too_short_to_be_timed_have_no_speedup():
    short = Task("1 15 42", Sampling(), seed=3, chat=None, tokens=5)
    (cell,) = sweep.sweep(load_pair("toy"), short, lambda: True, [(2, 0.8)])
    assert cell.speedup is None
    assert cell.tokens_per_pass >= 1


def test_every_cell_is_in_the_order_once_and_the_usual_k_come_first():
    order = cells()
    assert sorted(order) == sorted((k, t) for k in sweep.KS for t in sweep.TEMPERATURES)
    assert {k for k, _ in order[: len(sweep.TEMPERATURES)]} == {4}


@pytest.mark.parametrize("reverse", [False, True])
def test_the_best_cell_of_a_temperature_is_the_fastest_and_of_equals_the_smaller_k(reverse):
    measured = [
        Cell(1, 0.0, 16, 1.5, 1.2), Cell(4, 0.0, 16, 2.5, 1.6), Cell(8, 0.0, 16, 3.0, 1.6), Cell(2, 0.0, 16, 2.0, None),
        Cell(1, 1.0, 16, 1.2, 0.9), Cell(4, 1.0, 16, 1.6, 0.7),
    ]  # fmt: skip
    best = best_cells(measured[::-1] if reverse else measured)
    assert [(cell.temperature, cell.k) for cell in best] == [(0.0, 4), (1.0, 1)]
    assert best_cells([Cell(2, 0.0, 5, 2.0, None)]) == []
