"""Files written by SpecViz at commit b2a59fa, before its folders were what they are: they open, and replay, as they did."""

import csv
import io
import json
from pathlib import Path

import pytest

from specviz import Trace, load_pair, replay, resume
from specviz.record.csv import BEFORE_SPREADS

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


def columns_of(text, columns):
    """Return a CSV's rows with some of its columns, every cell as it stands there."""
    table = list(csv.reader(io.StringIO(text)))
    return [row[:columns] for row in table]


@pytest.mark.parametrize("name", ["run", "real"])
def test_the_csv_of_then_is_the_csv_of_now_and_opens(name):
    text = (BEFORE / f"{name}.csv").read_text(encoding="utf-8")
    then, now = columns_of(text, None), Trace.from_json(BEFORE / f"{name}.json").to_csv()
    assert len(then[0]) == len(BEFORE_SPREADS)  # what came later stands behind it
    assert columns_of(now, len(BEFORE_SPREADS)) == then
    again = Trace.from_csv(BEFORE / f"{name}.csv").to_csv()
    before = BEFORE_SPREADS.index(
        "speedup_modelled"
    )  # a CSV does not hold what the speedups are computed from
    assert columns_of(again, before) == columns_of(text, before)


def test_a_run_of_then_is_branched_now_as_it_was_then():
    pair, parent = load_pair("toy"), Trace.from_json(BEFORE / "run.json")
    then = Trace.from_json(BEFORE / "branch.json")
    (step, position, purpose, u), *_ = then.data["settings"]["overrides"]
    now = resume(pair, parent, step=step, position=position, purpose=purpose, u=u)
    assert (now.token_ids, now.data["parent"]) == (then.token_ids, then.data["parent"])
    drawn = [[step["drafts"], step["final"]] for step in now.data["steps"]]
    assert json.loads(json.dumps(drawn)) == [[step["drafts"], step["final"]] for step in then.data["steps"]]
