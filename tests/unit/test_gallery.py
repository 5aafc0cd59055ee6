"""The recorded runs hold what they promise, and the script that records them refuses what does not fit."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from scripts import gallery as recording
from specviz import Trace, bundle, decode, load_pair, replay, start
from specviz.errors import SpecVizError
from specviz.models.catalogue import DEFAULT_PAIR
from specviz.page import gallery

NAMES = [entry.name for entry in gallery.entries()]
LARGEST = 200_000


@pytest.fixture(scope="module")
def traces() -> dict[str, Trace]:
    return {name: gallery.open_recorded(name) for name in NAMES}


def test_the_menu_is_the_scripts_plans_and_the_opening_lesson_comes_first() -> None:
    assert [plan.name for plan in recording.PLANS] == NAMES
    assert NAMES[0] == "opening"
    assert gallery.menu()[0] == (recording.PLANS[0].title, "opening")
    assert all(entry.look_for.endswith((".", "?")) for entry in gallery.entries())


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_run_is_sound_small_and_the_default_pairs(name: str, traces: dict[str, Trace]) -> None:
    data, plan = traces[name].data, next(plan for plan in recording.PLANS if plan.name == name)
    assert replay(traces[name]) == []
    assert gallery.entry_of(name).path.stat().st_size <= LARGEST
    assert data["settings"]["pair"] == DEFAULT_PAIR
    assert (data["settings"]["draft"]["kind"], data["settings"]["temperature"]) == (
        plan.draft,
        plan.temperature,
    )
    assert (data["prompt"]["text"], data["settings"]["fault"]) == (plan.prompt, None)
    assert data["costs"] and data["baseline"]["tokens"] > 0
    assert not recording.UNFIT.search(traces[name].text)


def test_the_opening_shows_all_five_outcomes_in_two_steps(traces: dict[str, Trace]) -> None:
    first, second = traces["opening"].data["steps"][:2]
    assert [draft["state"] for draft in first["drafts"]] == ["accepted"] * 4
    assert first["final"]["kind"] == "bonus"
    assert [draft["state"] for draft in second["drafts"]] == ["accepted", "accepted", "rejected", "discarded"]
    assert second["final"]["kind"] == "residual"


def test_each_caption_stands_at_a_beat_of_the_opening(traces: dict[str, Trace]) -> None:
    beats = re.findall(r"beat: '([^']+)'", bundle.asset("player/run/captions.js"))
    assert len(beats) == 7
    steps = traces["opening"].data["steps"]
    for beat in beats:
        number, kind, *position = beat.split(".")
        step = steps[int(number) - 1]
        assert kind in {"start", "verify", "draw"} or (kind in {"draft", "coin"} and position)
        if position:
            assert 1 <= int(position[0]) <= step["k"]
        if kind == "coin":
            assert step["drafts"][int(position[0]) - 1]["coin"] is not None


def test_one_prompt_at_three_temperatures_and_cold_needs_no_coin(traces: dict[str, Trace]) -> None:
    runs = [traces[name].data for name in ("cold", "warm", "hot")]
    assert [run["settings"]["temperature"] for run in runs] == [0.0, 0.7, 1.5]
    assert len({run["prompt"]["text"] for run in runs}) == 1
    examined = [draft for step in runs[0]["steps"] for draft in step["drafts"] if draft["coin"] is not None]
    assert {draft["p"] for draft in examined} <= {0.0, 1.0}
    assert all((draft["state"] == "accepted") == (draft["p"] == 1.0) for draft in examined)


def test_the_ending_keeps_an_end_token_and_leaves_the_rest_of_the_block(traces: dict[str, Trace]) -> None:
    data = traces["ending"].data
    last = data["steps"][-1]
    states = [draft["state"] for draft in last["drafts"]]
    assert (data["stop"], last["final"]) == ("end", None)
    assert data["token_ids"][-1] in data["settings"]["end_ids"]
    assert states[-1] == "discarded" and "accepted" in states and "rejected" not in states


def test_drafts_from_one_law_are_kept_and_noise_is_not(traces: dict[str, Trace]) -> None:
    assert traces["self"].metrics["acceptance_examined"] > 0.95
    assert traces["noise"].metrics["acceptance_examined"] < 0.2


def test_the_hints_say_what_the_runs_hold(traces: dict[str, Trace]) -> None:
    """Titles and hints are the script's; what they state of a run is so."""
    assert [(plan.title, plan.look_for) for plan in recording.PLANS] == [
        (entry.title, entry.look_for) for entry in gallery.entries()
    ]
    copies, own = traces["copies"], traces["self"].metrics
    line = copies.data["prompt"]["text"].splitlines()[0]
    assert copies.data["prompt"]["text"].splitlines() == [line, line]
    short = copies.text.splitlines()[0]
    assert short != line and len(short) < len(line) and copies.text.splitlines()[1] == short
    assert traces["lookup"].data["prompt"] == copies.data["prompt"]
    assert 0.95 < own["overlap_mean"] < 1 and own["acceptance_examined"] > 0.95


