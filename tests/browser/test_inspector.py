"""The inspector by itself: a page of its own with the player's scripts, one seeded trace, no server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from specviz import bundle
from tests.browser.traces import HOSTILE, WORDS, fixture_trace

SIZE = {"width": 600, "height": 900}
Draw = Callable[..., Page]


@pytest.fixture
def drawn(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Draw]:
    """Draw one beat of one cell on an empty page, without motion unless asked; what goes wrong there fails the test."""
    motion = getattr(request, "param", "reduce")
    context = browser.new_context(viewport=SIZE, reduced_motion=motion)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    styles = "".join(
        f"<style>{bundle.asset(f'{name}.css')}</style>"
        for name in ("player/styles/player", "player/styles/inspector")
    )
    template = f'<div id="element" hidden>{bundle.asset("player/player.html")}</div>'
    page.set_content(
        f'<!doctype html><body>{styles}{template}<div class="sv-player"><div id="place"></div></div>'
    )
    code = bundle.script("player/draw/inspector/inspector.js")
    page.evaluate(
        f"() => {{ const element = document.querySelector('#element'); {code}; window.draws = drawInspector; window.throwDice = throwDice; window.lanesOf = lanesOf; }}"
    )

    def draw(trace: dict[str, Any], key: dict[str, Any] | None, beat: str) -> Page:
        text = json.dumps(trace)
        page.evaluate(
            "([text, key, beat]) => draws(document.getElementById('place'), JSON.parse(text), key, beat)",
            [text, key, beat],
        )
        return page

    yield draw
    assert wrong == []
    context.close()


def examined(trace: dict[str, Any], state: str, low: float = 0.0, high: float = 1.0) -> dict[str, Any]:
    """Return the key of the first draft in a state whose p/q lies between two bounds."""
    for step in trace["steps"]:
        for position, draft in enumerate(step["drafts"], start=1):
            if draft["state"] == state and low < draft["p"] / draft["q"] < high:
                return {"step": step["step"], "position": position, "state": state}
    raise AssertionError(f"the fixture has no such {state} draft")


def record_of(trace: dict[str, Any], key: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    step = trace["steps"][key["step"] - 1]
    return step["drafts"][key["position"] - 1], step["final"]


def width(node: Locator) -> float:
    return node.evaluate("node => node.getBoundingClientRect().width")


def press(page: Page, name: str) -> None:
    page.locator(f'[data-inspect="{name}"]').click()


TRACE = fixture_trace(seed=7)
REJECTED = examined(TRACE, "rejected", 0.1, 0.9)
REPLACEMENT = {**REJECTED, "state": "residual"}


def test_each_beat_shows_what_has_happened_and_nothing_later(drawn: Draw) -> None:
    draft, _ = record_of(TRACE, REJECTED)
    page = drawn(TRACE, REJECTED, "draft")
    assert page.locator(".svi .sv-p, .svi-output, .svi-ruler, .svi-bar-owed, .svi-bar-p").count() == 0
    page = drawn(TRACE, REJECTED, "verify")
    expect(page.locator(".svi-output")).to_have_count(7)
    assert page.locator(".svi-ruler, .svi-throw").count() == 0
    page = drawn(TRACE, REJECTED, "threshold")
    expect(page.locator(".svi-say")).to_contain_text(f"survives {round(100 * draft['p'] / draft['q'])} %")
    assert page.locator(".svi-ruler u, .svi-flag, .svi-throw").count() == 0
    assert "rejected" not in page.locator(".svi").inner_text()
    page = drawn(TRACE, REJECTED, "coin")
    expect(page.locator(".svi-say")).to_contain_text(f"The coin said {draft['coin']:.2f}, not below")
    expect(page.locator(".svi-ruler u")).to_have_count(1)
    assert page.locator(".svi-throw").count() == 0
    page = drawn(TRACE, REJECTED, "owed")
    expect(page.locator(".svi-bar i").first).to_be_visible()
    assert page.locator(".svi-dart, .svi-hit").count() == 0
    page = drawn(TRACE, REPLACEMENT, "draw")
    expect(page.locator(".svi-dart")).to_have_count(1)


def test_the_ruler_is_filled_to_p_over_q_and_the_coin_stands_where_it_fell(drawn: Draw) -> None:
    draft, _ = record_of(TRACE, REJECTED)
    page = drawn(TRACE, REJECTED, "coin")
    track = page.locator(".svi-track").evaluate("node => node.clientWidth")
    assert width(page.locator(".svi-track i")) / track == pytest.approx(draft["p"] / draft["q"], abs=0.005)
    style = page.locator(".svi-ruler u").get_attribute("style") or ""
    assert float(style.split(":")[1].strip(" %;")) / 100 == pytest.approx(draft["coin"])
    expect(page.locator(".svi-formula")).to_contain_text("no")


def test_the_lanes_are_as_long_as_the_mass_they_stand_for(drawn: Draw) -> None:
    draft, _ = record_of(TRACE, REJECTED)
    row = draft["row"]
    page = drawn(TRACE, REJECTED, "coin")
    axis = float(page.locator(".svi-axis span").last.inner_text().split("…")[1])
    lane = page.locator(".svi-output").first.evaluate("node => node.clientWidth")
    for token, p, q in zip(row["ids"], row["p"], row["q"], strict=True):
        line = page.locator(f'.svi-row[data-token="{token}"]')
        if line.count() == 0:
            continue
        for part, mass in (
            ("kept", min(p, q)),
            ("over", max(q - p, 0)),
            ("delivered", min(p, q)),
            ("owed", max(p - q, 0)),
        ):
            bit = line.locator(f".svi-{part}")
            assert bit.count() == (mass > 0)
            if mass > 0:
                assert width(bit) == pytest.approx(max(2, mass / axis * lane), abs=0.6)
    expect(page.locator(".svi-sums")).to_contain_text(
        f"Drafted too often {draft['mass']:.2f} = still owed {draft['mass']:.2f}"
    )


def test_the_lanes_add_up_to_both_laws(drawn: Draw) -> None:
    draft, _ = record_of(TRACE, REJECTED)
    page = drawn(TRACE, REJECTED, "coin")
    lanes = page.evaluate("row => lanesOf(row, [row.ids[0]], 3)", draft["row"])
    assert len(lanes) == 4
    for law in ("p", "q"):
        assert sum(lane[law] for lane in lanes) == pytest.approx(1, abs=1e-6)
    assert sum(lane["both"] for lane in lanes) == pytest.approx(draft["overlap"], abs=1e-6)
    assert sum(lane["owed"] for lane in lanes) == pytest.approx(draft["mass"], abs=1e-6)


def test_the_dart_falls_on_the_piece_of_the_token_that_was_drawn(drawn: Draw) -> None:
    _, final = record_of(TRACE, REPLACEMENT)
    page = drawn(TRACE, REPLACEMENT, "draw")
    hit = page.locator(".svi-hit")
    assert hit.get_attribute("data-piece") == str(final["id"])
    box, dart = hit.bounding_box(), page.locator(".svi-dart i").bounding_box()
    assert box and dart
    assert box["x"] - 3 <= dart["x"] + dart["width"] / 2 <= box["x"] + box["width"] + 3
    chance = max(final["p"] - final["q"], 0) / final["mass"]
    expect(page.locator(".svi-formula")).to_contain_text(f"= {chance:.2f}")
    bonus = next(
        {"step": step["step"], "position": step["k"] + 1, "state": "bonus"}
        for step in TRACE["steps"]
        if step["final"]["kind"] == "bonus"
    )
    page = drawn(TRACE, bonus, "verify")
    assert page.locator(".svi-chart").count() == 0
    page = drawn(TRACE, bonus, "draw")
    drawn_id = TRACE["steps"][bonus["step"] - 1]["final"]["id"]
    assert page.locator(".svi-hit").get_attribute("data-piece") == str(drawn_id)
    assert page.locator(".svi-lane:not(.svi-output)").count() == 0


def test_replacing_from_p_itself_is_off_by_what_the_laws_say(drawn: Draw) -> None:
    draft, _ = record_of(TRACE, REPLACEMENT)
    row, mass = draft["row"], draft["mass"]
    p, q = np.array(row["p"]), np.array(row["q"])
    output = np.minimum(p, q) + mass * p
    shown = np.maximum(output - p, 0).sum()
    least = shown + max(0.0, row["overlap_rest"] + mass * row["p_rest"] - row["p_rest"])
    most = shown + row["overlap_rest"] * mass
    page = drawn(TRACE, REPLACEMENT, "draw")
    press(page, "p")
    said = (
        f"off by {least:.2f} in total"
        if f"{least:.2f}" == f"{most:.2f}"
        else f"off by {least:.2f} to {most:.2f}"
    )
    expect(page.locator(".svi-wrong")).to_contain_text(said)
    assert page.locator(".svi-excess").count() > 0
    press(page, "owed")
    assert page.locator(".svi-excess, .svi-wrong").count() == 0
    press(page, "p")
    other = examined(TRACE, "accepted", 0.0, 0.99)
    page = drawn(TRACE, other, "coin")
    assert page.locator(".svi-excess, .svi-wrong").count() == 0


@pytest.mark.parametrize(("policy", "right"), [("owed", True), ("p", False)])
def test_a_thousand_throws_fill_the_lanes_up_to_p_and_only_so_if_what_is_owed_is_drawn(
    drawn: Draw, policy: str, right: bool
) -> None:
    draft, _ = record_of(TRACE, REPLACEMENT)
    page = drawn(TRACE, REPLACEMENT, "draw")
    press(page, policy)
    press(page, "throw")
    counts = np.array([int(text) for text in page.locator(".svi-came").all_text_contents()])
    assert counts.sum() == 1000
    lanes = page.evaluate(
        "([row, seen]) => lanesOf(row, seen, 6)",
        [draft["row"], [draft["id"], record_of(TRACE, REPLACEMENT)[1]["id"]]],
    )
    p = np.array([lane["p"] for lane in lanes])
    spread = 5 * np.sqrt(1000 * p * (1 - p)) + 1
    assert bool((np.abs(counts - 1000 * p) < spread).all()) is right
    painted = page.locator(".svi-dots").evaluate(
        "node => node.getContext('2d').getImageData(0, 0, node.width, node.height).data.some((value) => value > 0)"
    )
    assert painted


def test_pointing_at_a_term_lights_its_mark_and_the_other_way_round(drawn: Draw) -> None:
    page = drawn(TRACE, REJECTED, "coin")
    page.locator('.svi-formula [data-term="p"]').hover()
    expect(page.locator(".svi-row .svi-lit")).to_have_count(1)
    expect(page.locator('.svi-output[data-term="p"]')).to_have_class("svi-lane svi-output svi-lit")
    page.locator(f'.svi-row[data-token="{record_of(TRACE, REJECTED)[0]["id"]}"] .svi-lane').first.hover()
    expect(page.locator('.svi-formula [data-term="q"]')).to_have_class("sv-q svi-lit")
    expect(page.locator('.svi-formula [data-term="p"]')).to_have_class("sv-p")
    page.locator('.svi-formula [data-term="coin"]').focus()
    expect(page.locator(".svi-ruler u")).to_have_class("svi-lit")


def cold_trace() -> dict[str, Any]:
    """A trace at temperature 0: one-hot laws, the laws at temperature 1 still in the rows."""
    trace = fixture_trace(seed=7)
    trace["settings"]["temperature"] = 0.0
    draft, _ = record_of(trace, REJECTED)
    row = draft["row"]
    row["q"] = [float(token == draft["id"]) for token in row["ids"]]
    other = next(token for token in row["ids"] if token != draft["id"])
    row["p"] = [float(token == other) for token in row["ids"]]
    row.update(p_rest=0.0, q_rest=0.0, overlap_rest=0.0)
    draft.update(p=0.0, q=1.0, overlap=0.0, mass=1.0)
    return trace


def test_at_temperature_0_no_coin_is_needed_and_the_laws_before_it_are_dashed(drawn: Draw) -> None:
    page = drawn(cold_trace(), REJECTED, "coin")
    expect(page.locator(".svi-say")).to_contain_text("No coin is needed at temperature 0")
    expect(page.locator(".svi-ruler u")).to_have_class("svi-hollow")
    assert page.locator(".svi-raw-p").count() > 1
    assert page.locator('[data-inspect="raw"], [data-inspect="throw"]').count() == 0


def test_before_temperature_is_shown_on_demand(drawn: Draw) -> None:
    page = drawn(TRACE, REJECTED, "verify")
    assert page.locator(".svi-raw").count() == 0
    press(page, "raw")
    assert page.locator(".svi-raw-q").count() > 1
    page = drawn(TRACE, REJECTED, "draft")
    assert page.locator(".svi-raw-q").count() > 1 and page.locator(".svi-raw-p").count() == 0


def test_what_no_coin_was_tossed_for_keeps_the_p_that_the_target_gave_it(drawn: Draw) -> None:
    trace = fixture_trace(seed=7)
    step = next(step for step in trace["steps"] if step["drafts"][-1]["state"] == "discarded")
    key = {"step": step["step"], "position": step["k"], "state": "discarded"}
    step["drafts"][-1]["p"] = 0.1234
    page = drawn(trace, key, "verify")
    expect(page.locator(".svi-output").first).to_be_visible()
    assert "not used" not in page.locator(".svi").inner_text()
    page = drawn(trace, key, "coin")
    expect(page.locator(".svi-say")).to_contain_text("is not used: it was drafted after")
    expect(page.locator(".svi-say")).to_contain_text("The target has read it too and gave it p\u00a00.12")
    assert page.locator(".svi-chart").count() == 0
    step["drafts"][-1]["p"] = None  # as a CSV has it
    page = drawn(trace, key, "coin")
    expect(page.locator(".svi-say")).to_contain_text(
        "The target has read it too, but no coin is tossed for it."
    )


def test_p_itself_has_its_own_sentence_and_legend(drawn: Draw) -> None:
    page = drawn(TRACE, REPLACEMENT, "draw")
    expect(page.locator(".svi-say")).to_contain_text("drawn from what the target is still owed")
    expect(page.locator(".svi-axis")).to_contain_text("output = p below")
    press(page, "p")
    expect(page.locator(".svi-say")).to_contain_text(
        "Replaced from p itself: that gives again what kept drafts deliver already"
    )
    expect(page.locator(".svi-axis")).to_contain_text("output below, line: p")
    press(page, "throw")
    expect(page.locator(".svi-axis")).to_contain_text("throws below, outlined: p")
    expect(page.locator(".svi")).not_to_contain_text("output = p")
    press(page, "owed")
    expect(page.locator(".svi-say")).to_contain_text("drawn from what the target is still owed")


def test_a_target_that_rejects_its_own_draft_says_why(drawn: Draw) -> None:
    trace = fixture_trace(seed=7)
    why = "a pass over 5 rows rounds differently"
    page = drawn(trace, REJECTED, "coin")
    expect(page.locator(".svi-say")).not_to_contain_text(why)
    trace["settings"]["draft"] = {"kind": "self", "name": "self"}
    page = drawn(trace, REJECTED, "coin")
    expect(page.locator(".svi-say")).to_contain_text(why)


def test_every_digit_is_there_on_demand(drawn: Draw) -> None:
    draft, final = record_of(TRACE, REPLACEMENT)
    page = drawn(TRACE, REJECTED, "coin")
    press(page, "digits")
    for value in (draft["p"], draft["q"], draft["coin"], draft["u_draft"]):
        expect(page.locator(".svi-digits")).to_contain_text(repr(value))
    page = drawn(TRACE, REPLACEMENT, "draw")
    expect(page.locator(".svi-digits")).to_contain_text(repr(final["u"]))


def test_a_trace_without_distributions_says_so(drawn: Draw) -> None:
    trace = fixture_trace(seed=7)
    trace["settings"]["top_m"] = 0
    for step in trace["steps"]:
        for cell in [*step["drafts"], step["final"]]:
            cell.update(row=None, low=None, high=None)
    for key, beat in ((REJECTED, "draft"), (REJECTED, "coin"), (REPLACEMENT, "owed"), (REPLACEMENT, "draw")):
        page = drawn(trace, key, beat)
        expect(page.locator(".svi")).to_contain_text("not in the file")
        assert page.locator(".svi-chart, .svi-throw").count() == 0


def test_every_cell_of_a_hostile_trace_is_drawn_as_text(drawn: Draw) -> None:
    trace = fixture_trace(words=HOSTILE + WORDS, steps=10)
    for step in trace["steps"]:
        for position, draft in enumerate(step["drafts"], start=1):
            for beat in ("draft", "verify", "threshold", "coin", "owed", "draw"):
                page = drawn(
                    trace, {"step": step["step"], "position": position, "state": draft["state"]}, beat
                )
    assert page.evaluate("window.__pwned") is None
    assert page.locator(".svi img, .svi script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_start_of_a_step_tells_what_can_happen(drawn: Draw) -> None:
    page = drawn(TRACE, None, "start")
    expect(page.locator(".svi-outcomes li")).to_have_count(5)
    page = drawn(TRACE, REJECTED, "start")
    expect(page.locator(".svi-say")).to_contain_text("4 tokens")
    assert page.locator(".svi .sv-q, .svi .sv-p").count() == 0


@pytest.mark.parametrize(("drawn", "moves"), [("no-preference", True), ("reduce", False)], indirect=["drawn"])
def test_what_is_owed_slides_out_of_its_lanes_once_and_only_where_motion_is_welcome(
    drawn: Draw, moves: bool
) -> None:
    page = drawn(TRACE, REJECTED, "owed")
    assert page.evaluate("document.getAnimations().length > 0") is moves
    page = drawn(TRACE, REJECTED, "owed")
    assert page.evaluate("document.getAnimations().length") == 0
