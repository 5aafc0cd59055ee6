"""The phone: one step as a list, a transport for a thumb, the inspector as a sheet, the controls behind a button."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.helpers import beat, open_trace, press, requests_of, run, small_texts
from tests.browser.test_player import rejecting_step
from tests.browser.traces import HOSTILE, WORDS, fixture_trace

pytestmark = pytest.mark.parametrize("page", ["phone"], indirect=True)
ROWS = "nodes => nodes.map((node) => { const box = node.getBoundingClientRect(); return [node.dataset.state, Math.round(box.left), Math.round(box.top)]; })"


@pytest.fixture
def trace(page: Page, tmp_path: Path) -> dict[str, Any]:
    """A trace of 12 steps with K = 4, opened."""
    made = fixture_trace()
    open_trace(page, made, tmp_path)
    return made


def test_a_step_is_a_list_with_the_replacement_under_its_rejected_row(
    page: Page, trace: dict[str, Any]
) -> None:
    asked = requests_of(page)
    number, position = rejecting_step(trace)
    press(page, *["Shift+ArrowRight"] * number)
    rows = page.locator(".sv-open .sv-cell").evaluate_all(ROWS)
    states = [row[0] for row in rows]
    assert states == [*["accepted"] * (position - 1), "rejected", "residual", *["discarded"] * (4 - position)]
    lefts = {state: left for state, left, _ in rows}
    assert lefts["residual"] > lefts["rejected"] == lefts["discarded"]
    assert [row[2] for row in rows] == sorted(row[2] for row in rows)
    press(page, "b")  # a bonus has a row of its own, the last
    rows = page.locator(".sv-open .sv-cell").evaluate_all(ROWS)
    assert [row[0] for row in rows] == [*["accepted"] * 4, "bonus"]
    assert len({row[1] for row in rows}) == 1
    expect(page.locator(".sv-past")).to_be_hidden()
    assert small_texts(page, 16) == []
    assert asked == []


def test_the_transport_stands_at_the_foot_with_targets_for_a_thumb(page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    open_trace(page, fixture_trace(k=16, words=HOSTILE + WORDS), tmp_path)
    press(page, "End")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.get_by_role("button", name="speed and more").click()
    targets = page.locator(".sv-transport button:visible").evaluate_all(
        "nodes => nodes.map((node) => { const box = node.getBoundingClientRect(); return [node.innerText, box.width, box.height, box.bottom <= innerHeight]; })"
    )
    assert len(targets) > 8
    assert [target for target in targets if target[1] < 56 or target[2] < 56 or not target[3]] == []
    page.locator("[data-speed=slow]").click()
    page.locator(".sv-open .sv-number").click()
    expect(page.locator("[data-speed=slow]")).to_be_hidden()
    where = beat(page)
    page.get_by_role("button", name="a beat back").click()
    assert beat(page) != where
    chosen = page.locator(".sv-open .sv-chosen").bounding_box()
    foot = page.locator(".sv-transport").bounding_box()
    assert chosen and foot and chosen["y"] >= 0 and chosen["y"] + chosen["height"] <= foot["y"]
    assert foot["y"] + foot["height"] == 740
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_row_opens_a_sheet_that_takes_the_focus_and_gives_it_back(
    page: Page, trace: dict[str, Any]
) -> None:
    press(page, "Shift+ArrowRight")
    row = page.locator(".sv-open .sv-cell").first
    sheet = page.locator(".sv-inspector")
    ways_out: list[tuple[Literal["no-preference", "reduce"], Callable[[], None]]] = [
        ("no-preference", lambda: page.get_by_role("button", name="close").click()),
        ("reduce", lambda: press(page, "Escape")),
        ("reduce", lambda: page.mouse.click(195, 20)),  # beside the sheet
    ]
    for motion, leave in ways_out:
        page.emulate_media(reduced_motion=motion)
        expect(sheet).to_be_hidden()
        row.click()
        expect(page.get_by_role("dialog", name="the chosen cell")).to_be_visible()
        moves = sheet.evaluate("node => getComputedStyle(node).animationName !== 'none'")
        assert moves == (motion == "no-preference")
        expect(sheet).to_be_focused()
        expect(page.locator("[inert] .sv-play, [inert] .sv-open, [inert] #top")).to_have_count(3)
        assert small_texts(page, 16) == []
        leave()
        expect(sheet).to_be_hidden()
        expect(row).to_be_focused()
    row.click()
    page.set_viewport_size({"width": 1600, "height": 900})  # a sheet does not outlive the phone
    expect(page.locator("[inert]")).to_have_count(0)
    expect(sheet).to_be_visible()


def test_the_controls_are_behind_a_button(page: Page) -> None:
    change = page.get_by_role("button", name="Change")
    expect(page.locator("#run")).to_be_hidden()
    change.click()
    for name in ("prompt", "k", "temperature", "more", "run"):
        expect(page.locator(f"#{name}")).to_be_visible()
    expect(change).to_have_attribute("aria-expanded", "true")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    run(page)
    expect(page.locator("#run")).to_be_hidden()
    expect(page.locator(".sv-open .sv-cell").first).to_be_visible()
    change.click()
    press(page, "Escape")
    expect(page.locator("#run")).to_be_hidden()
