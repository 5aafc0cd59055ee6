"""What has to hold of the look: nothing from elsewhere, hostile text is text, contrast, a phone, both schemes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from specviz import Trace
from tests.browser.helpers import cell, go_to_step, open_trace, press, run, unfold_speed
from tests.browser.traces import HOSTILE, WORDS, fixture_trace
from tests.unit.test_doubts import costs, with_race

CONTRAST = """(selectors) => {
  const channels = (text) => text.match(/[0-9.]+/g).map(Number);
  const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d', {willReadFrequently: true});
  const rgb = (colour, under) => { canvas.fillStyle = under; canvas.fillRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (node) => { for (let n = node; n; n = n.parentElement) {
    const colour = getComputedStyle(n).backgroundColor; if (!/, 0\\)$|transparent/.test(colour)) return colour; } return 'white'; };
  return selectors.flatMap((selector) => [...document.querySelectorAll(selector)].slice(0, 3).map((node) => {
    const style = getComputedStyle(node), under = ground(node);
    const text = node.tagName === 'text' ? style.fill : style.color;
    const [a, b] = [light(rgb(text, under)), light(rgb(under, 'white'))].sort((x, y) => y - x);
    return [selector, (a + 0.05) / (b + 0.05)];
  }));
}"""
TEXTS = [
    ".sv-top h1", ".sv-top p", ".sv-prompt", ".sv-out", ".sv-about", ".sv-heading span", ".sv-number small", ".sv-cell .sv-q", ".sv-cell .sv-p",
    ".sv-note span", ".sv-rejected .sv-token", ".sv-rejected .sv-glyph", ".sv-discarded .sv-token", ".sv-key", ".sv-bracket span",
    ".sv-connector span", ".sv-where", "[data-speed=slow]", "[data-speed=normal]", ".sv-more-speed", ".sv-card h3", ".sv-card p", ".sv-figure",
    ".sv-status span", "#run", "#open", "#plain", "#prompt textarea", "#k [data-testid=block-info]", "#chart .xtick text",
    "#chart .annotation-text", "footer button",
]  # fmt: skip


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_text_can_be_read_in_both_schemes(page: Page) -> None:
    run(page)
    unfold_speed(page)
    press(page, "Home", "n", "ArrowRight", "ArrowRight")
    while not page.locator(".sv-compact .sv-number small").count():
        press(page, "n", "ArrowRight", "ArrowRight")
    page.locator("#chart .main-svg").first.wait_for()
    dark = page.evaluate("document.body.classList.contains('dark')")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(18, 22, 27)" if dark else "rgb(255, 255, 255)")
    ratios = page.evaluate(CONTRAST, TEXTS)
    assert {name for name, _ in ratios} == set(TEXTS)
    assert [(name, round(ratio, 2)) for name, ratio in ratios if ratio < 4.5] == []


def test_nothing_is_asked_of_any_other_host(page: Page, server: str) -> None:
    run(page)
    unfold_speed(page)
    page.locator("#chart .main-svg").first.wait_for()
    assert page.hosts == {server.split("/")[2]}  # type: ignore[attr-defined]
    assert page.complaints == []  # type: ignore[attr-defined]


def test_hostile_tokens_are_text_everywhere(page: Page, tmp_path: Path) -> None:
    trace = fixture_trace(words=HOSTILE + WORDS, steps=20, run_id="<b>${window.__pwned=9}</b>")
    trace["prompt"]["text"] = HOSTILE[0] + HOSTILE[1] + HOSTILE[2]
    trace["settings"]["pair"] = HOSTILE[0]
    open_trace(page, trace, tmp_path)
    names: set[str] = set()
    for step in trace["steps"]:
        go_to_step(page, step["step"])
        page.locator(".sv-open .sv-cell").first.click()
        names |= set(page.locator(".sv-open .sv-token").all_text_contents())
    assert page.evaluate("window.__pwned") is None
    expect(page.locator(".sv-player img, .sv-player script, .sv-player b b")).to_have_count(0)
    for text in HOSTILE[:2] + HOSTILE[5:6]:
        assert text.replace(" ", "␣") in names
    assert {"⟨empty⟩", "⟨U+200B⟩", "⟨F0⟩", "⟨U+D800⟩", "⟨U+202E⟩שלום", "↵", "⇥", "x" * 400} <= names
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("page", ["phone"], indirect=True)
def test_a_phone_has_one_column_and_a_sheet(page: Page, tmp_path: Path) -> None:
    open_trace(page, fixture_trace(k=6, words=HOSTILE + WORDS), tmp_path)
    press(page, "Shift+ArrowRight", "Shift+ArrowRight")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    expect(page.locator(".sv-transport")).to_be_in_viewport()
    inspector = page.locator(".sv-inspector")
    expect(inspector).to_be_hidden()
    page.locator(".sv-open .sv-cell").first.click()
    expect(inspector).to_be_in_viewport()
    page.get_by_role("button", name="close").click()
    expect(inspector).to_be_hidden()
    lefts = page.locator(".sv-open .sv-cell:not(.sv-indented)").evaluate_all(
        "nodes => nodes.map(node => node.getBoundingClientRect().left)"
    )
    assert len(set(lefts)) == 1
    size = page.locator(".sv-open .sv-token").first.evaluate(
        "node => parseFloat(getComputedStyle(node).fontSize)"
    )
    assert size >= 16


def test_wide_steps_wrap_inside_the_page(page: Page, tmp_path: Path) -> None:
    open_trace(page, fixture_trace(k=16, steps=4), tmp_path)
    press(page, "End")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tops = page.locator(".sv-open .sv-drafts .sv-cell").evaluate_all(
        "nodes => nodes.map(node => node.offsetTop)"
    )
    assert sorted(tops.count(top) for top in set(tops)) == [8, 8]


@pytest.mark.parametrize("size", [(1600, 900), (1366, 640)])
@pytest.mark.parametrize("k", [4, 8, 16])
def test_nothing_needed_to_play_a_step_scrolls(
    page: Page, tmp_path: Path, size: tuple[int, int], k: int
) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    open_trace(page, fixture_trace(k=k, steps=30), tmp_path)
    place = page.locator(".sv-transport").bounding_box()
    for key in ["n", "ArrowRight", "ArrowRight", "End", "Escape"]:
        press(page, key)
        # at the end a card stands, until Esc, and in a low window takes the legend's place
        foot = ".sv-endcard" if key == "End" else ".sv-legend"
        for part in (".sv-ribbon", ".sv-transport", ".sv-open", foot, ".sv-inspector", ".sv-fold"):
            box = page.locator(part).bounding_box()
            assert box and box["y"] >= 0 and box["y"] + box["height"] <= size[1], (part, box)
        assert page.locator(".sv-transport").bounding_box() == place
    left, fold = page.locator(".sv-legend").bounding_box(), page.locator(".sv-fold").bounding_box()
    assert left and fold and left["y"] + left["height"] <= fold["y"]
    cut = page.locator(".sv-open .sv-cell").evaluate_all(
        "nodes => nodes.filter(node => node.scrollHeight > node.clientHeight + 3).length"
    )
    assert cut == 0


def test_a_character_split_over_tokens_is_one_in_the_text_and_bytes_in_the_cells(
    page: Page, tmp_path: Path
) -> None:
    trace = fixture_trace(k=2, steps=1, words=["\udcf0\udc9f", "\udc99\udc82", "a"])
    step = trace["steps"][0]
    for item, token in zip([*step["drafts"], step["final"]], [0, 1, 2], strict=True):
        item["id"] = token
        item["state" if "state" in item else "kind"] = "accepted" if "state" in item else "bonus"
    for draft in step["drafts"]:
        draft.update(coin=0.0, overlap=0.5, mass=0.5)
    step["final"].update(q=None, mass=None)
    trace["token_ids"] = [0, 1, 2]
    open_trace(page, trace, tmp_path)
    press(page, "End")
    assert "".join(page.locator(".sv-out").all_text_contents()) == "🙂a"
    expect(cell(page, 1, 1, "accepted").locator(".sv-token")).to_have_text("⟨F0⟩⟨9F⟩")


def test_an_accepted_end_token_has_no_final_draw_and_is_not_in_the_text(page: Page, tmp_path: Path) -> None:
    trace = fixture_trace(k=3, steps=1)
    step = trace["steps"][0]
    step["drafts"][0].update(state="accepted", coin=0.0, overlap=0.5, mass=0.5)
    for draft in step["drafts"][1:]:
        draft.update(state="discarded", coin=None, overlap=None, mass=None)
    end = step["drafts"][0]["id"]
    step["final"] = None
    trace["settings"]["end_ids"] = [end]
    trace["token_ids"], trace["stop"] = [end], "end"
    step["totals"]["tokens"] = 1
    open_trace(page, trace, tmp_path)
    press(page, "End")
    expect(page.locator(".sv-open .sv-finals")).to_have_text("none: the end token was kept")
    expect(page.locator(".sv-out")).to_have_count(0)
    expect(page.locator(".sv-about")).to_contain_text("stopped at the end token")
    expect(cell(page, 1, 2, "discarded")).to_contain_text("not used")
    expect(cell(page, 1, 2, "discarded").locator(".sv-p")).to_have_css("text-decoration-line", "line-through")


def test_a_speedup_below_one_is_shown_as_below_one(page: Page, tmp_path: Path) -> None:
    trace = fixture_trace(steps=6)
    trace["costs"] = costs([10.0 + rows for rows in range(17)], draft=12.0, rest=2.0)
    modelled = Trace(trace).metrics["speedup_modelled"]
    trace = with_race(trace, modelled)
    open_trace(page, trace, tmp_path)
    unfold_speed(page)
    for number in (2, 3):
        card = page.locator(".sv-card").nth(number)
        value = float(re.sub("[^0-9.]", "", card.locator(".sv-figure").inner_text()))
        assert 0 < value < 1
        expect(card).to_contain_text("slower than plain decoding")


def test_why_fewer_were_drafted_fits_into_a_compact_row(lesson: Page) -> None:
    lesson.set_viewport_size({"width": 1366, "height": 640})
    press(lesson, "Escape", "End", "Escape")
    notes = lesson.locator(".sv-past .sv-fewer")
    expect(notes.first).to_be_visible()
    heights = "notes => notes.map(note => [note, note.closest('.sv-step')].map(each => each.getBoundingClientRect().height))"
    assert [row for row in notes.evaluate_all(heights) if row[0] > row[1]] == []
