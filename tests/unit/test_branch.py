"""What the page's branch and race do behind the browser: what is asked is checked, then really computed."""

import json
from types import SimpleNamespace

import gradio as gr
import pytest

from specviz import Sampling, SpecVizError, Trace, autoregress, decode, load_pair, resume, start
from specviz.decoding import run as decoding_module
from specviz.decoding.plain import start_plain
from specviz.models.toy import ToyCursor
from specviz.page.controls import NAMES
from specviz.page.server.shelf import Shelf
from specviz.page.settings import agreement_in
from specviz.page.step import handlers as handlers_module
from specviz.page.step.branch import loaded, read_branch
from specviz.page.step.handlers import Handlers
from specviz.page.updates import OUTPUTS

PROMPT = "1 15 42"
VISITOR = SimpleNamespace(session_hash="somebody", query_params={})
CHANGE = {"step": 2, "position": 1, "purpose": "accept", "u": 0.999}
CONTROLS = (PROMPT, "toy", "model", 4, 0.8, 0, 1, 24, 7, "as the model expects", 0.9)


@pytest.fixture
def own() -> Trace:
    return decode(load_pair("toy", agreement=0.5), PROMPT, max_new_tokens=24)


@pytest.fixture
def page(monkeypatch) -> Handlers:
    monkeypatch.setattr(handlers_module, "LIVE_EVERY_S", 0.0)
    return Handlers(Shelf())


def asked(own, **change):
    return CHANGE | {"trace": own.to_json()} | change


def event(data):
    """What Gradio makes of the player's `trigger('branch', data)`."""
    return gr.EventData(None, data)


def told(events):
    """The events as dictionaries by output; those left as they are are not in them."""
    return [
        {name: value for name, value in zip(OUTPUTS, event, strict=True) if not is_skip(value)}
        for event in events
    ]


def is_skip(value):
    return isinstance(value, dict) and value.get("__type__") == "update" and len(value) == 1


def lines(shown):
    return [json.loads(each["status"])["text"] for each in shown if "status" in each]


def last_message(shown):
    return json.loads([each["player"] for each in shown if "player" in each][-1])


def without_times(data):
    return [{name: value for name, value in step.items() if name != "ms"} for step in data["steps"]]


# --- what is asked for ---


def test_a_branch_of_an_own_run_of_a_recorded_one_and_of_an_opened_one(own):
    for where, kept in (({"run": own.data["run_id"]}, own), ({"trace": own.to_json()}, None)):
        parent, change = read_branch(CHANGE | where, kept)
        assert parent.data == own.data
        assert change._asdict() == CHANGE
    parent, _ = read_branch(CHANGE | {"recorded": "opening"}, None)
    assert parent.data["settings"]["pair"] == "smollm2-135m"


def nested(depth):
    return [] if depth == 1 else [nested(depth - 1)]


def damaged(trace, path, value):
    data = json.loads(trace.to_json())
    place = data
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (lambda _: None, "could not be read"),
        (lambda _: "{}", "could not be read"),
        (lambda _: [1], "could not be read"),
        (lambda _: CHANGE | {"else": nested(9)}, "could not be read"),
        (lambda _: CHANGE | {"trace": "x" * 4_000_001}, "too large"),
        (lambda _: {"x" * 4_000_001: 1}, "too large"),
        (lambda _: CHANGE | {"else": [0] * 4_000_001}, "too large"),
        (lambda _: CHANGE | {"else": {"deeper": ["x" * 2_000_000] * 3}}, "too large"),
        (lambda _: CHANGE, "did not arrive"),
        (lambda _: CHANGE | {"trace": "/etc/hostname"}, "did not arrive"),
        (lambda _: CHANGE | {"trace": "../gallery/opening.json\n"}, "did not arrive"),
        (lambda _: CHANGE | {"trace": '{"format": 1'}, "not a SpecViz trace"),
        (lambda _: CHANGE | {"recorded": "nothing"}, "no recorded run"),
        (lambda own: CHANGE | {"run": own.data["run_id"]}, "no longer has the run"),
        (lambda own: asked(own, step=0), "step of a branch"),
        (lambda own: asked(own, position=18), "position of a branch"),
        (lambda own: asked(own, position="1"), "position of a branch"),
        (lambda own: asked(own, purpose="x"), "purpose"),
        (lambda own: asked(own, u=1.5), "from 0 to 1"),
        (lambda own: asked(own, u="0.5"), "from 0 to 1"),
        (lambda own: asked(own, trace=damaged(own, ["settings", "k"], 99)), "K must be"),
        (lambda own: asked(own, trace=damaged(own, ["settings", "pair"], "/root")), "no pair"),
        (lambda own: asked(own, trace=damaged(own, ["settings", "max_new_tokens"], 10**9)), "new tokens"),
        (lambda own: asked(own, trace=damaged(own, ["settings", "fault"], "x")), "deliberate mistake"),
        (lambda own: asked(own, trace=damaged(own, ["steps", 1, "drafts", 0, "coin"], 0.123)), "step 2"),
        (lambda own: asked(own, trace=damaged(own, ["steps", 1, "totals"], {"tokens": 1, "target_passes": 2, "draft_passes": 9})), "totals"),
        (lambda own: asked(own, trace=damaged(own, ["steps", 0, "drafts", 0, "row"], {"ids": [], "p": [], "q": [], "p_rest": 0, "q_rest": 0, "overlap_rest": 0})), "damaged"),
    ],
)  # fmt: skip
def test_what_can_not_be_branched_is_refused_in_a_sentence(own, broken, says):
    with pytest.raises(SpecVizError, match=says):
        read_branch(broken(own), None)


