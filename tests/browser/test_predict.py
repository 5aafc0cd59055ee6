"""Predict first: a question before every coin, its score, the class's coin, and nothing on the page that tells more than was revealed."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.helpers import beat, open_trace, press
from tests.browser.traces import fixture_trace


def questions(trace: dict[str, Any]) -> list[tuple[int, int, dict[str, Any]]]:
    """The coins of a run in their order: step, position, draft."""
    return [
        (step["step"], position, draft)
        for step in trace["steps"]
        for position, draft in enumerate(step["drafts"], start=1)
        if draft["state"] != "discarded"
    ]


def test_every_coin_is_asked_about_and_the_score_stands_beside_the_likelier_side(
    page: Page, tmp_path: Path
) -> None:
    page.emulate_media(reduced_motion="reduce")
    trace = fixture_trace(steps=3)
    open_trace(page, trace, tmp_path)
    page.locator("#chart .main-svg").first.wait_for(state="attached")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    press(page, "p", "Space")
    expect(page.locator(".sv-where")).to_contain_text("threshold 1")
    expect(page.locator(".sv-play")).to_have_text("Play")
    for button in page.locator(".sv-answer").all():
        box = button.bounding_box()
        assert box and box["width"] >= 160 and box["height"] >= 56
    right = likelier = 0
    coins = questions(trace)
    for index, (step, position, draft) in enumerate(coins):
        press(page, "End")  # no farther than the next question
        assert beat(page) == f"step {step} · threshold {position}"
        for key, words in (("n", "Off while predicting"), ("Space", "Answer first")) if index == 0 else ():
            press(page, key)
            expect(page.locator(".sv-notice")).to_contain_text(words)
        kept = draft["state"] == "accepted"
        says = index % 2 == 0
        press(page, "a" if says else "r")
        assert f"coin {position}" in beat(page)
        right += says == kept
        likelier += (draft["p"] / draft["q"] >= 0.5) == kept
        verdict = f"You said {'kept' if says else 'rejected'}: {'right' if says == kept else 'wrong'}."
        score = f"{right} of {index + 1} right; always calling the likelier side would have got {likelier}."
        for text in (verdict, score):
            expect(page.locator(".sv-predict")).to_contain_text(text)
            expect(page.locator(".sv-aloud")).to_contain_text(text)
    press(page, "End")
    expect(page.locator(".sv-endcard")).to_contain_text(score)
    press(
        page, "Home", "ArrowRight", "ArrowRight", "ArrowRight", "r"
    )  # back at the first coin: a call stays what it is
    expect(page.locator(".sv-predict")).to_contain_text("You said kept:")
    expect(page.locator(".sv-predict")).to_contain_text(score)
    assert sent == []
    assert page.complaints == []  # type: ignore[attr-defined]


def test_a_skip_counts_as_nothing_and_a_jump_stops_at_the_next_question(page: Page, tmp_path: Path) -> None:
    trace = fixture_trace(steps=4)
    open_trace(page, trace, tmp_path)
    first, second, third = questions(trace)[:3]
    page.locator("[data-do=predict]").click()
    press(page, "Shift+ArrowRight")
    assert beat(page) == f"step 1 · threshold {first[1]}"
    press(page, "Shift+ArrowRight")
    assert beat(page) == f"step 1 · threshold {first[1]}"
    expect(page.locator(".sv-notice")).to_contain_text("A jump stops at the next question")
    press(page, "ArrowRight")
    assert beat(page) == f"step 1 · coin {first[1]}"
    expect(page.locator(".sv-predict")).to_contain_text("Not called: it counts as nothing.")
    expect(page.locator(".sv-score")).to_have_text("No call yet.")
    press(page, "End")
    assert beat(page) == f"step {second[0]} · threshold {second[1]}"
    page.locator("[data-call=accept]").click()
    expect(page.locator(".sv-score")).to_contain_text("of 1 right")
    press(page, "End")
    assert beat(page) == f"step {third[0]} · threshold {third[1]}"
    page.locator("[data-do=predict]").click()
    press(page, "End")
    assert beat(page).startswith("step 4 of 4")
    expect(page.locator(".sv-predict")).to_be_hidden()


def shorter(row: dict[str, Any], drawn: int) -> dict[str, Any]:
    """A row as a discarded draft has it: the top four of p and of q, and nothing from before the temperature."""
    top = {i for law in (row["p"], row["q"]) for i in sorted(range(len(law)), key=lambda i: -law[i])[:4]}
    keep = [i for i in range(len(row["ids"])) if i in top or row["ids"][i] == drawn]
    left = [i for i in range(len(row["ids"])) if i not in keep]
    return {name: [row[name][i] for i in keep] for name in ("ids", "p", "q")} | {
        "p_rest": row["p_rest"] + sum(row["p"][i] for i in left),
        "q_rest": row["q_rest"] + sum(row["q"][i] for i in left),
        "overlap_rest": row["overlap_rest"] + sum(min(row["p"][i], row["q"][i]) for i in left),
    }


def two_stories(temperature: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two runs that begin with the same drafts; the first keeps them all, the second rejects the first one and ends there."""
    kept = fixture_trace(steps=5, run_id="story-a")
    kept["settings"]["temperature"] = temperature
    step = kept["steps"][0]
    for draft in step["drafts"]:
        draft.update(state="accepted", coin=0.0, overlap=0.5, mass=0.5)
        if temperature == 0:
            draft.update(p=1.0, q=1.0)
            hot = [float(token == draft["id"]) for token in draft["row"]["ids"]]
            draft["row"].update(p=hot, q=hot, p_rest=0.0, q_rest=0.0, overlap_rest=0.0)
    step["final"].update(kind="bonus", q=None, mass=None, overlap=None, entropy_q=None)
    other = copy.deepcopy(kept)
    other.update(run_id="story-b", stop="stopped", steps=other["steps"][:1])
    step = other["steps"][0]
    first, *rest = step["drafts"]
    first.update(state="rejected", coin=0.999)
    if temperature == 0:
        first["p"] = 0.0
        first["row"]["p"] = first["row"]["p"][1:] + first["row"]["p"][:1]
    for draft in rest:
        draft.update(
            state="discarded", coin=None, overlap=None, mass=None, row=shorter(draft["row"], draft["id"])
        )
    step["final"].update(kind="residual", q=0.1, mass=0.5, overlap=0.5)
    step["totals"]["tokens"] = 1
    other["token_ids"] = [step["final"]["id"]]
    return kept, other


