"""The Speed tab: what is measured, what is recorded and what is neither; curves from theory; refusals."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from specviz import Trace, theory
from specviz.errors import SpecVizError
from specviz.page.gallery import entries, open_recorded
from specviz.page.server.shelf import Shelf
from specviz.page.settings import read_settings
from specviz.page.speed import lab as speed_lab
from specviz.page.speed.charts import (
    map_figure,
    passes_figure,
    positions_figure,
    speedup_figure,
    tokens_figure,
)
from specviz.page.speed.lab import OUTPUTS, SWEPT, SpeedLab
from specviz.page.speed.words import Timing, advice, shares_kept, sweep_panel, timing_of, verdict
from specviz.speed.sweep import KS, TEMPERATURES, Cell
from specviz.timing import Spread
from tests.unit.test_doubts import costs

ME = SimpleNamespace(session_hash="me")
COSTS = costs([20.0 + rows for rows in range(17)], spread=0.005)


@pytest.fixture
def shelf():
    return Shelf()


@pytest.fixture
def recorded():
    return open_recorded(entries()[0].name)


def toy_run(shelf: Shelf, tokens: int = 12) -> Trace:
    """A toy run with what the page's handlers do to it."""
    from specviz.page.step.handlers import Handlers
    from specviz.page.updates import OUTPUTS

    values = read_settings("1 15 42", "toy", "model", 4, 0.8, 0, 1, tokens, 7, None, 0.9)
    pair = shelf.pair(values.pair, values.draft, values.agreement)
    *_, last = Handlers(shelf)._decode("me", values, pair, "key")
    return last[OUTPUTS.index("shown")]


def cards(update, names=OUTPUTS):
    return {card["title"]: card for card in json.loads(update[names.index("cards")])["cards"]}


def opened(lab, trace, seen=None, sliders=(0.8, 0.05, 4)):
    seen, *update = lab.open(trace, seen, *sliders)
    return seen, tuple(update)


def value(update, name):
    return update[OUTPUTS.index(name)]


def status(update, names=OUTPUTS):
    return json.loads(update[names.index("status")])


# --- measured, recorded, neither


def test_what_a_trace_brings_along_is_called_recorded_and_what_this_process_did_measured(shelf, recorded):
    assert timing_of(recorded.data, shelf).where == "recorded, not measured here"
    shelf.made.append(recorded.data["run_id"])
    assert timing_of(recorded.data, shelf).here
    shelf.made.clear()
    shelf._costs["smollm2-135m", "smollm2-135m-draft"] = COSTS
    timing = timing_of(recorded.data, shelf)
    assert (timing.here, timing.c, timing.rest, timing.verify[4]) == (True, 0.1, 0.05, 1.2)
    _, update = opened(SpeedLab(shelf), recorded)
    assert cards(update)["c, a draft forward"]["tone"] == "measured"
    assert cards(update)["recorded speedup"]["tone"] in ("recorded", "disturbed")
    assert cards(update)["c, a draft forward"]["value"] == "0.10"


@pytest.mark.parametrize(
    "costs",
    [
        None, {}, {"target_ms": [1.0] * 16, "draft_ms": 1, "rest_ms": 1}, {"target_ms": [0.0] * 17, "draft_ms": 1, "rest_ms": 1},
        {"target_ms": ["x"] * 17, "draft_ms": 1, "rest_ms": 1}, {"target_ms": [1.0] * 17, "draft_ms": -1, "rest_ms": 1},
    ],
)  # fmt: skip
def test_a_trace_without_usable_timings_has_not_been_measured_yet(shelf, recorded, costs):
    trace = Trace({**recorded.data, "costs": costs, "baseline": None})
    assert timing_of(trace.data, shelf) is None
    _, update = opened(SpeedLab(shelf), trace)
    shown = cards(update)
    assert [
        shown[title]["value"] for title in ("c, a draft forward", "o, the rest of a step", "measured speedup")
    ] == [None] * 3
    assert value(update, "passes")["visible"] is False
    assert "not been measured yet" in json.loads(value(update, "cards"))["lines"][0]
    assert value(update, "c") == 0.05


def test_without_a_run_the_curves_stand_for_an_example(shelf):
    seen, update = opened(SpeedLab(shelf), None)
    assert seen is None
    assert "No run is on screen yet" in json.loads(value(update, "cards"))["lines"][0]
    assert (value(update, "alpha"), value(update, "c"), value(update, "k")) == (0.8, 0.05, 4)
    assert value(update, "measure")["interactive"] is False


