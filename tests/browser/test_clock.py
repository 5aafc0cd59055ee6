"""The clock's pure functions, run in the browser: names of beats, where each speed stops, what each beat reveals."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from specviz.ui.parts import asset
from tests.browser.traces import fixture_trace

MODULES = ("player/run/numbers", "player/run/tokens", "player/run/cells", "player/run/beats")
FACE = "clockOf, nextStop, indexOfBeat, viewOf, stageOf, countsAt, nextOfState"


@pytest.fixture(scope="module")
def scratch(browser: Browser) -> Iterator[Page]:
    """An empty page that knows the clock."""
    page = browser.new_page()
    code = "\n".join(asset(f"{name}.js") for name in MODULES)
    page.evaluate(f"() => {{ {code}\n window.clock = {{ {FACE} }}; }}")
    yield page
    page.close()


def trace_of(*states: str, final: str | None, k: int | None = None) -> dict[str, Any]:
    """A trace of one step with these states."""
    trace = fixture_trace(k=len(states), steps=1)
    step = trace["steps"][0]
    trace["settings"]["k"] = len(states) if k is None else k
    for draft, state in zip(step["drafts"], states, strict=True):
        draft.update(state=state, coin=None if state == "discarded" else 0.5)
    if final is None:
        step["final"] = None
    else:
        step["final"]["kind"] = final
    return trace


def names(page: Page, trace: dict[str, Any]) -> list[str]:
    return page.evaluate("t => clock.clockOf(t).beats.map(beat => beat.name)", trace)


def stops(page: Page, trace: dict[str, Any], speed: str) -> list[str]:
    walk = """([t, speed]) => { const c = clock.clockOf(t), seen = [c.beats[0].name];
      for (let at = 0; at < c.beats.length - 1;) { at = clock.nextStop(c, at, speed, 1); seen.push(c.beats[at].name); } return seen; }"""
    return page.evaluate(walk, [trace, speed])


REJECTED = ["1.start", "1.draft.1", "1.draft.2", "1.draft.3", "1.verify", "1.threshold.1", "1.coin.1", "1.threshold.2", "1.coin.2",
            "1.owed", "1.draw"]  # fmt: skip


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        (trace_of("accepted", "rejected", "discarded", final="residual"), REJECTED),
        (trace_of("accepted", final="bonus"), ["1.start", "1.draft.1", "1.verify", "1.threshold.1", "1.coin.1", "1.draw"]),
        (trace_of("accepted", "discarded", final=None), ["1.start", "1.draft.1", "1.draft.2", "1.verify", "1.threshold.1", "1.coin.1"]),
        (trace_of(final="bonus"), ["1.start", "1.verify", "1.draw"]),
    ],
)  # fmt: skip
def test_beats_have_names_in_order(scratch: Page, trace: dict[str, Any], expected: list[str]) -> None:
    assert names(scratch, trace) == expected
    assert stops(scratch, trace, "slow") == expected


def test_normal_takes_all_drafts_at_once_and_one_beat_a_coin(scratch: Page) -> None:
    trace = trace_of("accepted", "rejected", "discarded", final="residual")
    assert stops(scratch, trace, "normal") == [
        "1.start", "1.draft.3", "1.verify", "1.coin.1", "1.coin.2", "1.owed", "1.draw"]  # fmt: skip
    later = [name for name in stops(scratch, fixture_trace(k=2, steps=3), "normal") if name.startswith("2.")]
    assert later[:2] == ["2.draft.2", "2.verify"]


def test_step_stops_at_the_end_of_each_step(scratch: Page) -> None:
    trace = fixture_trace(k=2, steps=3)
    assert stops(scratch, trace, "step") == ["1.start", "1.draw", "2.draw", "3.draw"]
    back = "t => { const c = clock.clockOf(t); return c.beats[clock.nextStop(c, c.ends[2] + 2, 'step', -1)].name; }"
    assert scratch.evaluate(back, trace) == "2.draw"


def test_a_beat_that_this_run_lacks_leads_to_the_end_of_its_step(scratch: Page) -> None:
    trace = fixture_trace(k=2, steps=3)
    find = "([t, name]) => { const c = clock.clockOf(t), at = clock.indexOfBeat(c, name); return at === null ? null : c.beats[at].name; }"
    for asked, found in {
        "2.verify": "2.verify", "2.coin.9": "2.draw", "9.start": "3.draw", "x": None, "2.nothing": None, "2.draft.1<": None,
    }.items():  # fmt: skip
        assert scratch.evaluate(find, [trace, asked]) == found


def test_each_beat_reveals_no_more_than_its_part(scratch: Page) -> None:
    trace = trace_of("accepted", "rejected", "discarded", final="residual")
    stages = scratch.evaluate(
        """t => Object.fromEntries(clock.clockOf(t).beats.map(beat => [beat.name,
          [1, 2, 3].map(i => clock.stageOf(t.steps[0], clock.viewOf(t.steps[0], beat), i)).join(' ')]))""",
        trace,
    )
    assert stages["1.start"] == "empty empty empty"
    assert stages["1.draft.2"] == "drafted drafted empty"
    assert stages["1.verify"] == "verified verified verified"
    assert stages["1.threshold.1"] == "threshold verified verified"
    assert stages["1.coin.1"] == "decided verified verified"
    assert stages["1.threshold.2"] == "decided threshold verified"
    assert stages["1.coin.2"] == stages["1.owed"] == stages["1.draw"] == "decided decided decided"


def test_counts_are_of_what_has_been_revealed(scratch: Page) -> None:
    trace = fixture_trace(k=4, steps=12)
    counts = scratch.evaluate(
        "t => { const c = clock.clockOf(t); return c.beats.map((_, at) => clock.countsAt(c, at)); }", trace
    )
    assert counts[0]["tokens"] == counts[0]["passes"] == 0
    assert counts[-1]["tokens"] == len(trace["token_ids"]) and counts[-1]["passes"] == 12
    for state in ("accepted", "rejected", "discarded"):
        drafts = [draft for step in trace["steps"] for draft in step["drafts"]]
        assert counts[-1][state] == sum(draft["state"] == state for draft in drafts)
        assert all(before[state] <= after[state] for before, after in pairwise(counts))


def test_the_next_of_a_kind_starts_again_at_the_end(scratch: Page) -> None:
    trace = fixture_trace(k=4, steps=12)
    bonuses = [step["step"] for step in trace["steps"] if step["final"]["kind"] == "bonus"]
    walk = """t => { const c = clock.clockOf(t), seen = []; let at = 0;
      for (let i = 0; i < 9; i += 1) { at = clock.nextOfState(c, at, 'bonus'); seen.push(c.beats[at].step); } return seen; }"""
    assert scratch.evaluate(walk, trace) == [bonuses[i % len(bonuses)] for i in range(9)]
