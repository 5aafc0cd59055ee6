"""The player in a real browser: nothing is there before its beat, and everything follows the clock without a request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.helpers import beat, cell, go_to_step, open_trace, press, unfold_speed
from tests.browser.traces import fixture_trace
from tests.unit.test_doubts import costs


def rejecting_step(trace: dict[str, Any], at_least: int = 2) -> tuple[int, int]:
    """The first step whose rejection stands at `at_least` or later, with a discarded draft after it; and that position."""
    for step in trace["steps"]:
        states = [draft["state"] for draft in step["drafts"]]
        if "rejected" in states and "discarded" in states and states.index("rejected") + 1 >= at_least:
            return step["step"], states.index("rejected") + 1
    raise AssertionError("the fixture has no such step")


@pytest.fixture
def trace(page: Page, tmp_path: Path) -> dict[str, Any]:
    """A trace of 12 steps with K = 4, opened and at its start."""
    made = fixture_trace()
    open_trace(page, made, tmp_path)
    return made


def slow(page: Page) -> None:
    page.locator("[data-speed=slow]").click()
    page.locator(".sv-heading").click()  # the focus back to the page


def test_a_later_beat_is_absent(page: Page, trace: dict[str, Any]) -> None:
    slow(page)
    opened = page.locator(".sv-open")
    expect(opened.locator(".sv-cell")).to_have_count(5)
    expect(opened.locator(".sv-cell").first).to_be_visible()
    for _ in range(60):
        words = beat(page).split("· ")[1].split()
        kind, position = (
            words[-1] if words[0] == "the" else words[0],
            int(words[-1]) if words[-1].isdigit() else 0,
        )
        step = trace["steps"][int(beat(page).split()[1]) - 1]
        tokens = opened.locator(".sv-drafts .sv-token").count()
        assert tokens == {"start": 0, "draft": position}.get(kind, 4)
        verdicts = sum(1 for text in opened.locator(".sv-drafts .sv-glyph").all_text_contents() if text)
        assert opened.locator(".sv-finals .sv-token").count() == (" ".join(words) == "the draw")
        if kind in ("start", "draft"):
            assert opened.locator(".sv-p, .sv-ruler, .sv-bracket").count() == 0
        if " ".join(words) == "the target pass":
            expect(opened.locator(".sv-p")).to_have_count(4)
            assert opened.locator(".sv-ruler").count() == 0
        if kind == "threshold":
            assert opened.locator(".sv-ruler").count() == position
            assert opened.locator(".sv-ruler u").count() == opened.locator(".sv-coin").count() == position - 1
            expect(opened.locator(".sv-threshold")).to_contain_text("survives")
        if kind == "coin":
            assert opened.locator(".sv-coin").count() == position
            over = step["drafts"][position - 1]["state"] == "rejected"
            assert verdicts == (4 if over else position)
        assert (opened.locator(".sv-connector").count() == 1) == (
            step["final"]["kind"] == "residual" and " ".join(words) in ("what is owed", "the draw")
        )
        hidden = {row.get_attribute("data-row") for row in page.locator(".sv-compact").all()}
        assert all(int(row or 0) < step["step"] for row in hidden)
        press(page, "ArrowRight")


def test_a_discarded_draft_keeps_its_p_and_says_that_it_is_not_used(
    page: Page, trace: dict[str, Any]
) -> None:
    number, position = rejecting_step(trace)
    go_to_step(page, number)
    after = page.locator(f'.sv-open .sv-cell[data-position="{position + 1}"]')
    expect(after).to_have_attribute("data-state", "discarded")
    expect(after.locator(".sv-p")).to_have_count(1)
    expect(after).to_contain_text("not used")
    slow(page)
    press(page, *["ArrowLeft"] * 3)
    expect(page.locator(".sv-where")).to_contain_text(f"threshold {position}")
    expect(after).to_have_attribute("data-state", "verified")
    expect(after.locator(".sv-p")).to_have_count(1)
    expect(after).not_to_contain_text("not used")
    assert "rejected" not in (page.locator(".sv-open").inner_html())


def test_keys_move_beats_steps_and_jump(page: Page, trace: dict[str, Any]) -> None:
    assert beat(page) == "step 1 of 12 · the start"
    press(page, "PageDown")
    assert beat(page) == "step 1 of 12 · draft 4"
    press(page, "ArrowRight", "ArrowLeft", "PageUp")
    assert beat(page) == "step 1 of 12 · the start"
    press(page, "Shift+ArrowRight", "Shift+ArrowRight")
    assert beat(page).startswith("step 2 of 12")
    press(page, "Shift+ArrowLeft")
    assert beat(page).startswith("step 1 of 12")
    press(page, "End")
    assert beat(page).startswith("step 12 of 12")
    press(page, "Home", "n")
    assert "coin" in beat(page)
    expect(page.locator(".sv-open .sv-rejected")).to_have_count(1)
    press(page, "b")
    expect(page.locator(".sv-open .sv-bonus")).to_have_count(1)


def test_keys_leave_text_fields_alone_and_are_listed(page: Page, trace: dict[str, Any]) -> None:
    page.locator("#prompt textarea").focus()
    press(page, "ArrowRight", "End", "n", "?")
    assert beat(page) == "step 1 of 12 · the start"
    expect(page.locator(".sv-help")).to_be_hidden()
    page.locator(".sv-heading").click()
    press(page, "?")
    for words in ("play and stop", "a beat back", "next rejection", "next bonus"):
        expect(page.locator(".sv-help")).to_contain_text(words)
    press(page, "Escape")
    expect(page.locator(".sv-help")).to_be_hidden()


def test_play_goes_on_by_itself_and_stops(page: Page, trace: dict[str, Any]) -> None:
    press(page, "Space")
    play = page.locator(".sv-play")
    expect(play).to_have_text("Pause")
    expect(page.locator(".sv-where")).to_contain_text("the target pass")
    press(page, "Space")
    expect(play).to_have_text("Play")
    press(page, "End", "Space")  # from the end it begins again
    expect(page.locator(".sv-where")).to_contain_text("step 1 of 12")
    press(page, "ArrowRight")
    expect(play).to_have_text("Play")


def test_the_skyline_scrubs(page: Page, trace: dict[str, Any]) -> None:
    columns = page.locator(".sv-column")
    expect(columns).to_have_count(12)
    heights = columns.evaluate_all("nodes => nodes.map(node => node.lastElementChild.style.height)")
    gained = [sum(draft["state"] == "accepted" for draft in step["drafts"]) + 1 for step in trace["steps"]]
    assert heights == [f"{20 * count}%" for count in gained]
    marks = columns.evaluate_all("nodes => nodes.map(node => node.firstElementChild.textContent)")
    assert marks == [{"residual": "↻", "bonus": "+"}[step["final"]["kind"]] for step in trace["steps"]]
    start, end = columns.nth(2).bounding_box(), columns.nth(8).bounding_box()
    assert start and end
    page.mouse.move(start["x"] + 5, start["y"] + 30)
    page.mouse.down()
    assert beat(page).startswith("step 3 of 12")
    page.mouse.move(end["x"] + 5, end["y"] + 30, steps=6)
    page.mouse.up()
    assert beat(page).startswith("step 9 of 12")
    expect(page.locator(".sv-skyline")).to_have_attribute("aria-valuenow", "9")


def test_the_ribbon_shows_ghosts_then_keeps_or_strikes(page: Page, trace: dict[str, Any]) -> None:
    number, position = rejecting_step(trace)
    go_to_step(page, number - 1) if number > 1 else press(page, "Home")
    written = page.locator(".sv-written .sv-out")
    before = written.count()
    press(page, "ArrowRight")
    expect(page.locator(".sv-ghost")).to_have_count(4)
    press(page, *["ArrowRight"] * position, "ArrowRight")
    expect(written).to_have_count(before + position - 1)
    expect(page.locator(".sv-struck")).to_have_count(1)
    expect(page.locator(".sv-ghost")).to_have_count(0)
    press(page, "ArrowRight")
    expect(page.locator(".sv-struck")).to_have_count(0)
    press(page, "ArrowRight")
    expect(written).to_have_count(before + position)


def test_a_click_in_the_ribbon_goes_to_the_step_and_the_cell(page: Page, trace: dict[str, Any]) -> None:
    press(page, "End")
    third = page.locator('.sv-written .sv-out[data-step="3"]').first
    position, state = third.get_attribute("data-position"), third.get_attribute("data-state")
    third.click()
    assert beat(page).startswith("step 3 of 12")
    expect(page.locator(".sv-cell.sv-chosen")).to_have_attribute("data-position", position or "")
    expect(page.locator(".sv-cell.sv-chosen")).to_have_attribute("data-state", state or "")


def test_the_legend_counts_what_is_revealed_and_goes_to_the_next(page: Page, trace: dict[str, Any]) -> None:
    key = page.locator('.sv-key[data-next="rejected"]')
    expect(key.locator("b")).to_have_text("0")
    key.click()
    expect(key.locator("b")).to_have_text("1")
    expect(page.locator(".sv-open .sv-rejected")).to_have_count(1)
    key.click()
    expect(key.locator("b")).to_have_text("2")
    press(page, "End")
    all_rejected = sum(draft["state"] == "rejected" for step in trace["steps"] for draft in step["drafts"])
    expect(key.locator("b")).to_have_text(str(all_rejected))


def test_the_grid_works_from_the_keyboard(page: Page, trace: dict[str, Any]) -> None:
    go_to_step(page, 3)
    page.locator(".sv-open .sv-cell").nth(1).focus()
    press(page, "ArrowUp")
    focused = page.locator(".sv-compact .sv-cell:focus")
    expect(focused).to_have_attribute("data-step", "2")
    press(page, "Enter")
    expect(page.locator(".sv-cell.sv-chosen")).to_have_attribute("data-step", "2")
    assert beat(page).startswith("step 3 of 12")
    press(page, "ArrowDown")
    expect(page.locator(".sv-open .sv-cell:focus")).to_have_count(1)
    press(page, "ArrowLeft")  # a beat back, the focus stays in the open step
    expect(page.locator(".sv-open .sv-cell:focus")).to_have_count(1)


def test_long_runs_draw_what_is_in_view(page: Page, tmp_path: Path) -> None:
    open_trace(page, fixture_trace(k=4, steps=120), tmp_path)
    press(page, "End")
    rows = page.locator(".sv-compact")
    assert 3 < rows.count() < 30
    expect(rows.last).to_have_attribute("data-row", "119")
    page.locator(".sv-past").evaluate("node => { node.scrollTop = 0; }")
    expect(rows.first).to_have_attribute("data-row", "1")
    expect(page.locator('.sv-compact[data-row="119"]')).to_have_count(0)
    assert rows.count() < 30


def test_playing_makes_no_request(page: Page, trace: dict[str, Any]) -> None:
    page.locator("#chart .main-svg").first.wait_for(state="attached")  # its script came with the run
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    slow(page)
    press(page, *["ArrowRight"] * 12, "n", "b", "End", "Home", "Space")
    expect(page.locator(".sv-where")).to_contain_text("draft 2")
    press(page, "Space")
    go_to_step(page, 5)
    for each in page.locator(".sv-open .sv-cell").all():
        each.click()
        each.hover()
    page.locator(".sv-written .sv-out").first.click()
    assert sent == []


def test_each_beat_is_spoken(page: Page, trace: dict[str, Any]) -> None:
    slow(page)
    aloud = page.locator(".sv-aloud")
    press(page, "ArrowRight")
    expect(aloud).to_contain_text("The draft proposes")
    press(page, "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
    expect(aloud).to_have_text("One target pass gives 5 rows of p.")
    press(page, "ArrowRight")
    expect(aloud).to_contain_text("survives")
    press(page, "ArrowRight")
    expect(aloud).to_contain_text("The coin said")
    press(page, "End")
    expect(aloud).to_contain_text("takes the rejected token's place.")


def test_the_speed_line_follows_and_the_chart_has_a_marker(page: Page, trace: dict[str, Any]) -> None:
    line = page.locator(".sv-fold")
    whole = len(trace["token_ids"]) / 12
    go_to_step(page, 3)
    tokens = trace["steps"][2]["totals"]["tokens"]
    expect(line).to_contain_text(f"so far {tokens / 3:.2f} tokens per target pass ({tokens} in 3)")
    expect(line).to_contain_text(f"whole run {whole:.2f}")
    unfold_speed(page)
    page.locator("#chart .main-svg").first.wait_for()
    marker = "() => document.querySelector('#chart .js-plotly-plot').layout.shapes.filter(shape => shape.name === 'now').map(shape => shape.x0)"
    go_to_step(page, 7)
    assert page.evaluate(marker) == [7]


def test_the_steps_clock_names_where_the_plain_loop_comes_from(page: Page, tmp_path: Path) -> None:
    trace = fixture_trace(steps=3)
    clock = page.locator(".sv-clock")
    tokens = trace["steps"][-1]["totals"]["tokens"] - trace["steps"][1]["totals"]["tokens"]
    passes = f"{tokens} pass{'es' if tokens > 1 else ''}"
    timed = costs([30.0] * 17)
    once = {"tokens": 10, "ms": 400.0, "token_ids": [0] * 10}
    raced = {**once, "timing": {"rounds": 3, "low": 0.1, "high": 2.0, "waited": 0.0, "disturbed": None}}
    for name, costs_then, baseline, words in [
        ("none", None, None, "not measured yet"),
        ("costs", timed, None, f"{passes}: {30 * tokens} ms, both from the pair's timings"),
        ("once", None, once, "in doubt, so not compared"),
        ("base", None, raced, f"{passes}: {40 * tokens} ms, both measured in turns"),
    ]:
        open_trace(page, {**trace, "costs": costs_then, "baseline": baseline, "run_id": name}, tmp_path)
        expect(page.locator(".sv-grid")).to_have_attribute("data-run", name)
        press(page, "End")
        own = (
            "39 ms: draft 8 ms, one pass 30 ms, rest 1 ms"
            if name == "costs"
            else "61 ms: draft 9 ms, one pass 49 ms, rest 3 ms"
        )
        expect(clock).to_contain_text(own)
        expect(clock).to_contain_text(words)
    press(page, "Home", "ArrowRight")
    expect(clock).to_contain_text("draft 9 ms")
    expect(clock).not_to_contain_text("pass 49")


def altered(kind: str) -> tuple[dict[str, Any], str]:
    """A trace with an odd ending or none of a state, and what its last beat is called."""
    trace = fixture_trace(k=3, steps=1)
    step = trace["steps"][0]
    if kind == "without drafts":
        step.update(k=0, drafts=[], k_reason="length")
        step["final"].update(kind="bonus", q=None, mass=None, overlap=None, entropy_q=None)
    elif kind == "stopped":
        trace["stop"] = "stopped"
    elif kind == "fault":
        trace["settings"]["fault"] = "keep-all"
    trace["token_ids"] = [draft["id"] for draft in step["drafts"] if draft["state"] == "accepted"] + [
        step["final"]["id"]
    ]
    step["totals"].update(tokens=len(trace["token_ids"]))
    return trace, "the draw"


@pytest.mark.parametrize(
    ("kind", "place", "words"),
    [
        ("without drafts", ".sv-open", "nothing drafted: the length limit is near"),
        ("stopped", ".sv-line", "stopped by hand"),
        ("fault", ".sv-line", "deliberate mistake: keep-all"),
    ],
)
def test_odd_runs_read_correctly(page: Page, tmp_path: Path, kind: str, place: str, words: str) -> None:
    trace, last = altered(kind)
    open_trace(page, trace, tmp_path)
    press(page, "End")
    expect(page.locator(".sv-where")).to_contain_text(last)
    expect(page.locator(place)).to_contain_text(words)
    assert page.complaints == []  # type: ignore[attr-defined]


def test_cells_are_the_same_compact_and_open(page: Page, trace: dict[str, Any]) -> None:
    go_to_step(page, 4)
    number, position = 4, 1
    state = trace["steps"][3]["drafts"][0]["state"]
    text = cell(page, number, position, state).locator(".sv-token").inner_text()
    go_to_step(page, 5)
    expect(page.locator(".sv-compact").last).to_have_attribute("data-row", "4")
    expect(cell(page, number, position, state).locator(".sv-token")).to_have_text(text)