def test_a_run_brings_the_sliders_its_values_and_leaves_moved_ones_alone(shelf, recorded):
    lab = SpeedLab(shelf)
    seen, update = opened(lab, recorded)
    own = tuple(value(update, name) for name in ("alpha", "c", "k"))
    alpha, timing = recorded.metrics["acceptance_examined"], timing_of(recorded.data, shelf)
    assert own == (round(alpha, 2), round(timing.c, 2), 4)
    _, again = opened(lab, recorded, seen, (0.3, own[1], own[2]))
    assert value(again, "alpha") == 0.3
    shelf._costs["smollm2-135m", "smollm2-135m-draft"] = (
        COSTS  # timings came in, and the sliders stand where they stood
    )
    _, later = opened(lab, recorded, seen, own)
    assert value(later, "c") == 0.1


def test_the_toy_has_no_forwards_to_time_and_says_so(shelf):
    trace = toy_run(shelf)
    lab = SpeedLab(shelf)
    _, update = opened(lab, trace)
    assert json.loads(value(update, "cards"))["lines"] == ["The toy has no forwards to time."]
    assert cards(update)["measured speedup"]["value"] is None
    (refused,) = lab.measure(ME, trace)
    said = status(refused)
    assert (said["text"], said["tone"]) == (
        "The toy has no forwards to time. Run another pair first.",
        "error",
    )


def test_a_run_that_drafted_nothing_has_no_acceptance(shelf, recorded):
    steps = [{**step, "k": 0, "drafts": []} for step in recorded.data["steps"][:3]]
    trace = Trace({**recorded.data, "steps": steps, "settings": {**recorded.data["settings"], "k": 0}})
    _, update = opened(SpeedLab(shelf), trace)
    assert cards(update)["acceptance, α"]["value"] == "–"
    assert value(update, "positions")["visible"] is False


def test_a_deliberate_mistake_is_named(shelf, recorded):
    trace = Trace({**recorded.data, "settings": {**recorded.data["settings"], "fault": "F2"}})
    _, update = opened(SpeedLab(shelf), trace)
    assert "deliberate mistake (F2)" in status(update)["text"]


# --- theory


def test_the_shares_that_kept_the_first_drafts_and_one_make_the_tokens_of_full_steps():
    def step(*states):
        return {"k": len(states), "drafts": [{"state": state} for state in states]}

    a, r, d = "accepted", "rejected", "discarded"
    steps = [step(a, a), step(a, r), step(r, d), step(a, a)]
    assert shares_kept(steps) == [0.75, 0.5]
    assert 1 + sum(shares_kept(steps)) == (3 + 2 + 1 + 3) / 4
    assert shares_kept([*steps, step(a)]) == [0.8, 0.5]  # a step cut short counts where it had a draft
    assert shares_kept([]) == []


def test_the_verdict_is_that_of_the_formulas():
    def timing(row=20.0, more=20.0, rest=0.0, spread=0.0):
        return Timing(costs([row] + [more] * 16, spread, rest=rest), True, "here")

    (line,) = verdict(0.8, 0.05, 4, None)
    assert "K = 4 gives 2.80×" in line
    assert "The best is K = 8: 3.09×." in line
    (line,) = verdict(0.3, 0.5, 4, timing(rest=10.0))
    assert "slower than plain decoding" in line
    assert "No K pays" in line
    (line,) = verdict(0.9, 1.0, 4, timing(more=30.0, rest=10.0))
    assert "never pays" in line
    (line,) = verdict(0.8, 0.05, 4, timing(spread=0.05))
    assert "The best is K = 8: 3.09×, but K 5 to 13 are alike here" in line
    (line,) = verdict(0.4, 0.3, 1, timing(spread=0.1))
    assert "as fast as plain decoding, for all that was measured" in line
    assert "No K is faster than plain decoding by more than these timings scatter." in line
    (line,) = verdict(0.0, 0.0, 4, None)
    assert "K = 4 gives 1.00×" in line
    assert "as fast as plain decoding" in line


def test_the_figures_hold_the_formulas_values():
    tokens = tokens_figure(0.8, 4, None)
    assert tokens.data[0].y[4] == pytest.approx(3.3616)
    verify = [ms / 20 for ms in COSTS["target_ms"]]
    lines = speedup_figure(0.8, 0.1, verify, 0.05, 4, None).data
    assert lines[0].y[3] == pytest.approx(3.3616 / 1.4)
    assert lines[1].y[3] == pytest.approx(3.3616 / (0.4 + 1.2 + 0.05))
    best = theory.best_k(0.8, 0.1, verify, 0.05)
    assert (lines[3].x[0], lines[3].y[0]) == best
    bounds, line = passes_figure(COSTS, 4).data[:2]
    assert line.y[4] == pytest.approx(1.2)
    assert bounds.y[12:14] == pytest.approx((1.2 * 0.995, 1.2 * 1.005))
    surface = map_figure(4, 1.2, 0.05, (0.8, 0.1), None).data[0]
    assert surface.z[5][40] == pytest.approx(3.3616 / 1.65, abs=1e-3)
    bars, dots = positions_figure([0.6, 0.5], 0.7).data
    assert list(bars.y) == [0.6, 0.5]
    assert list(dots.y) == pytest.approx([0.7, 0.49])


