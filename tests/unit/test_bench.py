"""The bench without a clock: which way its ratios point, which K it calls best, in which order it measures."""

import dataclasses
import json
from types import SimpleNamespace

import pytest

from specviz import load_pair
from specviz.__main__ import main
from specviz.decoding.sampling import Sampling
from specviz.speed.bench import bench, table
from specviz.speed.bench import loops as measuring
from specviz.speed.bench.engines import Clock, Recorder, Tape, Timed, Workload, speculative_loop
from specviz.speed.bench.forwards import Forwards, candidates, possible
from specviz.speed.bench.loops import GENERATE, PLAIN, Measured, assisted, floor, same_draft, speculative
from specviz.speed.bench.ratios import figures

PROMPT = [1, 15, 42]
WORK = Workload(Sampling(), 24, 7)
COSTS = Forwards({1: 10.0, 3: 11.0, 5: 12.0}, 1.0)
KEYS = {
    *("engine_overhead", "vs_floor", "vs_plain_loop", "vs_transformers_generate", "vs_transformers_assisted"),
    *("acceptance", "tokens_per_pass", "draft_cost", "verify_cost", "best_k", "possible", "of_possible"),
}


def run(tokens, ms, passes=10, acceptance=0.5, forwards_ms=0.0):
    """A timed run whose trace says what it is told to."""
    times = {"draft": forwards_ms / 2, "verify": forwards_ms / 2, "rest": 0.0, "step": 1.0}
    trace = SimpleNamespace(data={"steps": [{"ms": times}]}, metrics={"acceptance_examined": acceptance})
    return Timed(tokens, ms, passes, trace)


def measured():
    """One prompt: ours 100 tokens a second at K 4 and 125 at K 2, the plain loop 80, generate 40, assisted 50."""
    runs = {
        PLAIN: [Timed(80, 1000.0, 80)],
        speculative(2): [run(100, 800.0, 50)],
        speculative(4): [run(100, 1000.0, 50, forwards_ms=900.0)],
        floor(4): [Timed(100, 900.0, 50)],
        GENERATE: [Timed(40, 1000.0, 40)],
        assisted(4): [Timed(50, 1000.0, 25)],
    }
    return Measured([2, 4], runs=runs, costs=[COSTS])


def median(figure):
    return figure["median"]


def test_a_ratio_of_speeds_is_above_one_where_ours_is_faster():
    report = figures(measured(), 4)
    assert report["best_k"] == 2
    assert median(report["vs_plain_loop"]) == pytest.approx(125 / 80)  # at the best K
    assert median(report["vs_transformers_generate"]) == pytest.approx(80 / 40)
    assert median(report["vs_transformers_assisted"]) == pytest.approx(100 / 50)  # at K
    assert median(report["vs_floor"]) == pytest.approx(0.9)
    assert median(report["engine_overhead"]) == pytest.approx(0.1)
    assert median(report["tokens_per_pass"]) == 2
    assert (median(report["draft_cost"]), median(report["verify_cost"])) == (0.1, 1.2)
    could = (1 + 0.5 + 0.25) / (2 * 0.1 + 1.1)
    assert median(report["possible"]) == pytest.approx(could)
    assert median(report["of_possible"]) == pytest.approx(125 / 80 / could)


def test_transformers_is_compared_with_the_loop_that_ran_its_draft():
    record = measured()
    record.runs[same_draft(4)] = [run(75, 1000.0)]
    assert median(figures(record, 4)["vs_transformers_assisted"]) == pytest.approx(75 / 50)


def test_what_was_not_measured_or_ended_at_once_is_none():
    record = measured()
    del record.runs[assisted(4)]
    record.runs[GENERATE] = [Timed(7, 100.0, 7)]
    report = figures(record, 4)
    assert report["vs_transformers_assisted"] is None and report["vs_transformers_generate"] is None


