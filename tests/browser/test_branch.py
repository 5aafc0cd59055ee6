"""Change this coin and run the branch: what a drag says is what a branch does, and nothing but the button asks the server."""

from __future__ import annotations

import csv
import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from specviz import Trace, decode, load_pair, resume
from specviz.bundle import script
from specviz.models.toy import ToyCursor
from specviz.page import gallery
from tests.browser.helpers import (
    complaint,
    download,
    downloaded_trace,
    open_file,
    open_trace,
    press,
    requests_of,
    run,
    set_number,
)
from tests.browser.traces import fixture_trace

OUTCOME = """([code, cases]) => new Function('cases', code + `
  const outcomeOf = ({ trace, step, position, purpose, u }) => {
    const at = trace.steps[step - 1];
    if (purpose === 'accept') return coinOutcome(at.drafts[position - 1], u);
    const drafted = at.drafts[position - 1];
    if (purpose === 'draft') return drawOutcome(trace, piecesOfDraft(drafted.row, drafted), drafted.id, u);
    const row = at.final.row ?? at.drafts[position - 1].row;
    return drawOutcome(trace, piecesOf(row, at.final), at.final.id, u);
  };
  return cases.map((each) => {
    const { same, verdict } = outcomeOf(each);
    return [same, [verdict].flat().map((part) => part.textContent ?? part).join('')];
  });`)(cases)"""


def marker(page: Page, purpose: str = "accept") -> Locator:
    return page.locator(f'[data-moves="{purpose}"]')


def said(page: Page) -> Locator:
    return page.locator(".svi-change:visible")


def go(page: Page, where: str) -> None:
    """Open the page at a link, ready."""
    page.goto(f"{page.url.split('?')[0]}?{where}")
    page.locator(".sv-player[data-ready][data-phase=done]").wait_for()
    page.complaints.clear()  # type: ignore[attr-defined]  # of the page that was left while it was loading
    press(page, "Escape")


def branched(page: Page) -> None:
    """Press "Run this branch" and wait until it is there: another run than before, which may be a branch as well."""
    grid = page.locator(".sv-grid")
    before = grid.get_attribute("data-run") or ""
    page.get_by_role("button", name="Run this branch").click()
    expect(grid).not_to_have_attribute("data-run", before)
    expect(page.locator(".sv-player")).to_have_attribute("data-phase", "done")
    expect(page.locator("#status")).to_contain_text("Branch:")


def decided(trace: Trace, step: int, position: int, purpose: str) -> Any:
    """What a branch leaves to its own address: kept or not, or the token drawn there."""
    at = trace.data["steps"][step - 1]
    if purpose == "final":
        return at["final"]["id"]
    draft = at["drafts"][position - 1]
    return draft["id"] if purpose == "draft" else draft["state"] == "accepted"


def test_a_drag_says_what_a_branch_would_do(page: Page) -> None:
    pair = load_pair("toy", agreement=0.6)
    trace = decode(pair, "1 15 42", max_new_tokens=12)
    cases, expected = [], []
    for step in trace.data["steps"]:
        if not step["drafts"]:
            continue
        last = sum(draft["state"] == "accepted" for draft in step["drafts"]) + 1
        for position, purpose in ((1, "accept"), (1, "draft"), (last, "final")):
            for u in (0.0, 0.2, 0.45, 0.7, 1 - 2**-53):
                change = {"step": step["step"], "position": position, "purpose": purpose, "u": u}
                was, now = (
                    decided(each, step["step"], position, purpose)
                    for each in (trace, resume(pair, trace, **change))
                )
                cases.append({"trace": trace.data, **change})
                expected.append((was == now, now))
    answers = page.evaluate(OUTCOME, [script("player/draw/inspector/movable.js"), cases])
    named = 0
    for case, (same, words), (unchanged, now) in zip(cases, answers, expected, strict=True):
        assert same == unchanged, case
        if not same and case["purpose"] == "accept":
            assert words == ("would be kept" if now else "would be rejected")
        elif not same and "one of the rest" not in words:
            assert words == f"␣{now} instead"
            named += 1
    assert named > 10 and len({same for same, _ in answers}) == 2


