"""The tabs, and the labs Speed and Hardware in a browser: on the toy and on the gallery's first run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from specviz.page.speed import lab as speed_lab
from specviz.speed.sweep import Cell, sweep
from tests.browser.helpers import open_trace, press, run
from tests.browser.traces import fixture_trace


def tab(page: Page, name: str) -> None:
    page.locator(f"#tab-{name}-button").click()
    expect(page.locator(f"#tab-{name}")).to_be_visible()


def drawn(page: Page, name: str) -> dict:
    """Wait for a plotly figure and return the size of it and of its place."""
    chart = page.locator(f"#chart-{name} .js-plotly-plot")
    chart.locator(".main-svg").first.wait_for()
    return chart.evaluate(
        "node => ({ svg: node.querySelector('.main-svg').getBoundingClientRect().width, place: node.closest('.sv-picture').clientWidth })"
    )


def test_tabs_stand_in_the_bar_draw_nothing_until_opened_and_are_in_the_link(page: Page, server: str) -> None:
    bar, names = (
        page.locator(".sv-topbar").bounding_box(),
        page.locator("#tabs [role=tablist]").bounding_box(),
    )
    assert (
        bar
        and names
        and bar["y"] <= names["y"]
        and names["y"] + names["height"] <= bar["y"] + bar["height"] + 1
    )
    expect(page.locator(".js-plotly-plot")).to_have_count(0)
    tab(page, "hardware")
    assert "tab=hardware" in page.url
    size = drawn(page, "roofline")
    assert 0.9 * size["place"] < size["svg"] <= size["place"] + 1
    expect(page.locator("#chart-roofline .modebar")).to_be_hidden()
    page.goto(f"{server}?tab=speed")
    expect(page.locator("#speed-cards")).to_contain_text("No run is on screen yet")
    page.goto(f"{server}?tab=nonsense")
    expect(page.locator("#ask")).to_be_visible()


def one_block(*given: Any) -> Iterator[list[Cell]]:
    """A sweep that stays at its second block until it is stopped."""
    for cells in sweep(*given):
        yield cells
        if cells:
            break
    while given[2]():
        Event().wait(0.02)


def test_a_sweep_is_refused_beside_a_run_stops_half_way_and_keeps_its_cells(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed_lab, "sweep", one_block)
    run(page)
    tab(page, "speed")
    expect(page.locator("#speed-cards")).to_contain_text("The toy has no forwards to time.")
    expect(page.locator("#measure")).to_be_disabled()
    page.locator("#sweep-tokens input").fill("0")
    page.locator("#sweep").click()
    expect(page.locator("#sweep-status .sv-error")).to_contain_text("from 16 to 64")
    page.locator("#sweep-tokens input").fill("16")
    page.locator("#sweep").click()
    expect(page.locator("#sweep-status")).to_have_text("4 of 32 cells")
    page.evaluate("document.querySelector('#run').click()")
    expect(page.locator("#status .sv-error")).to_have_text(
        "A sweep is going on: stop it, or wait until it has ended."
    )
    page.locator("#sweep-stop").click()
    expect(page.locator("#sweep-status")).to_have_text("4 of 32 cells measured: stopped by you.")
    expect(page.locator("#sweep")).to_be_visible()
    expect(page.locator("#sweep-grid td b", has_text=".")).to_have_count(4)
    assert page.complaints == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", ["phone"], indirect=True)
def test_a_trace_without_timings_says_so_and_a_slider_moves_the_curves(page: Page, tmp_path: Path) -> None:
    open_trace(page, fixture_trace(steps=12) | {"machine": "<img src=x onerror=window.__pwned=1>"}, tmp_path)
    where = page.locator(".sv-where").inner_text()
    tab(page, "speed")
    expect(page.locator("#speed-cards .sv-missing")).to_have_text(["not measured yet"] * 4)
    drawn(page, "speedup")
    before = page.locator("#speed-verdict").inner_text()
    page.locator("#if-k input[type=number]").fill("9")
    page.locator("#if-k input[type=number]").press("Tab")
    expect(page.locator("#speed-verdict")).to_contain_text("K = 9 gives")
    assert "K = 4 gives" in before
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator("#sweep").click()
    expect(page.locator("#sweep-status .sv-error")).to_contain_text("There is no pair 'fixture'")
    assert page.evaluate("window.__pwned") is None
    page.locator("#speed-lab h2").first.click()
    press(page, "ArrowRight", "End")
    tab(page, "step")
    assert page.locator(".sv-where").inner_text() == where  # the player's keys are the player's


def test_the_calculator_follows_its_fields_and_refuses_what_is_none(page: Page) -> None:
    tab(page, "hardware")
    cards = page.locator("#hw-cards")
    expect(cards).to_contain_text("57 tokens/s")
    expect(page.locator("#hw-fit")).to_contain_text("It fits")
    target = page.locator("#hw-target input")
    target.fill("0")
    expect(page.locator("#hw-status .sv-error")).to_contain_text("above 0")
    expect(cards).not_to_contain_text("tokens/s")
    expect(page.locator("#hardware-lab .sv-pictures")).to_be_hidden()
    target.fill("8.03")
    expect(cards).to_contain_text("488 tokens/s")
    page.locator("#hw-machine input").click()
    page.get_by_role("option", name="MI300X").click()
    expect(cards).to_contain_text("323 tokens/s")
    expect(page.locator("#hw-bandwidth input")).to_have_value("5300")