def test_the_closed_form_counts_what_forwards_cost():
    assert possible(0.5, 4, COSTS) == pytest.approx((1 - 0.5**5) / 0.5 / (4 * 0.1 + 1.2))
    assert possible(0.5, 0, COSTS) == 1
    flat = Forwards(dict.fromkeys(range(1, 18), 10.0), 1.0)
    assert candidates(0.0, flat) == [0, 1]
    assert candidates(1.0, flat) == [15, 16]
    best = max(range(17), key=lambda k: possible(0.6, k, flat))
    assert candidates(0.6, flat) == [best - 1, best, best + 1]


def test_the_loops_take_turns(monkeypatch):
    order = []

    def loop(name):
        def timed(prompt, work):
            order.append((prompt[0], name))
            return {name: Timed(work.tokens, 1.0, work.tokens)}

        return timed

    monkeypatch.setattr(measuring, "_loops", lambda *_: [loop(name) for name in "abc"])
    monkeypatch.setattr(measuring, "_warm_up", lambda *_: 0.0)
    record = measuring.measure(load_pair("toy"), [[1], [2], [3], [4]], 4, WORK, lambda text: None)
    turns = ["".join(name for prompt, name in order if prompt == number) for number in (1, 2, 3, 4)]
    assert turns == ["abc", "bca", "cab", "abc"]
    assert all(len(record.runs[name]) == len(record.costs) == 4 for name in "abc")


def test_the_floor_does_the_forwards_of_the_run_and_no_others():
    pair = load_pair("toy")
    tape = Tape(pair)
    timed = speculative_loop(tape.pair, 4, PROMPT, WORK)
    again = []

    def recorded(number, model):
        return dataclasses.replace(model, cursor=lambda: Recorder(model.cursor(), number, again))

    tape._models = [recorded(number, model) for number, model in enumerate(tape._models)]
    assert tape.replay() > 0
    assert again == tape._calls
    target = [(call, arguments) for number, call, arguments in again if number == 0]
    assert sum(call == "extend" and arguments[1] > 0 for call, arguments in target) == timed.passes
    length = 0
    for call, arguments in target:
        length = min(length, *arguments) if call == "rollback" else length + len(arguments[0])
    assert length == len(PROMPT) + timed.tokens - 1  # the last token was not read yet


def test_the_first_pass_of_transformers_is_not_counted():
    clock = Clock()
    clock.tokens, clock.times = [9, 3, 2, 4], [0.0, 1.0, 1.5, 2.0]  # the prompt, then three passes
    assert clock.timed() == Timed(6, 1000.0, 2)


def test_the_command_prints_and_writes_the_figures(tmp_path, capsys):
    file = tmp_path / "b.json"
    assert main(["bench", "--pair", "toy", "--max-new-tokens", "9", "--json", str(file)]) == 0
    printed = capsys.readouterr()
    report = json.loads(file.read_text())
    assert set(report) >= KEYS and set(report["tiny"]) >= KEYS
    assert (report["k"], report["tokens"], report["prompts"], report["tiny"]["prompts"]) == (4, 9, 8, 8)
    assert printed.out.splitlines() == list(table(report))
    assert report["vs_transformers_assisted"] is None and "Transformers can't run this pair" in printed.out
    assert report["tiny"]["vs_transformers_assisted"]["low"] > 0
    assert "8 of 8 prompts done" in printed.err


def test_a_bench_without_drafting_is_refused(capsys):
    assert main(["bench", "--pair", "toy", "-k", "0"]) == 2
    assert "K must be at least 1" in capsys.readouterr().err


def test_the_loops_get_the_options(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "specviz.speed.bench.measure", lambda pair, prompts, k, work, _: seen.append((k, work))
    )
    monkeypatch.setattr("specviz.speed.bench.figures", lambda *_: {})
    bench(load_pair("toy"), k=2, sampling=Sampling(0.5, 3, 0.9), tokens=11, seed=5)
    assert seen == [(2, Workload(Sampling(0.5, 3, 0.9), 11, 5))] * 2
