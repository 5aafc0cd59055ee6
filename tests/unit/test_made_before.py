"""Files written by SpecViz at commit b2a59fa, before its folders were what they are: they open, and replay, as they did."""

import json
from pathlib import Path

import pytest

from specviz import Trace, load_pair, replay, resume

BEFORE = Path(__file__).resolve().parents[1] / "made_before"
JSON = sorted(path.name for path in BEFORE.glob("*.json"))


def test_the_files_are_there():
    assert JSON == ["branch.json", "mistake.json", "real.json", "run.json"]


@pytest.mark.parametrize("name", JSON)
def test_a_trace_opens_and_replays_without_a_difference(name):
    assert replay(Trace.from_json(BEFORE / name)) == []


@pytest.mark.parametrize("name", JSON)
def test_what_was_written_is_written_again_to_the_letter(name):
    assert Trace.from_json(BEFORE / name).to_json() == (BEFORE / name).read_text(encoding="utf-8")


def without_speedups(text):
    return [line.rsplit(",", 2)[0] for line in text.splitlines()]


@pytest.mark.parametrize("name", ["run", "real"])
def test_the_csv_of_then_is_the_csv_of_now_and_opens(name):
    text = (BEFORE / f"{name}.csv").read_text(encoding="utf-8")
    assert Trace.from_json(BEFORE / f"{name}.json").to_csv() == text
    again = Trace.from_csv(BEFORE / f"{name}.csv").to_csv()
    assert without_speedups(again) == without_speedups(
        text
    )  # a CSV does not hold what these are computed from


def test_a_run_of_then_is_branched_now_as_it_was_then():
    pair, parent = load_pair("toy"), Trace.from_json(BEFORE / "run.json")
    then = Trace.from_json(BEFORE / "branch.json")
    (step, position, purpose, u), *_ = then.data["settings"]["overrides"]
    now = resume(pair, parent, step=step, position=position, purpose=purpose, u=u)
    assert (now.token_ids, now.data["parent"]) == (then.token_ids, then.data["parent"])
    drawn = [[step["drafts"], step["final"]] for step in now.data["steps"]]
    assert json.loads(json.dumps(drawn)) == [[step["drafts"], step["final"]] for step in then.data["steps"]]