def test_the_toys_draft_is_the_one_of_the_trace(own):
    assert agreement_in(own.data["settings"]) == 0.5
    assert agreement_in(decode(load_pair("toy", "noise"), PROMPT, max_new_tokens=2).data["settings"]) == 0.9
    own.data["settings"]["draft"]["name"] = "toy-x"
    with pytest.raises(SpecVizError, match="no draft"):
        agreement_in(own.data["settings"])


def test_what_is_loaded_is_told_with_hash_and_dtype():
    shelf = Shelf()
    shelf.pair("toy", "model", 0.9)
    assert json.loads(loaded(shelf)) == [
        {"pair": "toy", "target": {"sha256": None, "dtype": "float64"}, "draft": None}
    ]


# --- the branch itself ---


def test_a_branch_is_what_resume_computes_and_a_branch_of_it_keeps_both_numbers(own, page):
    shown = told(page.branch(VISITOR, event(asked(own)), None))
    branch = shown[-1]["trace"]
    expected = resume(load_pair("toy", agreement=0.5), own, **CHANGE)
    assert without_times(branch.data) == without_times(expected.data)
    assert branch.data["parent"] == own.data["run_id"]
    assert last_message(shown)["trace"]["settings"]["overrides"] == [[2, 1, "accept", 0.999]]
    again = CHANGE | {"step": 4, "purpose": "final", "u": 0.5, "run": branch.data["run_id"]}
    again["position"] = sum(draft["state"] == "accepted" for draft in branch.data["steps"][3]["drafts"]) + 1
    second = told(page.branch(VISITOR, event(again), branch))[-1]["trace"]
    assert second.data["parent"] == branch.data["run_id"]
    assert [each[0] for each in second.data["settings"]["overrides"]] == [2, 4]
    assert "[2, 1, " in json.loads(json.dumps(second.to_csv()))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"step": 90}, "can't start at step 90"),
        ({"u": 1.0}, "below 1"),
        ({"position": 5}, "positions"),
    ],
)
def test_a_refused_branch_leaves_the_screen_as_it_is(own, page, settings, says):
    shown = told(page.branch(VISITOR, event(asked(own, **settings)), None))
    assert says in lines(shown)[-1]
    assert all("player" not in each and "trace" not in each for each in shown)
    assert shown[-1]["run"]["interactive"] is True


def test_a_branch_of_a_pair_that_is_not_loaded_loads_nothing(page):
    shown = told(page.branch(VISITOR, event(CHANGE | {"recorded": "opening"}), None))
    assert lines(shown) == ["The pair smollm2-135m is not loaded here: run it once, then run the branch."]
    assert page.shelf.begun("smollm2-135m") is None


def test_a_branch_from_other_weights_says_what_differs(own, page):
    own.data["weights"]["target"]["dtype"] = "bfloat16"
    assert (
        "dtype is float64 here but bfloat16" in lines(told(page.branch(VISITOR, event(asked(own)), None)))[-1]
    )


def test_what_was_timed_at_another_moment_is_not_compared_with_a_branch(own, page):
    own.data["baseline"] = autoregress(load_pair("toy").target, PROMPT, max_new_tokens=24)
    own.data["costs"] = {"target_ms": [1.0] * 17, "draft_ms": 0.5, "rest_ms": 0.1}
    own.name_tokens(load_pair("toy").target.pieces)
    branch = told(page.branch(VISITOR, event(asked(own)), None))[-1]["trace"].data
    assert (branch["baseline"], branch["costs"]) == (None, None)


def test_a_branchs_plain_loop_is_timed_with_the_branch(own, page, monkeypatch):
    branch = told(page.branch(VISITOR, event(asked(own)), None))[-1]["trace"]
    timed = told(page.time_plain_loop(VISITOR, branch))[-1]["trace"].data
    assert timed["token_ids"] == branch.token_ids
    assert timed["baseline"]["timing"]["rounds"] >= 3
    plain = autoregress(load_pair("toy").target, PROMPT, max_new_tokens=24, sampling=Sampling(0.8), seed=7)
    assert (
        timed["baseline"]["token_ids"] == plain["token_ids"]
    )  # the branch's number is of no step of its own
    other = Trace({**branch.data, "token_ids": [*branch.token_ids[:-1], 1]})
    assert "comes to another text" in lines(told(page.time_plain_loop(VISITOR, other)))[-1]