WITH_EACH_CELL = """player => [player.outerHTML, ...[...player.querySelectorAll('.sv-open .sv-cell[data-position]')]
  .map(cell => { cell.click(); return player.outerHTML; })]"""


def all_there_is(page: Page) -> list[str]:
    """What the page holds of a run at a beat, seen or not and whichever cell is chosen, and what it tells those who hear it."""
    heard = page.locator(".sv-player").aria_snapshot() + page.locator("#status").inner_text()
    return [
        re.sub("story-[ab]", "story", text)
        for text in (heard, *page.locator(".sv-player").evaluate(WITH_EACH_CELL))
    ]


@pytest.mark.parametrize(("temperature", "way"), [(1.0, "verdict"), (1.0, "chance"), (0.0, None)])
def test_nothing_on_the_page_tells_what_comes(
    page: Page, tmp_path: Path, temperature: float, way: str | None
) -> None:
    told: list[list[str]] = []
    for trace in two_stories(temperature):
        open_trace(page, trace, tmp_path)
        page.locator(f'.sv-grid[data-run="{trace["run_id"]}"]').wait_for()
        if not told:
            press(page, "p")
            page.locator("[data-speed=slow]").click()
            if way:
                page.locator(f"[data-way={way}]").click()
            page.locator(".sv-fold").click()
        press(page, "Home")
        seen = all_there_is(page)
        for _ in range(6):
            press(page, "ArrowRight")
            seen += all_there_is(page)
        told.append(seen)
        expect(page.locator(".sv-where")).to_have_text("step 1 · threshold 1")
    for first, second in zip(*told, strict=True):
        at = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), None)
        assert first == second, f"{first[at - 300 : at + 200]}\n\n{second[at - 300 : at + 200]}" if at else ""
    press(page, "ArrowRight")
    page.locator(".sv-open .sv-rejected").wait_for()


def test_a_chance_is_guessed_before_it_is_drawn(page: Page, tmp_path: Path) -> None:
    trace = fixture_trace(steps=4)
    step, position, draft = next(each for each in questions(trace) if 0.1 < each[2]["p"] / each[2]["q"] < 0.9)
    open_trace(page, trace, tmp_path)
    press(page, "p")
    page.locator("[data-way=chance]").click()
    while beat(page) != f"step {step} · threshold {position}":
        press(page, "ArrowRight")
    asked = page.locator(".sv-open .sv-asked")
    expect(asked).to_have_count(1)
    expect(asked.locator(".sv-p, .sv-q")).to_have_count(2)
    expect(asked.locator(".sv-ruler, .sv-chance")).to_have_count(0)
    expect(page.locator(".sv-inspector .svi-ruler")).to_have_count(0)
    expect(page.locator(".sv-aloud")).not_to_contain_text("%")
    page.locator(".sv-guess").fill("60")
    expect(page.locator("[data-guess]")).to_have_text("say 60 %")
    page.locator("[data-guess]").click()
    chance = round(100 * draft["p"] / draft["q"])
    expect(page.locator(".sv-predict")).to_contain_text(
        f"You said 60 %, it is {chance} %: {abs(60 - chance)} off."
    )
    expect(page.locator(".sv-aloud")).to_contain_text(f"{abs(60 - chance)} off")
    expect(page.locator(".sv-score")).to_have_text(f"1 guess, mean distance {abs(60 - chance)}.")
    expect(page.locator(".sv-open .sv-threshold .sv-ruler")).to_have_count(1)
    press(page, "ArrowRight")
    expect(page.locator(".sv-where")).to_contain_text(f"coin {position}")