@pytest.mark.parametrize(
    ("sliders", "complaint"),
    [((2, 0.1, 4), "acceptance"), ((0.5, -1, 4), "c must be"), ((0.5, 0.1, 0), "K must be"), ((0.5, 0.1, 17), "K must be"), ((None, 0.1, 4), "acceptance")],
)  # fmt: skip
def test_values_out_of_range_are_refused_in_a_sentence(shelf, sliders, complaint):
    with pytest.raises(SpecVizError, match=complaint):
        SpeedLab(shelf).explore(None, *sliders)


# --- measuring and the sweep


def test_measuring_measures_in_this_process_and_shows_it(shelf, recorded, monkeypatch):
    def measured(pair):
        yield 0.5
        return COSTS

    monkeypatch.setattr("specviz.page.server.shelf.measure_in_rounds", measured)
    pair = SimpleNamespace(name="smollm2-135m", draft_name="smollm2-135m-draft", draft_kind="model")
    monkeypatch.setattr(shelf, "lines_until_loaded", lambda name: iter(["Loading."]))
    monkeypatch.setattr(shelf, "pair", lambda *_: pair)
    updates = list(SpeedLab(shelf).measure(ME, recorded))
    assert status(updates[0])["text"] == "Loading."
    assert cards(updates[-1])["c, a draft forward"]["notes"][-1] == "measured here, in this process"
    assert shelf._turn.acquire(blocking=False)  # the turn was given back


def test_a_draft_that_is_not_the_traces_is_not_measured_for_it(shelf, recorded, monkeypatch):
    pair = SimpleNamespace(name="smollm2-135m", draft_name="other", draft_kind="model")
    monkeypatch.setattr(shelf, "lines_until_loaded", lambda name: iter(()))
    monkeypatch.setattr(shelf, "pair", lambda *_: pair)
    (refused,) = SpeedLab(shelf).measure(ME, recorded)
    assert "smollm2-135m-draft, is not here" in status(refused)["text"]


@pytest.mark.parametrize(
    ("prompt", "tokens", "complaint"),
    [("", 32, "prompt is empty"), ("1 2", 0, "from 16 to 64"), ("1 2", -5, "from 16 to 64"), ("1 2", 10**9, "from 16 to 64"), ("1 2", None, "from 16 to 64"),
     ("hello", 32, "")],
)  # fmt: skip
def test_a_sweep_that_cannot_be_done_is_refused_and_the_button_comes_back(shelf, prompt, tokens, complaint):
    lab = SpeedLab(shelf)
    trace = toy_run(shelf)
    *_, last = lab.sweep(ME, trace, prompt, tokens)
    assert status(last, SWEPT)["tone"] == "error"
    assert complaint in status(last, SWEPT)["text"]
    assert last[SWEPT.index("sweep")]["visible"] is True
    *_, last = lab.sweep(ME, None, "1 2", 32)
    assert "No run is on screen yet" in status(last, SWEPT)["text"]
    unknown = Trace({**trace.data, "settings": {**trace.data["settings"], "pair": "<b>nowhere"}})
    *_, last = lab.sweep(ME, unknown, "1 2", 32)
    assert "There is no pair" in status(last, SWEPT)["text"]


def test_a_sweep_fills_the_table_and_what_was_measured_stays_after_a_stop(shelf):
    lab = SpeedLab(shelf)
    trace = toy_run(shelf)
    *_, last = lab.sweep(ME, trace, "1 15 42", 16)
    grid = json.loads(last[SWEPT.index("grid")])["grid"]
    assert [len(row["cells"]) for row in grid["rows"]] == [len(KS)] * len(TEMPERATURES)
    assert all(cell["text"] != "·" for row in grid["rows"] for cell in row["cells"])
    assert "32 of 32 cells measured." in status(last, SWEPT)["text"]

    events = lab.sweep(ME, trace, "1 15 42", 16)
    for event in events:
        if "4 of 32" in event[0]:
            lab.stop(ME)
            break
    *_, last = events
    assert status(last, SWEPT)["text"] == "4 of 32 cells measured: stopped by you."
    texts = [
        cell["text"] for row in json.loads(last[SWEPT.index("grid")])["grid"]["rows"] for cell in row["cells"]
    ]
    assert sum(text != "·" for text in texts) == 4