@pytest.mark.parametrize("data", [None, [], "x", 7, {}, {"pair": "toy"}])
def test_what_else_comes_with_the_players_events_is_answered(page, data):
    assert all(is_skip(each) for each in page.describe(event(data)))
    assert lines(told(page.branch(VISITOR, event(data), None)))[-1].endswith((".", "change the coin again."))
    assert json.loads(page.export(event(data), None))["error"]


def test_undo_describes_the_run_that_the_player_names(page):
    values = dict(zip(NAMES, CONTROLS, strict=True))
    back = dict(zip(NAMES, page.describe(event(values)), strict=True))
    assert (back["prompt"], back["k"], back["draft"]["value"]) == (PROMPT, 4, "model")
    assert back["agreement"]["visible"] is True


# --- the race ---


def test_a_race_runs_both_loops_with_the_same_settings(page):
    shown = told(page.race(VISITOR, *CONTROLS))
    message = last_message(shown)
    trace, race = message["trace"], message["race"]
    plain = autoregress(load_pair("toy").target, PROMPT, max_new_tokens=24, sampling=Sampling(0.8), seed=7)
    assert trace["baseline"]["token_ids"] == plain["token_ids"]
    assert trace["token_ids"] == decode(load_pair("toy"), PROMPT, max_new_tokens=24).token_ids
    assert len(race["ms"]) == 24 and race["stopped"] is False
    assert all(a < b for a, b in zip(race["ms"], race["ms"][1:], strict=False))
    assert race["ms"][-1] == pytest.approx(trace["baseline"]["ms"], rel=1e-3)
    assert trace["baseline"]["timing"]["rounds"] >= 3
    assert any("speculative loop first" in line for line in lines(shown))
    for number in (1, 2, 3):
        assert any(f"round {number} of at least 3, the plain loop: " in line for line in lines(shown))
    assert any("round 2 of at least 3, the speculative loop: " in line for line in lines(shown))


def stopped_at(page, words):
    """Run a race and press Stop as soon as a status line holds `words`."""
    shown = []
    for event in page.race(VISITOR, *CONTROLS):
        shown += told([event])
        if "status" in shown[-1] and words in lines(shown)[-1]:
            page.stop(VISITOR)
    return shown


def test_a_race_stopped_in_the_speculative_loop_keeps_it_and_says_so(page):
    shown = stopped_at(page, "speculative loop first: ")
    message = last_message(shown)
    assert message["trace"]["stop"] == "stopped"
    assert 0 < len(message["trace"]["token_ids"]) < 24
    assert (message["trace"]["baseline"], message["race"]) == (None, None)
    assert "stopped before the plain loop's turn" in lines(shown)[-1]


def test_a_race_stopped_in_the_plain_loop_keeps_both_and_says_so(page, monkeypatch):
    monkeypatch.setattr("specviz.page.step.rounds.LIVE_EVERY_S", 0.0)
    shown = stopped_at(page, "round 1 of at least 3, the plain loop: 5 of")
    message = last_message(shown)
    assert len(message["trace"]["token_ids"]) == 24
    assert message["trace"]["baseline"]["tokens"] == len(message["race"]["ms"]) == 5
    assert message["race"]["stopped"] is True
    assert "stopped" in lines(shown)[-1]


def test_a_run_that_was_stopped_is_timed_as_far_as_it_came(page):
    run = start(load_pair("toy"), PROMPT, max_new_tokens=24)
    next(run)
    next(run)
    run.stop()
    assert list(run) == []
    timed = told(page.time_plain_loop(VISITOR, run.trace))[-1]["trace"].data
    assert timed["token_ids"] == run.trace.token_ids and len(timed["steps"]) == 2
    assert timed["baseline"]["timing"]["rounds"] >= 3


def test_a_race_stopped_in_a_later_round_keeps_the_whole_ones(page, monkeypatch):
    monkeypatch.setattr("specviz.page.step.rounds.LIVE_EVERY_S", 0.0)
    message = last_message(stopped_at(page, "round 2 of at least 3, the speculative loop: "))
    trace = message["trace"]
    assert trace["stop"] == "length"
    assert trace["baseline"]["timing"]["rounds"] == 1
    assert len(message["race"]["ms"]) == trace["baseline"]["tokens"] == 24
    assert message["race"]["stopped"] is False
    assert "only 1 of 3 rounds were run" in message["figures"]["speedup_measured_doubt"]


def test_the_plain_loops_times_leave_out_what_happened_between_its_tokens(monkeypatch):
    now = [0.0]
    extend = ToyCursor.extend

    def one_millisecond(self, ids, rows):
        now[0] += 1e-3
        return extend(self, ids, rows)

    monkeypatch.setattr(ToyCursor, "extend", one_millisecond)
    monkeypatch.setattr(decoding_module.time, "perf_counter", lambda: now[0])
    run = start_plain(load_pair("toy").target, PROMPT, max_new_tokens=5)
    for _ in run:
        now[0] += 60.0
    assert run.ms == pytest.approx([1, 2, 3, 4, 5])
    assert run.baseline["ms"] == pytest.approx(5)