@pytest.mark.parametrize("differs", [True, False])
def test_the_class_throws_the_coin_here_only(page: Page, tmp_path: Path, differs: bool) -> None:
    trace = fixture_trace(steps=4)
    step, position, draft = next(each for each in questions(trace) if 0.1 < each[2]["p"] / each[2]["q"] < 0.9)
    kept = (draft["state"] == "accepted") != differs
    open_trace(page, trace, tmp_path)
    press(page, "p")
    page.locator("[data-classcoin]").click()
    while beat(page) != f"step {step} · threshold {position}":
        press(page, "ArrowRight")
    press(page, "a")
    digits = page.locator(".sv-digits")
    expect(digits).to_be_focused()
    digits.fill("7x")
    press(page, "Enter")
    expect(page.locator(".sv-notice")).to_have_text("That is no coin: type two digits, such as 7 1 for 0.71.")
    expect(digits).to_have_value("7x")
    digits.fill("0 1" if kept else "9 9")
    press(page, "Enter")
    coin, word = ("0.01", "kept") if kept else ("0.99", "rejected")
    cell = page.locator(f'.sv-open .sv-cell[data-position="{position}"]:not([data-final])')
    expect(cell).to_have_attribute("data-state", "accepted" if kept else "rejected")
    expect(cell).to_contain_text(f"class coin {coin}")
    expect(page.locator(".svi-say")).to_contain_text(f"The class coin said {coin}")
    expect(page.locator(".sv-predict")).to_contain_text(f"You said kept: {'right' if kept else 'wrong'}.")
    expect(page.locator(".sv-score")).to_contain_text(f"{int(kept)} of 1 right")
    for place in (page.locator(".sv-predict"), page.locator(".sv-aloud")):
        if differs:
            expect(place).to_contain_text("The recorded run went on with its own coin 0.")
            expect(place).to_contain_text(
                re.compile(f"{word}.*: {'rejected' if kept else 'kept'}\\.", re.DOTALL)
            )
        else:
            expect(place).to_contain_text(word)
            expect(place).not_to_contain_text("went on")
    following = page.locator(f'.sv-open .sv-cell[data-position="{position + 1}"]:not([data-final])')
    if position < 4:
        expect(following).to_have_attribute("data-state", "verified" if kept else "discarded")
    while beat(page).startswith(f"step {step} "):  # from here on the run as it was recorded
        press(page, "ArrowRight")
    past = page.locator(
        f'.sv-compact .sv-cell[data-step="{step}"][data-position="{position}"]:not([data-final])'
    )
    expect(past).to_have_attribute("data-state", draft["state"])


def test_a_run_made_while_predicting_is_not_told_ahead(page: Page) -> None:
    page.locator("#run").click()
    expect(page.locator(".sv-player")).to_have_attribute("data-phase", "done")
    expect(page.locator(".sv-endcard")).to_contain_text("big passes")
    first = page.locator(".sv-grid").get_attribute("data-run") or ""
    press(page, "p")
    expect(page.locator(".sv-where")).to_have_text("step 1 · the start")
    expect(page.locator("#status")).not_to_contain_text("target passes")
    page.locator("#temperature input[type=number]").fill("1")
    page.locator("#run").click()
    expect(page.locator(".sv-grid")).not_to_have_attribute("data-run", first)
    expect(page.locator(".sv-player")).to_have_attribute("data-phase", "done")
    expect(page.locator(".sv-where")).to_have_text("step 1 · the start")
    expect(page.locator(".sv-endcard")).to_be_hidden()
    expect(page.locator(".sv-column")).to_have_count(1)
    expect(page.locator("#status")).not_to_contain_text("passes")
    page.locator("[data-do=predict]").click()
    expect(page.locator("#status")).to_contain_text("target passes.")


def test_the_card_at_the_end_shows_the_way_and_closes(page: Page, tmp_path: Path) -> None:
    trace = fixture_trace(steps=6)
    open_trace(page, trace, tmp_path)
    card = page.locator(".sv-endcard")
    expect(card).to_be_hidden()
    press(page, "End")
    tokens = len(trace["token_ids"])
    expect(card).to_contain_text(f"{tokens} tokens, 6 big passes instead of {tokens}.")
    expect(page.locator(".sv-aloud")).to_contain_text(f"{tokens} tokens, 6 big passes")
    press(page, "Escape")
    expect(card).to_be_hidden()
    press(page, "ArrowLeft", "ArrowRight")
    expect(card).to_be_visible()
    best = re.search(r"Best step: (\d+)\.", card.inner_text())
    assert best
    page.locator("[data-do=best]").click()
    assert beat(page).startswith(f"step {best[1]} of 6")
    expect(card).to_be_hidden() if int(best[1]) < 6 else None
    press(page, "End")
    page.locator("[data-do=replay]").click()
    expect(page.locator(".sv-play")).to_have_text("Pause")
    expect(page.locator(".sv-where")).to_contain_text("step 1 of 6")
