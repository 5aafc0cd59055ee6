"""Controls describe the next run, everything else the run on screen; the gallery, links, files dropped on the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from specviz.page import gallery
from specviz.page.server.runs import Runs
from tests.browser.conftest import PHONE
from tests.browser.helpers import (
    beat,
    choose,
    complaint,
    go_to_step,
    number_field,
    open_trace,
    press,
    run,
    set_number,
)
from tests.browser.traces import fixture_trace


def run_words(page: Page) -> str:
    """What Run says, with what the page's style adds to it."""
    added = page.locator("#run").evaluate("node => getComputedStyle(node, '::after').content")
    return "Run" + added.strip('"').replace("\u00a0", " ")


def query(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_a_changed_control_says_what_it_was_and_one_press_goes_back(page: Page) -> None:
    run(page)
    assert run_words(page) == "Run"
    expect(page.locator("#back")).to_be_hidden()
    set_number(page, "k", 6)
    expect(page.locator("#back")).to_be_visible()
    assert run_words(page) == "Run with K 6"
    was = "node => getComputedStyle(node, '::after').content"
    assert page.locator("#k").evaluate(was) == '"was 4"'
    set_number(page, "temperature", 0.5)
    expect(page.locator("#temperature")).to_be_visible()
    assert run_words(page) == "Run with 2 changes"
    expect(page.locator(".sv-line")).to_contain_text("K 4 · temperature 0.8")
    page.locator("#back").click()
    expect(page.locator("#back")).to_be_hidden()
    expect(number_field(page, "k")).to_have_value("4")
    expect(number_field(page, "temperature")).to_have_value("0.8")
    assert run_words(page) == "Run"


def test_a_changed_control_draws_nothing_of_the_run_again(page: Page) -> None:
    run(page)
    press(page, "Home")
    page.evaluate("() => document.querySelectorAll('.sv-player *').forEach((node) => { node.stays = true; })")
    set_number(page, "k", 6)
    expect(page.locator("#back")).to_be_visible()
    assert run_words(page) == "Run with K 6"
    page.locator("#back").click()
    expect(page.locator("#back")).to_be_hidden()
    new = "() => [...document.querySelectorAll('.sv-player *')].filter((node) => !node.stays).length"
    assert page.evaluate(new) == 0
    assert beat(page).endswith("the start")


def test_a_second_run_replaces_the_first(page: Page) -> None:
    run(page)
    first = page.locator(".sv-written").inner_text()
    set_number(page, "seed", 8)
    run(page)
    expect(page.locator(".sv-line")).to_contain_text("seed 8")
    assert page.locator(".sv-written").inner_text() != first
    assert run_words(page) == "Run"
    steps = page.locator(".sv-column").count()
    assert beat(page).startswith(f"step {steps} of {steps}")


def test_the_address_is_written_only_after_somebody_did_something(lesson: Page, lesson_server: str) -> None:
    expect(lesson.locator("#chart")).to_be_attached()  # what the page loads by itself has arrived
    assert lesson.url == lesson_server
    press(lesson, "ArrowRight")
    lesson.wait_for_url(re.compile("beat=1.draft.4"))
    assert query(lesson) == {"recorded": gallery.entries()[0].name, "beat": "1.draft.4"}


def test_a_link_restores_run_beat_and_speed_of_nothing_else(lesson: Page, lesson_server: str) -> None:
    other = gallery.entries()[1]
    lesson.goto(f"{lesson_server}?recorded={other.name}&beat=2.draft.3")
    expect(lesson.locator(".sv-where")).to_contain_text("step 2 of")
    expect(lesson.locator(".sv-where")).to_contain_text("draft 3")
    expect(lesson.locator("#recorded input")).to_have_value(other.title)
    expect(lesson.locator(".sv-line")).to_contain_text(other.look_for)
    trace = gallery.open_recorded(other.name).data
    expect(lesson.locator("#prompt textarea")).to_have_value(trace["prompt"]["text"])
    assert run_words(lesson) == "Run"


def test_a_link_to_a_run_fills_the_controls_and_starts_nothing(
    page: Page, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Runs, "keep", lambda *_: None)  # as long as the server does not have it
    set_number(page, "k", 3)
    set_number(page, "max_new_tokens", 20)
    choose(page, "draft", "noise")
    page.locator(".sv-top h1").click()
    run(page)
    go_to_step(page, 4)
    page.wait_for_url(re.compile("beat=4"))
    link = page.url
    grid = page.locator(".sv-written").inner_text()
    page.goto(link)
    expect(page.locator("#status")).to_contain_text("The link's settings are in the controls: press Run.")
    expect(number_field(page, "k")).to_have_value("3")
    expect(number_field(page, "max_new_tokens")).to_have_value("20")
    expect(page.locator(".sv-player")).to_have_attribute("data-phase", "empty")
    page.locator(".sv-top h1").click()
    page.locator("#run").click()
    expect(page.locator(".sv-where")).to_contain_text("step 4 of")
    assert page.locator(".sv-written").inner_text() == grid


@pytest.mark.parametrize(
    ("tail", "answer"),
    [
        ("k=99&prompt=1", "K must be a whole number from 0 to 16"),
        ("seed=x&prompt=1", "The link's seed is 'x', which is no number."),
        ("pair=/etc&prompt=1", "There is no pair"),
        ("recorded=../secret", "There is no recorded run"),
    ],
)
def test_a_wrong_link_is_one_sentence(lesson: Page, lesson_server: str, tail: str, answer: str) -> None:
    lesson.goto(f"{lesson_server}?{tail}")
    expect(lesson.locator("#status .sv-error")).to_contain_text(answer)
    expect(lesson.locator(".sv-open")).to_be_visible()


def test_the_page_opens_at_the_start_of_the_lesson_and_tells_its_story(lesson: Page) -> None:
    assert beat(lesson).startswith("step 1 of") and beat(lesson).endswith("the start")
    expect(lesson.locator(".sv-open .sv-slot")).to_have_count(5)
    expect(lesson.locator(".sv-written .sv-out")).to_have_count(0)
    told = [lesson.locator(".sv-caption").inner_text()]
    while not beat(lesson).startswith("step 3"):
        press(lesson, "ArrowRight")
        text = lesson.locator(".sv-caption").all_text_contents()
        if text and text[0] != told[-1]:
            told.append(text[0])
    assert len(told) == 7
    assert told[0].startswith("A small model guesses, a big model checks")
    assert told[-1].endswith("distributed exactly as the target’s own.")
    expect(lesson.locator(".sv-line")).to_contain_text(gallery.entries()[0].look_for)


def test_esc_ends_the_captions(lesson: Page) -> None:
    expect(lesson.locator(".sv-caption")).to_be_visible()
    press(lesson, "Escape")
    expect(lesson.locator(".sv-caption")).to_have_count(0)
    press(lesson, "ArrowRight")
    expect(lesson.locator(".sv-caption")).to_have_count(0)


def test_every_recorded_run_opens_and_plays_through(lesson: Page) -> None:
    problems: list[str] = []
    lesson.on("pageerror", lambda error: problems.append(str(error)))
    for entry in gallery.entries()[1:]:
        lesson.locator("#recorded input").click()
        lesson.get_by_role("option", name=entry.title, exact=True).click()
        expect(lesson.locator(".sv-line")).to_contain_text(entry.look_for)
        lesson.locator(".sv-heading").click()
        steps = lesson.locator(".sv-column").count()
        for _ in range(steps):
            press(lesson, "Shift+ArrowRight")
        assert beat(lesson).startswith(f"step {steps} of {steps}")
        assert run_words(lesson) == "Run"
    assert problems == []


@pytest.mark.parametrize("lesson", ["phone"], indirect=True)
def test_a_phone_opens_with_the_lesson_in_one_column(lesson: Page) -> None:
    assert lesson.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    expect(lesson.locator(".sv-transport")).to_be_in_viewport()
    expect(lesson.locator(".sv-open .sv-slot").first).to_be_visible()


def drop(page: Page, name: str, text: str) -> None:
    """Drop a file on the page."""
    page.evaluate(
        """([name, text]) => { const data = new DataTransfer(); data.items.add(new File([text], name));
          document.querySelector('.sv-player').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); }""",
        [name, text],
    )


def test_a_dropped_json_or_csv_is_opened(page: Page, tmp_path: Path) -> None:
    from specviz import Trace

    trace = fixture_trace(steps=3)
    drop(page, "dropped.json", json.dumps(trace))
    expect(page.locator(".sv-column")).to_have_count(3)
    Trace(fixture_trace(steps=5)).to_csv(tmp_path / "t.csv")
    drop(page, "dropped.csv", (tmp_path / "t.csv").read_text())
    expect(page.locator(".sv-column")).to_have_count(5)
    drop(page, "dropped.txt", "hello")
    complaint(page, "That file is no trace: choose one that ends in .json or .csv.")
    expect(page.locator(".sv-column")).to_have_count(5)


def test_an_opened_file_leaves_the_controls_alone(page: Page, tmp_path: Path) -> None:
    open_trace(page, fixture_trace(k=2), tmp_path)
    expect(number_field(page, "k")).to_have_value("4")
    assert page.locator("#k").evaluate("node => getComputedStyle(node, '::after').content") == '"was 2"'
    expect(page.locator("#plain")).to_be_disabled()


def test_more_lies_over_the_page_and_folds_away(page: Page, tmp_path: Path) -> None:
    open_trace(page, fixture_trace(), tmp_path)
    place = page.locator(".sv-transport").bounding_box()
    number_field(page, "seed")
    expect(page.locator("#seed")).to_be_visible()
    assert page.locator(".sv-transport").bounding_box() == place
    page.locator(".sv-heading").click()
    expect(page.locator("#seed")).to_be_hidden()
