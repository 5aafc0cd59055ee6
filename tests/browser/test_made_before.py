"""What SpecViz wrote at commit b2a59fa, in today's page: traces, the offline file, links and a lesson's link."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.helpers import beat, number_field, open_file, press

BEFORE = Path(__file__).resolve().parents[1] / "made_before"
SETTINGS = (
    "prompt=1+15+42&pair=toy&draft=model&k=6&temperature=0.5&top_k=3&top_p=0.9&max_new_tokens=20&seed=11"
    "&chat=raw+text&agreement=0.7"
)


@pytest.mark.parametrize("name", ["run.json", "branch.json", "mistake.json", "real.json", "run.csv"])
def test_a_trace_of_then_opens_and_plays_to_its_end(page: Page, name: str) -> None:
    open_file(page, BEFORE / name)
    expect(page.locator("#status")).to_contain_text("Opened from a file.")
    press(page, "Home")
    assert beat(page).startswith("step 1 of")
    press(page, "End")
    expect(page.locator('[data-part="details"]')).not_to_be_empty()
    assert page.complaints == []  # type: ignore[attr-defined]


def test_the_offline_file_of_then_still_opens(browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    opened, complaints = context.new_page(), []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto((BEFORE / "run.html").as_uri())
    expect(opened.locator(".sv-where")).to_contain_text("step 1 of")
    opened.keyboard.press("End")
    expect(opened.locator(".sv-where")).not_to_contain_text("step 1 of")
    assert complaints == []
    context.close()


def test_a_link_of_then_fills_every_control(page: Page, server: str) -> None:
    page.goto(f"{server}?{SETTINGS}")
    for name, value in (("k", "6"), ("temperature", "0.5"), ("seed", "11")):
        expect(number_field(page, name)).to_have_value(value)
    expect(page.locator("#prompt textarea")).to_have_value("1 15 42")
    page.locator("#more button").first.click()
    for name, value in (("top_k", "3"), ("top_p", "0.9"), ("max_new_tokens", "20"), ("agreement", "0.7")):
        expect(number_field(page, name)).to_have_value(value)
    expect(page.locator("#chat input")).to_have_value("raw text")


def test_a_lessons_link_of_then_locks_hides_and_sets_its_task(page: Page, server: str) -> None:
    page.goto(
        f"{server}?{SETTINGS}&lock=k,seed&hide=temperature&task=Why+was+it+rejected%3F&predict=1&beat=1.verify"
    )
    expect(page.locator(".sv-task")).to_contain_text("Why was it rejected?")
    expect(number_field(page, "k")).to_be_disabled()
    expect(page.locator("#temperature")).to_be_hidden()
    expect(page.locator("#prompt textarea")).to_be_enabled()
