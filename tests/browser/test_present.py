"""Present: one step over the whole window, large enough for the last row, moved by a clicker, without a request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.helpers import beat, open_trace, press, requests_of, small_texts
from tests.browser.traces import WORDS, fixture_trace

LONG = [" antidisestablishmentarianism", "x" * 400, *WORDS]
SIZES = [(1600, 900), (1366, 768), (1920, 1080)]
# Everything that reaches over an edge: out of the window, or out of the cell or the column that it stands in.
CUT = """() => {
  const cut = [];
  const over = (node) => node.scrollHeight > node.clientHeight + 2 || node.scrollWidth > node.clientWidth + 2;
  document.querySelectorAll('.sv-ribbon, .sv-transport, .sv-open, .sv-inspector, .svi-said > *, .svi-shown > *').forEach((node) => {
    const box = node.getBoundingClientRect();
    if (box.height && (box.top < 0 || box.left < 0 || box.bottom > innerHeight || box.right > innerWidth)) cut.push([node.className, 'out of the window']);
  });
  document.querySelectorAll('.sv-open .sv-cell, .sv-drafts .sv-pq, .sv-finals .sv-note, .sv-inspector').forEach((node) => { if (over(node)) cut.push([node.className, node.innerText]); });
  if (document.documentElement.scrollHeight > innerHeight) cut.push('the page scrolls');
  return cut;
}"""


def no_full_screen(page: Page) -> None:
    page.evaluate(
        "() => { Element.prototype.requestFullscreen = () => Promise.reject(new TypeError('not allowed')); }"
    )


@pytest.fixture
def trace(page: Page, tmp_path: Path) -> dict[str, Any]:
    """A trace of 12 steps with K = 4, opened; this browser refuses the whole screen."""
    no_full_screen(page)
    made = fixture_trace()
    open_trace(page, made, tmp_path)
    return made


def cut_short(trace: dict[str, Any], at_most: int) -> dict[str, Any]:
    """The trace with its first step drafting fewer tokens than it was asked for."""
    first = trace["steps"][0]
    gone = first["drafts"][at_most:]
    assert gone and all(draft["state"] == "discarded" for draft in gone)
    first.update(k=at_most, k_reason="proposals", drafts=first["drafts"][:at_most])
    for step in trace["steps"]:
        step["totals"]["draft_passes"] -= len(gone)
    return trace


def present(page: Page) -> None:
    press(page, "f")
    expect(page.get_by_role("button", name="Leave")).to_be_visible()


def test_only_the_step_is_there_and_a_clicker_moves_it(page: Page, trace: dict[str, Any]) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.locator("[data-speed=slow]").click()
    asked = requests_of(page)
    present(page)
    for selector in (
        "#ask",
        ".sv-topbar",
        ".sv-heading",
        ".sv-legend",
        ".sv-fold",
        ".sv-clock",
        ".sv-past",
        "footer",
    ):
        expect(page.locator(selector)).to_be_hidden()
    assert page.locator(".sv-transport").bounding_box()["height"] == 56  # type: ignore[index]
    told = set()
    while beat(page).startswith("step 1"):
        told.add(beat(page).split("· ")[1])
        assert small_texts(page, 22) == []
        press(page, "PageDown")
    assert {"the start", "draft 1", "the target pass", "threshold 1", "coin 1", "the draw"} <= told
    assert page.locator(".sv-step:visible").count() == 1  # the first is over and not to be seen
    press(page, "PageUp")
    assert beat(page) == "step 1 of 12 · the draw"
    press(page, "Escape")
    expect(page.locator("#ask")).to_be_visible()
    expect(page.locator(".sv-legend")).to_be_visible()
    assert asked == []
    assert page.complaints == []  # type: ignore[attr-defined]  # that the whole screen was refused is none


def test_above_five_drafts_those_around_the_coin_are_large_and_nothing_is_cut_off(
    page: Page, tmp_path: Path
) -> None:
    no_full_screen(page)
    for k, size in [(8, SIZES[0]), (16, SIZES[1]), (16, SIZES[2])]:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        open_trace(page, fixture_trace(k=k, steps=6, words=LONG, run_id=f"k{k}-{size[0]}"), tmp_path)
        expect(page.locator(".sv-grid")).to_have_attribute("data-run", f"k{k}-{size[0]}")
        if not page.get_by_role("button", name="Leave").is_visible():
            present(page)
        press(page, "Home")
        for _ in range(14):
            press(page, "PageDown")
            assert page.evaluate(CUT) == [], (k, size, beat(page))
            large = page.locator(".sv-open .sv-drafts .sv-cell").evaluate_all(
                "nodes => nodes.map((node) => Number(node.dataset.position))"
            )
            assert large == list(range(large[0], large[0] + 5))
            chips = page.locator(".sv-chips .sv-cell").evaluate_all(
                "nodes => nodes.map((node) => Number(node.dataset.position))"
            )
            assert sorted(large + chips) == list(range(1, k + 1))
            words, number = beat(page).split("· ")[1].rsplit(" ", 1)
            if words in ("coin", "draft"):
                assert int(number) in large
                assert abs(int(number) - large[2]) <= 2 - min(2, int(number) - 1, k - int(number))
    assert small_texts(page, 20) == []


def test_a_step_with_fewer_drafts_than_asked_for_fits_too(page: Page, tmp_path: Path) -> None:
    no_full_screen(page)
    for drafted in (5, 7):
        run_id = f"cut-{drafted}"
        open_trace(page, cut_short(fixture_trace(k=8, steps=3, run_id=run_id), drafted), tmp_path)
        expect(page.locator(".sv-grid")).to_have_attribute("data-run", run_id)
        if drafted == 5:
            present(page)
        press(page, "Shift+ArrowRight")
        expect(page.locator(".sv-fewer:visible")).to_contain_text(f"only {drafted} drafted")
        assert page.evaluate(CUT) == []


def test_play_stops_at_the_end_of_each_step(page: Page, trace: dict[str, Any]) -> None:
    page.locator("[data-speed=step]").click()
    present(page)
    press(page, "Space")
    expect(page.locator(".sv-where")).to_contain_text("step 1 of 12 · the draw")
    expect(page.locator(".sv-play")).to_have_text("Play")
    press(page, "Space")
    expect(page.locator(".sv-where")).to_contain_text("step 2 of 12")
    expect(page.locator(".sv-play")).to_have_text("Play")
    assert beat(page).startswith("step 2 of 12")


def test_a_full_stop_blanks_the_screen_until_any_key(page: Page, trace: dict[str, Any]) -> None:
    press(page, ".")
    expect(page.locator(".sv-open")).to_be_visible()  # only while presenting
    present(page)
    press(page, "PageDown")
    where = beat(page)
    press(page, ".")
    assert small_texts(page, 9999) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(0, 0, 0)"
    expect(page.get_by_role("status").filter(has_text="blank")).to_have_count(1)
    press(page, "PageDown")  # brings it back and does nothing else
    expect(page.locator(".sv-open")).to_be_visible()
    assert beat(page) == where


def test_a_link_presents_and_leaving_takes_it_out_of_the_link(page: Page, server: str) -> None:
    page.goto(f"{server}?recorded=opening&beat=2.draw&present=1")
    expect(page.get_by_role("button", name="Leave")).to_be_visible()
    expect(page.locator(".sv-where")).to_contain_text("step 2")
    expect(page.locator("#ask")).to_be_hidden()
    press(page, "f")
    expect(page.locator("#ask")).to_be_visible()
    page.wait_for_function("!location.search.includes('present')")
    button = page.get_by_role("button", name="Present")
    button.click()
    page.wait_for_function("location.search.includes('present=1')")
    press(page, "Escape")
    expect(button).to_be_focused()


def test_predicting_and_the_end_card_work_while_presenting(page: Page, trace: dict[str, Any]) -> None:
    present(page)
    press(page, "p", "PageDown", "PageDown", "PageDown")
    panel = page.locator(".sv-predict")
    expect(panel.get_by_role("button", name="kept")).to_be_visible()
    assert small_texts(page, 22) == []
    assert page.evaluate(CUT) == []
    press(page, "a")
    expect(panel).to_contain_text("1")
    press(page, "p", "End")
    expect(page.locator(".sv-endcard")).to_be_visible()
    assert small_texts(page, 22) == []
    assert page.evaluate(CUT) == []
    press(page, "Escape")
    expect(page.locator(".sv-endcard")).to_be_hidden()
    expect(page.get_by_role("button", name="Leave")).to_be_visible()


def test_p_itself_shows_its_sentence_and_its_legend_on_a_small_projector(lesson: Page) -> None:
    lesson.set_viewport_size({"width": 1366, "height": 640})
    lesson.goto(f"{lesson.url.split('?')[0]}?recorded=opening&beat=2.draw&present=1")
    expect(lesson.locator(".svi-say")).to_contain_text("drawn from what the target is still owed")
    lesson.locator('[data-inspect="p"]').click()
    expect(lesson.locator(".svi-say")).to_contain_text("Replaced from p itself")
    for part in (".svi-say", ".svi-axis", ".svi-wrong"):
        expect(lesson.locator(part)).to_be_in_viewport(ratio=1)