def test_a_coin_can_be_dragged_with_keys_and_pointer_and_asks_nobody(page: Page) -> None:
    draft = gallery.open_recorded("opening").data["steps"][1]["drafts"][2]
    chance = draft["p"] / draft["q"]
    as_it_was = f"coin {draft['coin']:.2f}, chance {chance:.2f}"
    go(page, "recorded=opening&beat=2.coin.3")
    expect(marker(page)).to_have_attribute("aria-valuetext", as_it_was)
    expect(said(page)).to_have_count(0)
    asked = requests_of(page)
    marker(page).focus()
    press(page, "Home")
    expect(said(page)).to_contain_text("would be kept; everything after this changes.")
    press(page, "End")
    assert 0.999 < float(marker(page).get_attribute("aria-valuenow") or 0) < 1
    expect(page.locator(".svi-ruler .svi-flag")).to_contain_text("0.9999…")
    expect(said(page)).to_contain_text("same verdict: nothing changes")
    press(page, *["PageDown"] * 4, "ArrowLeft", "Shift+ArrowLeft")
    expect(marker(page)).to_have_attribute("aria-valuenow", "0.589")
    then = (
        "would be kept; everything after this changes" if chance > 0.589 else "same verdict: nothing changes"
    )
    expect(marker(page)).to_have_attribute(
        "aria-valuetext", re.compile(rf"coin 0\.5\d+, chance 0\.\d+: {then}")
    )
    box = page.locator(".svi-ruler").bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.3, middle)
    page.mouse.down()
    expect(marker(page)).to_have_attribute("aria-valuenow", "0.3")
    page.mouse.move(box["x"] + box["width"] + 400, middle)
    assert 0.999 < float(marker(page).get_attribute("aria-valuenow") or 0) < 1
    page.mouse.move(box["x"] - 400, middle)
    page.mouse.up()
    expect(marker(page)).to_have_attribute("aria-valuenow", "0")
    expect(page.get_by_role("button", name="Run this branch")).to_be_disabled()
    expect(said(page)).to_contain_text("The pair smollm2-135m is not loaded here")
    page.get_by_role("button", name="Put it back").click()
    expect(marker(page)).to_have_attribute("aria-valuetext", as_it_was)
    expect(said(page)).to_have_count(0)
    expect(marker(page)).to_be_focused()
    page.locator('[data-speed="slow"]').click()
    page.locator('[data-do="first"]').click()
    page.locator('[data-do="forward"]').click()
    marker(page, "draft").focus()
    press(page, "Home")
    expect(said(page)).to_contain_text("everything after this changes")
    assert [url for url in asked if "gradio_api" in url] == []
    assert page.complaints == []  # type: ignore[attr-defined]


