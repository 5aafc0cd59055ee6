"""The race: both loops really run, then one clock; what is stopped is kept, and stillness is respected."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from specviz import Trace
from specviz.models.toy import ToyCursor
from tests.browser.helpers import downloaded_trace, open_trace, press, set_number, unfold_speed
from tests.browser.traces import fixture_trace

RACE = ".sv-race"


def lane(page: Page, name: str, part: str) -> Any:
    return page.locator(f'{RACE} [data-lane="{name}"] .sv-race-{part}')


def started(page: Page) -> None:
    page.locator("#race").click()
    expect(page.locator(RACE)).to_be_visible()


def test_both_loops_race_on_one_clock_and_the_loser_loses_on_screen(page: Page, tmp_path: Path) -> None:
    set_number(page, "max_new_tokens", 24)
    started(page)
    page.locator(f"{RACE} [data-race=end]").click()
    expect(page.locator(f"{RACE} .sv-race-note")).to_contain_text(re.compile("run in turns, [3-9] rounds"))
    for name in ("plain", "speculative"):
        expect(lane(page, name, "count")).to_have_text("24 tokens")
        expect(lane(page, name, "end")).to_contain_text("done in")
    verdict = page.locator(f"{RACE} .sv-race-verdict").inner_text()
    why = page.locator(f"{RACE} .sv-race-why").inner_text()
    press(page, *["ArrowLeft"] * 30)
    expect(page.locator(f"{RACE} .sv-race-verdict")).to_have_count(0)
    early = int(lane(page, "plain", "count").inner_text().split()[0])
    assert early < 24
    page.locator(f"{RACE} [data-slow='10']").click()
    page.locator(f"{RACE} [data-race=play]").click()
    expect(page.locator(f"{RACE} .sv-race-verdict")).to_have_text(verdict)
    press(page, "Escape")
    expect(page.locator(RACE)).to_be_hidden()
    trace = downloaded_trace(page, tmp_path)
    baseline, steps = trace["baseline"], trace["steps"]
    assert lane(page, "plain", "text").text_content() == "".join(
        trace["tokens"][str(token)] for token in baseline["token_ids"]
    )
    assert lane(page, "speculative", "text").text_content() == "".join(
        trace["tokens"][str(token)] for token in trace["token_ids"]
    )
    figures = Trace(trace).metrics
    low, high = (figures[f"speedup_measured_{bound}"] for bound in ("low", "high"))
    word = "A draw" if low <= 1 <= high else "Speculation wins" if low > 1 else "Speculation loses"
    assert verdict.startswith("No verdict" if figures["speedup_measured_doubt"] else word)
    assert ("Two texts of one law" in why) == (baseline["token_ids"] != trace["token_ids"])
    examined = [draft for step in steps for draft in step["drafts"] if draft["coin"] is not None]
    kept = sum(draft["state"] == "accepted" for draft in examined) / len(examined)
    assert f"{kept:.2f} of the drafts" in why and f"gave {24 / len(steps):.2f} tokens" in why
    assert "drafting" in why and "verification" in why
    unfold_speed(page)
    page.get_by_role("button", name="Watch the race").click()
    expect(page.locator(RACE)).to_be_visible()
    assert page.complaints == []  # type: ignore[attr-defined]


def test_a_race_that_is_stopped_keeps_what_was_run_and_says_so(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, plain, extend = threading.Event(), [0], ToyCursor.extend

    def held(self: Any, ids: Any, rows: int) -> Any:
        # only the plain loop reads one token at a time with the target's own law and asks for one row
        plain[0] = plain[0] + 1 if self._agreement == 1 and rows == 1 and len(ids) == 1 else 0
        if plain[0] == 10:
            assert gate.wait(30)
        return extend(self, ids, rows)

    monkeypatch.setattr(ToyCursor, "extend", held)
    page.locator("#race").click()
    expect(page.locator("#status")).to_contain_text("race, round 1 of at least 3, the plain loop:")
    with page.expect_response(lambda answer: "queue/join" in answer.url or "/run/" in answer.url):
        page.locator("#stop").click()
    gate.set()
    expect(page.locator(RACE)).to_be_visible()
    expect(page.locator("#status")).to_contain_text("The race was stopped: this is what was run.")
    page.locator(f"{RACE} [data-race=end]").click()
    expect(lane(page, "plain", "end")).to_contain_text("stopped in")
    expect(page.locator(f"{RACE} .sv-race-why")).to_contain_text("stopped before its end")
    press(page, "Escape")
    trace = downloaded_trace(page, tmp_path)
    assert len(trace["token_ids"]) == 64
    assert 0 < trace["baseline"]["tokens"] < 64
    expect(page.locator("#race")).to_be_enabled()


def test_a_race_stands_still_where_motion_is_not_wanted(browser: Browser, server: str) -> None:
    context = browser.new_context(viewport={"width": 1600, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.goto(server)
    page.locator(".sv-player[data-ready] .sv-intro").wait_for()
    expect(page.locator("#race")).to_be_enabled()
    started(page)
    expect(page.locator(f"{RACE} .sv-race-verdict")).to_be_visible()
    expect(page.locator(f"{RACE} [data-race=play]")).to_have_count(0)
    expect(lane(page, "plain", "count")).to_have_text("64 tokens")
    before = page.locator(f"{RACE} .sv-race-clock").inner_text()
    page.locator(f"{RACE} [data-race=back]").click()
    expect(page.locator(f"{RACE} .sv-race-verdict")).to_have_count(0)
    press(page, "ArrowRight")
    expect(page.locator(f"{RACE} .sv-race-verdict")).to_be_visible()
    expect(page.locator(f"{RACE} .sv-race-clock")).to_have_text(before)
    context.close()


def test_an_opened_run_says_what_a_race_would_need(page: Page, tmp_path: Path) -> None:
    trace = fixture_trace()
    trace["baseline"] = {"tokens": 2, "ms": 90.0, "token_ids": trace["token_ids"][:2]}
    open_trace(page, trace, tmp_path)
    unfold_speed(page)
    expect(page.locator(".sv-card").nth(3)).to_contain_text(re.compile("needs its time.*press Race"))
    expect(page.get_by_role("button", name="Watch the race")).to_have_count(0)


def test_a_speedup_that_cannot_be_is_in_doubt_wherever_it_stands(page: Page, tmp_path: Path) -> None:
    trace = fixture_trace(steps=6)
    tokens = trace["steps"][-1]["totals"]["tokens"]
    spent = sum(step["ms"]["step"] for step in trace["steps"])
    written = trace["token_ids"][:tokens]
    trace["baseline"] = {"tokens": tokens, "ms": 21.09 * spent, "token_ids": written}
    open_trace(page, trace, tmp_path)
    unfold_speed(page)
    measured = page.locator(".sv-card").nth(3)
    expect(measured.locator(".sv-figure")).to_have_text("~ 21.09×")
    expect(measured).to_contain_text("in doubt: 21.09× is more than the")
    expect(measured).not_to_contain_text("faster")
    page.locator(".sv-where").click()
    press(page, "End")
    expect(page.locator(".sv-endcard")).to_contain_text("in doubt")
    expect(page.locator(".sv-endcard")).not_to_contain_text("faster")