def test_no_recorded_speed_is_in_doubt(traces: dict[str, Trace]) -> None:
    for name, trace in traces.items():
        doubts = [trace.metrics[f"speedup_{kind}_doubt"] for kind in ("measured", "modelled")]
        assert doubts == [None, None], name


def test_an_unknown_or_damaged_recording_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(SpecVizError, match="no recorded run 'nothing'"):
        gallery.open_recorded("nothing")
    monkeypatch.setattr(gallery, "FOLDER", tmp_path)
    (tmp_path / "opening.json").write_text('{"format": "specviz-trace"')
    with pytest.raises(SpecVizError):
        gallery.open_recorded("opening")


def test_without_an_index_there_is_no_gallery(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gallery, "FOLDER", tmp_path)
    assert gallery.entries.__wrapped__() == ()


TOY = recording.Plan("toy", "", "", "1 15 42", tokens=16, chat=False, seeds=range(1, 3000))


def test_the_script_finds_the_first_seed_that_tells_the_story() -> None:
    pair = load_pair("toy")
    seed = next(recording.opening_seeds(pair, TOY))
    first, second = decode(pair, TOY.prompt, **recording.options_of(TOY, seed)).data["steps"][:2]
    assert (recording.states(first), recording.states(second)) == recording.OPENING
    assert 0.1 < second["drafts"][2]["p"] / second["drafts"][2]["q"] < 0.9
    assert list(recording.opening_seeds(pair, replace(TOY, seeds=range(1, seed)))) == []


def test_a_first_step_tells_truly_which_other_seeds_reject_in_theirs() -> None:
    pair = load_pair("toy")
    steps = {seed: next(start(pair, TOY.prompt, **recording.options_of(TOY, seed))) for seed in range(1, 40)}
    told = [
        seed
        for seed in steps
        for other, first in steps.items()
        if other != seed and recording.must_reject(first, seed)
    ]
    assert told and all("rejected" in recording.states(steps[seed]) for seed in told)
    kept = [seed for seed, step in steps.items() if recording.states(step) == recording.OPENING[0]]
    assert kept and not any(recording.must_reject(first, seed) for seed in kept for first in steps.values())


def test_the_script_records_the_first_seed_that_ends_as_it_should() -> None:
    plan = replace(TOY, seeds=(3, 4, 5), ends=lambda trace: trace.data["settings"]["seed"] > 3)
    trace = recording.record(load_pair("toy"), None, plan)
    assert trace.data["settings"]["seed"] == 4
    assert (trace.data["run_id"], trace.data["baseline"]["tokens"]) == ("gallery-toy", 16)
    with pytest.raises(SpecVizError, match="No seed gives the run 'toy'"):
        recording.record(load_pair("toy"), None, replace(plan, ends=lambda trace: False))


def test_the_script_passes_over_a_text_that_is_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = replace(TOY, seeds=(3, 4))
    first = decode(load_pair("toy"), TOY.prompt, **recording.options_of(TOY, 3)).text
    monkeypatch.setattr(recording, "UNFIT", re.compile(re.escape(first)))
    assert recording.record(load_pair("toy"), None, plan).data["settings"]["seed"] == 4