def test_a_branch_of_a_branch_stands_under_its_parent_and_is_marked_everywhere(
    page: Page, tmp_path: Path
) -> None:
    run(page)
    parent = downloaded_trace(page, tmp_path)
    press(page, "Home", "n")
    step = int(page.locator(".sv-open").get_attribute("data-row") or 0)
    position = int(page.locator(".sv-open .sv-rejected").get_attribute("data-position") or 0)
    marker(page).focus()
    press(page, "Home")
    branched(page)
    trace = downloaded_trace(page, tmp_path)
    assert (trace["parent"], trace["settings"]["overrides"]) == (
        parent["run_id"],
        [[step, position, "accept", 0]],
    )
    fork = next(
        i for i, (a, b) in enumerate(zip(parent["token_ids"], trace["token_ids"], strict=False)) if a != b
    )
    lines = page.locator(".sv-both .sv-forked")
    expect(page.locator(".sv-ribbon")).to_be_hidden()
    expect(lines.nth(0).locator(".sv-out")).to_have_count(fork)
    for line, ids in ((lines.nth(1), parent["token_ids"]), (lines.nth(2), trace["token_ids"])):
        expect(line.locator(".sv-out")).to_have_count(len(ids) - fork)
        expect(line.locator(".sv-differs")).to_have_text(f" {ids[fork]}")
    expect(page.locator(".sv-line")).to_contain_text(f"a branch: coin {position} of step {step} set to 0 ·")
    with download(page, "csv", tmp_path).open() as file:
        assert {row["overrides"] for row in csv.DictReader(file)} == {
            json.dumps([[step, position, "accept", 0.0]])
        }
    page.locator(".sv-both button", has_text="original").click()
    expect(page.locator(".sv-grid")).to_have_attribute("data-run", parent["run_id"])
    expect(page.locator(".sv-line")).not_to_contain_text("a branch")
    page.wait_for_function("() => !location.search.includes('branch=')")
    page.locator(".sv-both button", has_text="branch").click()
    expect(page.locator(".sv-grid")).to_have_attribute("data-run", trace["run_id"])
    page.wait_for_function(f"() => location.search.includes('branch={step}.{position}.accept.0')")
    dart = marker(page, "final")
    dart.focus()
    press(page, "Home" if float(dart.get_attribute("aria-valuenow") or 0) > 0.5 else "End")
    branched(page)
    again = downloaded_trace(page, tmp_path)
    assert again["parent"] == trace["run_id"] and len(again["settings"]["overrides"]) == 2
    expect(page.locator(".sv-line")).to_contain_text("a branch of a branch: coin")
    page.wait_for_function("() => location.search.includes('%2C')")
    assert page.complaints == []  # type: ignore[attr-defined]
    page.goto(page.url)
    run(page)
    for _ in range(2):
        branched(page)
    reopened = downloaded_trace(page, tmp_path)
    assert reopened["settings"]["overrides"] == again["settings"]["overrides"]
    assert reopened["token_ids"] == again["token_ids"]


