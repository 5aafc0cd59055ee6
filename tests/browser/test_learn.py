"""The text of Learn beside the run: words light up what they name, experiments set the page up."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from specviz.page import gallery
from tests.browser.conftest import PHONE
from tests.browser.helpers import number_field


def steps_of(recorded: str) -> int:
    return len(gallery.open_recorded(recorded).data["steps"])


@pytest.fixture
def learn(lesson: Page) -> Page:
    """The tab, opened; parametrize `lesson` for a phone."""
    lesson.locator('[role="tab"][data-tab-id="learn"]').click()
    lesson.locator(".svl-section").first.wait_for()
    return lesson


def attempt(page: Page, label: str) -> None:
    page.get_by_role("button", name=label, exact=True).first.click()


def test_words_light_up_and_experiments_go_to_their_beat_beside_the_text(learn: Page) -> None:
    attempt(learn, "See the owed pieces slide into a bar")
    expect(learn.locator(".sv-where")).to_contain_text(f"step 2 of {steps_of('opening')} · what is owed")
    expect(learn.locator(".svl-section").first).to_be_visible()
    learn.locator('.svl-word[data-show="bar"]').first.hover()
    expect(learn.locator(".svi-throw.svl-lit")).to_be_visible()
    learn.locator('.svl-word[data-show="cells"]').first.focus()
    expect(learn.locator(".sv-now .sv-cell.svl-lit")).to_have_count(4)
    expect(learn.locator(".svi-throw.svl-lit")).to_have_count(0)
    learn.keyboard.press("End")  # scrolls the text, and is no key of the player
    expect(learn.locator(".sv-where")).to_contain_text(f"step 2 of {steps_of('opening')}")
    attempt(learn, "The target drafts for itself")
    expect(learn.locator(".sv-line")).to_contain_text("The target drafts for itself")
    expect(learn.locator(".sv-where")).to_contain_text(f"step 1 of {steps_of('self')}")


def test_a_question_opens_a_lab_with_its_switch_and_sets_controls_without_a_run(learn: Page) -> None:
    learn.locator('[data-chapter="questions"]').click()
    learn.locator("#question-11 summary").click()
    attempt(learn, "Exact match at the opening lesson's position")
    expect(learn.locator(".svx-banner")).to_contain_text("exact match")
    expect(learn.locator(".svx-title")).to_contain_text("Step 2, position 3")
    expect(learn.locator('[data-part="throws"]')).to_contain_text("chance alone explains it")
    learn.locator('[role="tab"][data-tab-id="learn"]').click()
    expect(learn.locator("#question-11 .svl-try")).to_be_visible()  # where one was
    learn.locator("#question-30 summary").click()
    attempt(learn, "Set K to 12")
    expect(number_field(learn, "k")).to_have_value("12")
    expect(number_field(learn, "temperature")).to_have_value("0.7")
    expect(learn.locator(".svl-note")).to_contain_text("Press Run when you like")
    expect(learn.locator(".sv-grid")).to_have_attribute("data-run", gallery.open_recorded("opening").data["run_id"])  # fmt: skip


def test_a_question_fills_a_field_of_a_lab(learn: Page) -> None:
    learn.locator('[data-chapter="questions"]').click()
    learn.locator("#question-31 summary").click()
    attempt(learn, "That pair in the speed lab")
    for name, value in (("if-alpha", "0.81"), ("if-c", "0.6"), ("if-k", "5")):
        expect(learn.locator(f"#{name} input[type=number]")).to_have_value(value)
    expect(learn.locator("#speed-verdict")).to_contain_text("K = 5 gives")


@pytest.mark.parametrize("lesson", ["phone"], indirect=True)
def test_on_a_phone_an_experiment_leads_to_the_run(learn: Page) -> None:
    expect(learn.locator(".sv-player")).to_be_hidden()
    attempt(learn, "Toss the coin that rejects")
    expect(learn.locator(".sv-where")).to_contain_text(f"step 2 of {steps_of('opening')} · threshold 3")
    expect(learn.locator(".sv-player")).to_be_visible()
    assert learn.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
