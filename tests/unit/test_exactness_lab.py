"""The exactness lab's server side: what is asked for is checked, what is answered is the library's own numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specviz import EXACT, Sampling, SpecVizError, Trace, decode, load_pair, replay
from specviz.exactness.faults import FAULTS
from specviz.exactness.one_step import check_position, check_table, position_of_row, position_of_toy
from specviz.exactness.throws import SAMPLERS
from specviz.page import gallery
from specviz.page.exactness import lab as exactness_lab
from specviz.page.exactness.ask import read_ask
from specviz.page.exactness.greedy import STEADY, greedy, greedy_again, greedy_settings
from specviz.page.exactness.lab import LANES, lab, run_toy
from specviz.page.gallery import open_recorded
from specviz.page.server.shelf import Shelf
from specviz.page.step.share import file_name


def answer(asked: object, trace: Trace | None = None) -> dict[str, Any]:
    return json.loads(lab(asked, trace))


def draft_at(trace: Trace, step: int, position: int) -> dict[str, Any]:
    return trace.data["steps"][step - 1]["drafts"][position - 1]


def test_the_selected_position_of_the_run_on_screen() -> None:
    trace = open_recorded("opening")
    spot = {"step": 2, "position": 3, "state": "rejected"}
    shown = answer({"spot": spot, "fault": "resample-from-p", "trials": 1000, "seed": 6}, trace)
    row = draft_at(trace, 2, 3)["row"]
    check = check_position(position_of_row(row), FAULTS["resample-from-p"].rules, 1000, 6)
    assert shown["problem"] is None and "Step 2, position 3" in shown["title"]
    assert shown["bias"] == check.bias > 0.05
    assert check.throws and shown["throws"]["distance"] == check.throws.distance
    assert len(shown["lanes"]) == LANES + 1 and shown["rest"] == "everything else"
    first = shown["lanes"][0]
    heaviest = max(zip(row["p"], row["q"], row["ids"], strict=True), key=lambda each: max(each[:2]))[2]
    assert first["name"] == trace.data["tokens"][str(heaviest)]
    for column, values in (("p", check.target), ("law", check.law), ("q", check.draft), ("kept", check.kept)):
        assert sum(lane[column] for lane in shown["lanes"]) == pytest.approx(values.sum())


def test_without_a_selection_the_first_examined_draft_is_meant() -> None:
    assert "Step 1, position 1" in answer({}, open_recorded("opening"))["title"]


def test_the_toy_and_the_table_are_those_of_the_library() -> None:
    toy = answer(
        {"source": "toy", "toy": {"prompt": "7 7", "agreement": 0.5, "temperature": 0.5, "top_k": 3}}
    )
    assert toy["bias"] == check_position(position_of_toy("7 7", 0.5, Sampling(0.5, 3)), EXACT).bias
    table = answer({"source": "table", "fault": "sample-engine"})
    assert table["bias"] == check_table(FAULTS["sample-engine"]).bias and table["throws"] is None
    assert table["fault"]["does"] == FAULTS["sample-engine"].does


def test_every_mistake_has_a_switch() -> None:
    switches = answer({"source": "table"})["faults"]
    assert [switch["name"] for switch in switches] == [*FAULTS]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"trials": 0}, "from 1 to 1,000,000"), ({"trials": -5}, "from 1 to"), ({"trials": 10**12}, "from 1 to"), ({"trials": 2.5}, "from 1 to"),
        ({"trials": "1000"}, "from 1 to"), ({"fault": "nonsense"}, "no fault"), ({"fault": ["x"]}, "no fault"), ({"source": "moon"}, "no source"),
        ({"seed": -1}, "throw's number"), ({"source": "toy", "toy": {"prompt": "hello"}}, "toy's prompt"), ({"source": "toy", "toy": {"prompt": 3}}, "prompt is empty"),
        ({"source": "toy", "toy": {"temperature": 9}}, "temperature"), ({"source": "toy", "toy": {"agreement": "x"}}, "agreement"),
        ({"source": "toy", "toy": {"top_p": 0}}, "Top-p"), ({"spot": {"step": 999, "position": 1}}, "selected step"), ({"spot": {"step": 1, "position": "x"}}, "selected position"),
        ({"spot": {"step": 2, "position": 4}}, "No coin was tossed"), ({"spot": {"step": 1, "position": 5}}, "target's own draw"), ({"fault": "one-coin"}, "three-token example"),
    ],
)  # fmt: skip
def test_what_can_t_be_used_is_answered_with_a_sentence(asked: dict[str, Any], says: str) -> None:
    shown = answer(asked, open_recorded("opening"))
    assert says in shown["problem"] and "lanes" not in shown


@pytest.mark.parametrize("asked", [None, [], "x", 7, {"toy": "x", "spot": 3}])
def test_a_record_that_is_none_asks_for_the_run_on_screen(asked: object) -> None:
    assert answer(asked, open_recorded("opening"))["problem"] is None
    assert "no run on screen" in answer(asked)["problem"]


def test_runs_without_distributions_with_a_mistake_or_without_drafts_say_so() -> None:
    toy = load_pair("toy")
    trace = decode(toy, "1 15 42", k=4, max_new_tokens=12)
    assert "CSV" in answer({}, Trace.from_csv(trace.to_csv()))["problem"]
    wrong = decode(toy, "1 15 42", k=4, max_new_tokens=12, rules=FAULTS["one-coin"].rules)
    assert "deliberate mistake" in answer({}, wrong)["problem"]
    assert "Nothing was drafted" in answer({}, decode(toy, "1", k=0, max_new_tokens=3))["problem"]


def test_a_run_with_a_mistake_says_so_replays_and_has_no_csv() -> None:
    trace = run_toy(Shelf(), {"fault": "resample-from-p", "toy": {"prompt": "1 15 42", "temperature": 1}})
    assert trace.data["settings"]["fault"] == "resample-from-p" and replay(trace) == []
    assert Trace.from_json(trace.to_json()).data["settings"]["fault"] == "resample-from-p"
    assert "MISTAKE-resample-from-p" in file_name(trace)
    with pytest.raises(SpecVizError, match="JSON only"):
        trace.to_csv()
    with pytest.raises(SpecVizError, match="No mistake"):
        run_toy(Shelf(), {})


def test_the_check_at_temperature_0_runs_the_pair_on_screen() -> None:
    trace = decode(load_pair("toy"), "7 7 7", k=2, max_new_tokens=9, sampling=Sampling(1.0))
    last = json.loads([*greedy(Shelf(), trace)][-1])
    assert last["equal"] and last["k"] == 2 and len(last["ours"]) == len(last["plain"]) == 9
    assert json.loads([*greedy(Shelf(), None)][-1])["pair"] == "toy"


def test_in_the_opening_lesson_s_place_a_steady_prompt_is_compared_and_every_other_run_is_its_own() -> None:
    opening, steady = (gallery.open_recorded(name) for name in (gallery.entries()[0].name, STEADY))
    asked = greedy_settings(opening)
    assert asked["prompt"] == steady.data["prompt"]["text"] != opening.data["prompt"]["text"]
    own = Trace({**opening.data, "run_id": "0123456789ab"})  # the visitor's own run of the same prompt
    assert greedy_settings(own)["prompt"] == opening.data["prompt"]["text"]


def test_what_is_compared_again_is_checked_like_anything_from_a_browser() -> None:
    trace = decode(load_pair("toy"), "7 7 7", k=2, max_new_tokens=9)
    first = json.loads([*greedy(Shelf(), trace)][-1])
    again = json.loads([*greedy_again(Shelf(), {"float32": True, "asked": first["asked"]})][-1])
    assert again["ours"] == first["ours"] and again["steady"] is first["steady"] is None
    for change, said in (({"pair": "/etc/passwd"}, "There is no pair"), ({"k": 99}, "K must be"), ({"max_new_tokens": 10**9}, "new tokens"), ({"prompt": 7}, "empty")):  # fmt: skip
        shown = [*greedy_again(Shelf(), {"float32": True, "asked": first["asked"] | change})]
        assert said in json.loads(shown[-1])["problem"]
    assert "There is no pair" in json.loads([*greedy_again(Shelf(), {"float32": True})][-1])["problem"]


def test_a_foreign_trace_s_pair_is_not_loaded() -> None:
    trace = decode(load_pair("toy"), "7", k=2, max_new_tokens=3)
    trace.data["settings"]["pair"] = "/etc/passwd"
    assert "There is no pair" in json.loads([*greedy(Shelf(), trace)][-1])["problem"]


def test_an_ask_is_returned_as_it_was_understood() -> None:
    ask = read_ask({"source": "toy", "fault": "one-coin", "trials": 100, "seed": 3, "toy": {"top_k": 2}})
    assert read_ask(ask.again()) == ask and exactness_lab.title_of(FAULTS["one-coin"]) == "one coin"


def test_a_switch_says_whether_a_selected_position_can_show_it() -> None:
    trace = open_recorded("opening")
    spot = {"step": 2, "position": 3}
    for switch in answer({"source": "table"})["faults"]:
        shown = answer({"spot": spot, "fault": switch["name"]}, trace)
        assert (shown["problem"] is None) == switch["here"], switch["name"]


def test_a_world_of_four_tokens_says_why_and_is_shown_to_nothing_else() -> None:
    titles = {name: answer({"source": "table", "fault": name})["title"] for name in FAULTS}
    four = {name for name, title in titles.items() if "four tokens (three are too few" in title}
    assert four == {"residual-reuses-coin"}
    assert all("A world of three tokens, " in title for name, title in titles.items() if name not in four)


def test_the_band_comes_with_how_it_was_found() -> None:
    throws = answer({"source": "table", "trials": 1000})["throws"]
    assert throws["samplers"] == SAMPLERS and throws["inside"]