def test_run_while_a_branch_is_computed_is_answered_and_nothing_is_lost(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(page)
    press(page, "Home", "n")
    marker(page).focus()
    press(page, "Home")
    gate, extend = threading.Event(), ToyCursor.extend

    def slow(self: Any, ids: Any, rows: int) -> Any:
        assert gate.wait(30)
        return extend(self, ids, rows)

    monkeypatch.setattr(ToyCursor, "extend", slow)
    page.get_by_role("button", name="Run this branch").click()
    expect(said(page)).to_contain_text("A branch is being computed: wait for its end, or stop it.")
    expect(page.get_by_role("button", name="Run this branch")).to_be_disabled()
    expect(page.locator("#stop")).to_be_visible()
    expect(page.locator("#race")).to_be_disabled()
    page.locator("#prompt textarea").fill("9 9 9")
    press(page, "Enter")
    expect(page.locator(".sv-line")).to_contain_text(
        "A branch is being computed: wait for its end or press Stop, then Run."
    )
    gate.set()
    expect(page.locator("#status")).to_contain_text("Branch:")
    expect(page.locator(".sv-line")).to_contain_text("a branch: ")
    expect(page.locator("#prompt textarea")).to_have_value("9 9 9")
    expect(page.locator(".sv-both .sv-prompt")).to_have_text("1 15 42 ")
    run(page)
    expect(page.locator(".sv-both")).to_be_hidden()
    expect(page.locator(".sv-prompt").first).to_have_text("9 9 9")


def test_a_branch_waits_for_a_run_that_has_no_step_yet(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    run(page)
    press(page, "Home", "n")
    marker(page).focus()
    press(page, "Home")
    expect(page.get_by_role("button", name="Run this branch")).to_be_enabled()
    gate, extend = threading.Event(), ToyCursor.extend

    def slow(self: Any, ids: Any, rows: int) -> Any:
        assert gate.wait(30)
        return extend(self, ids, rows)

    monkeypatch.setattr(ToyCursor, "extend", slow)
    set_number(page, "k", 3)
    page.locator("#run").click()
    expect(said(page)).to_contain_text("A run is being computed: wait for its end, or stop it.")
    expect(page.get_by_role("button", name="Run this branch")).to_be_disabled()
    gate.set()
    expect(page.locator(".sv-line")).to_contain_text("K 3")
    expect(page.locator(".sv-player")).to_have_attribute("data-phase", "done")
    press(page, "Home", "n")
    marker(page).focus()
    press(page, "Home")
    expect(page.get_by_role("button", name="Run this branch")).to_be_enabled()


def test_a_branch_that_the_queue_does_not_take_can_be_asked_for_again(page: Page) -> None:
    run(page)
    press(page, "Home", "n")
    marker(page).focus()
    press(page, "Home")
    full = {"status": 503, "content_type": "application/json", "body": '{"detail": "Queue is full."}'}
    page.route("**/queue/join*", lambda route: route.fulfill(**full))  # type: ignore[arg-type]
    page.get_by_role("button", name="Run this branch").click()
    expect(page.get_by_role("button", name="Run this branch")).to_be_enabled()
    page.unroute("**/queue/join*")
    branched(page)


def test_a_branch_is_off_and_says_why(page: Page, tmp_path: Path) -> None:
    toy = decode(load_pair("toy"), "1 15 42", max_new_tokens=8)

    def why(text: str, about: str) -> None:
        expect(page.locator(".sv-line")).to_contain_text(about)
        press(page, "Home", "n")
        marker(page).focus()
        press(page, "Home")
        expect(said(page)).to_contain_text(text)
        expect(page.get_by_role("button", name="Run this branch")).to_be_disabled()

    table = tmp_path / "toy.csv"
    toy.to_csv(table)
    open_file(page, table)
    expect(page.locator("#status")).to_contain_text("Opened from a file.")
    why("came from a CSV file", "float64 on cpu")
    toy.data["weights"]["target"]["dtype"] = "bfloat16"
    open_trace(page, toy.data, tmp_path)
    why("The target is in float64 here, but this run was made in bfloat16", "bfloat16 on cpu")
    faulty = fixture_trace()
    faulty["settings"]["fault"] = "residual-from-p"
    open_trace(page, faulty, tmp_path)
    expect(page.locator(".sv-line")).to_contain_text("deliberate mistake")
    press(page, "Home", "n")
    expect(page.locator(".svi-why")).to_contain_text("A run with a deliberate mistake can't be branched")
    expect(marker(page)).to_have_count(0)


def test_an_opened_run_is_sent_along_and_a_damaged_one_refused(page: Page, tmp_path: Path) -> None:
    trace = decode(load_pair("toy"), "1 15 42", max_new_tokens=8).data
    for damage, expected in ((True, "damaged"), (False, None)):
        opened = json.loads(json.dumps(trace))
        if damage:
            opened["steps"][-1]["totals"]["draft_passes"] += 1
        open_trace(page, opened, tmp_path)
        press(page, "Home", "n")
        marker(page).focus()
        press(page, "Home")
        if expected:
            page.get_by_role("button", name="Run this branch").click()
            complaint(page, expected)
            expect(page.locator(".sv-both")).to_be_hidden()
        else:
            branched(page)
            expect(page.locator(".sv-differs").first).to_be_visible()


@pytest.mark.parametrize(
    ("branch", "notice"), [("2.3.accept.0.1", None), ("99.1.accept.0.5", "does not have"), ("<b>.x", None)]
)
def test_a_link_proposes_its_branch_and_computes_nothing(page: Page, branch: str, notice: str | None) -> None:
    go(page, f"recorded=opening&branch={branch}")
    if branch.startswith("2"):
        expect(page.locator(".sv-where")).to_contain_text("coin 3")
        expect(said(page)).to_contain_text("would be kept")
    else:
        expect(page.locator(".sv-where")).to_contain_text("the start")
    if notice:
        expect(page.locator(".sv-line")).to_contain_text(notice)
    assert page.complaints == []  # type: ignore[attr-defined]