def test_a_sweep_ends_with_its_minute(shelf, monkeypatch):
    monkeypatch.setattr(speed_lab, "SWEEP_S", 0.0)
    lab = SpeedLab(shelf)
    *_, last = lab.sweep(ME, toy_run(shelf), "1 15 42", 16)
    assert status(last, SWEPT)["text"] == "0 of 32 cells measured: the minute was over."


def test_one_visitor_does_one_thing_at_a_time_and_others_are_not_refused(shelf):
    lab = SpeedLab(shelf)
    trace = toy_run(shelf)
    sweeping = lab.sweep(ME, trace, "1 15 42", 16)
    next(sweeping)
    with pytest.raises(SpecVizError, match="A sweep is going on: stop it, or wait"):
        next(shelf.claimed("me", "A run", iter([1])))
    assert next(shelf.claimed("you", "A run", iter([1]))) == 1
    running = shelf.claimed("them", "A run", iter([1, 2]))
    next(running)
    (refused,) = lab.sweep(SimpleNamespace(session_hash="them"), trace, "1 15 42", 16)
    assert "A run is going on" in status(refused, SWEPT)["text"]
    sweeping.close()
    running.close()
    assert list(shelf.claimed("me", "A run", iter([1]))) == [1]


def test_the_table_frames_the_fastest_of_each_temperature_and_says_which_k_to_use():
    def cell(k, temperature, speedup, off=0.02, doubt=None):
        spread = Spread(speedup, speedup - off, speedup + off) if speedup else None
        return Cell(k, temperature, 32, 2.0, spread, doubt)

    measured = [
        cell(1, 0.0, 1.2), cell(2, 0.0, 1.7), cell(4, 0.0, 21.09, doubt="more than its tokens per pass"), cell(4, 0.8, 0.8),
        cell(2, 0.8, None), cell(2, 0.4, 1.30), cell(3, 0.4, 1.32), cell(4, 0.4, 1.31), cell(1, 0.4, 1.1),
        cell(1, 1.2, 9.0, doubt="busy"),
    ]  # fmt: skip
    grid = json.loads(sweep_panel(measured, is_toy=False))["grid"]
    framed = {
        (row["head"], column)
        for row in grid["rows"]
        for column, cell in zip(grid["columns"], row["cells"], strict=True)
        if cell["best"]
    }
    assert framed == {("0", "K 2"), ("0.4", "K 3")}  # at 0.8 the plain loop was faster
    assert {cell["text"] for row in grid["rows"] for cell in row["cells"]} >= {"disturbed", "1.70×", "–"}
    assert advice(measured, False) == [
        "At temperature 0 use K = 2: 1.70× the plain loop. At temperature 0.4 K 2 to 4 are alike here, about 1.32× the plain loop. "
        "At temperature 0.8 no K paid: the plain loop was faster. At temperature 1.2 the measurements were disturbed: sweep again."
    ]
    assert advice([cell(2, 0.8, 1.01)], False) == [
        "At temperature 0.8 no K differs from the plain loop by more than its spread."
    ]
    assert advice([], False) == []


def test_costs_in_doubt_give_no_best_k_and_no_break_even(shelf, recorded):
    shelf._costs["smollm2-135m", "smollm2-135m-draft"] = costs(disturbed="other work had the cores")
    _, update = opened(SpeedLab(shelf), recorded)
    card = cards(update)["v, a pass over 5 rows"]
    assert card["value"].startswith("~ ") and card["notes"][-1] == "disturbed: measure again"
    assert "in doubt: other work had the cores" in json.loads(value(update, "cards"))["lines"][0]
    (said,) = json.loads(value(update, "verdict"))["lines"]
    assert "in doubt" in said and "K = 4 gives" not in said
    assert not any(trace.marker.symbol == "star" for trace in value(update, "speedup").data)
    own = value(update, "c")
    *_, moved = SpeedLab(shelf).moved(recorded, 0.8, own + 0.1, 4)  # a c of one's own is nobody's measurement
    assert "K = 4 gives" in json.loads(moved)["lines"][0] and "v = 1, o = 0" in moved


def test_a_measured_speedup_in_doubt_is_no_verdict(shelf, recorded):
    data = {**recorded.data, "baseline": {**recorded.data["baseline"], "ms": 1e6}}
    _, update = opened(SpeedLab(shelf), Trace(data))
    card = cards(update)["recorded speedup"]
    assert card["value"].startswith("~ ") and card["tone"] == "disturbed"
    assert "tokens that a target pass gave" in card["notes"][0]
    assert not any("recorded:" in str(note.text) for note in value(update, "speedup").layout.annotations)
