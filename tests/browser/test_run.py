"""The main job in a real browser: a run of the toy, its grid, its text, its figures, its files."""

from __future__ import annotations

import dataclasses
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from specviz import load_pair
from specviz.models.toy import ToyCursor
from specviz.page.server import shelf
from specviz.page.step import handlers
from tests.browser.helpers import (
    KEPT,
    beat,
    cell,
    choose,
    download,
    downloaded_trace,
    go_to_step,
    press,
    run,
    set_number,
    unfold_speed,
)
from tests.unit.test_doubts import costs


def shown(text: str) -> float:
    """The number in a cell's "p 0.31" or "coin 0.71"."""
    return float(text.split()[-1].lstrip(">"))


def assert_shows(text: str, value: float) -> None:
    """Two decimals, or one digit where the value is smaller than those."""
    assert shown(text) == pytest.approx(value, abs=0.0051 if value >= 0.01 else 0.5 * value)


def test_every_cell_of_the_grid_shows_the_traces_numbers(page: Page, tmp_path: Path) -> None:
    set_number(page, "max_new_tokens", 24)
    run(page)
    trace = downloaded_trace(page, tmp_path)
    expect(page.locator(".sv-column")).to_have_count(len(trace["steps"]))
    for step in trace["steps"]:
        go_to_step(page, step["step"])
        expect(page.locator(".sv-open .sv-cell")).to_have_count(len(step["drafts"]) + 1)
        for position, draft in enumerate(step["drafts"], start=1):
            here = cell(page, step["step"], position, draft["state"])
            expect(here.locator(".sv-token")).to_have_text("␣" + trace["tokens"][str(draft["id"])].strip())
            assert_shows(here.locator(".sv-q").inner_text(), draft["q"])
            if draft["coin"] is None:
                expect(here.locator(".sv-coin")).to_have_count(0)
                assert_shows(here.locator(".sv-p").inner_text(), draft["p"])
                continue
            assert_shows(here.locator(".sv-p").inner_text(), draft["p"])
            assert_shows(here.locator(".sv-coin").inner_text(), draft["coin"])
            chance = here.locator(".sv-chance").inner_text()
            if draft["p"] >= draft["q"]:
                assert chance == "always"
            else:
                assert float(chance.split()[0]) == pytest.approx(100 * draft["p"] / draft["q"], abs=0.51)
        kept = sum(draft["state"] == "accepted" for draft in step["drafts"])
        final = cell(page, step["step"], kept + 1, step["final"]["kind"])
        assert_shows(final.locator(".sv-p").inner_text(), step["final"]["p"])


def test_the_output_is_marked_by_state_and_reads_as_the_text(page: Page, tmp_path: Path) -> None:
    run(page)
    trace = downloaded_trace(page, tmp_path)
    tokens = page.locator(".sv-out")
    assert "".join(tokens.all_text_contents()) == "".join(
        trace["tokens"][str(token)] for token in trace["token_ids"]
    )
    states = [
        (item["state"] if "state" in item else item["kind"])
        for step in trace["steps"]
        for item in [*step["drafts"], step["final"]]
    ]
    assert tokens.evaluate_all("nodes => nodes.map(node => node.dataset.state)") == [
        state for state in states if state in KEPT
    ]


def test_the_csv_opens_in_pandas_and_agrees_with_the_page(page: Page, tmp_path: Path) -> None:
    run(page)
    trace = downloaded_trace(page, tmp_path)
    table = pd.read_csv(download(page, "csv", tmp_path))
    counts = table.state.value_counts().to_dict()
    alone = int((table.drafted == 0).sum())
    for state in ("accepted", "rejected", "discarded", "residual", "bonus"):
        shown_count = counts.get(state, 0) - (alone if state == "bonus" else 0)
        expect(page.locator(f'.sv-key[data-next="{state}"] b')).to_have_text(str(shown_count))
    output = table[table.output_index.notna()].sort_values("output_index")
    assert output.token_id.tolist() == trace["token_ids"]
    assert "".join(output.token.map(json.loads)) == "".join(page.locator(".sv-out").all_text_contents())
    assert table.tokens_total.iloc[-1] == len(trace["token_ids"])


def test_the_figures_are_those_of_the_trace_and_the_chart_is_drawn(page: Page, tmp_path: Path) -> None:
    run(page)
    trace = downloaded_trace(page, tmp_path)
    unfold_speed(page)
    totals = trace["steps"][-1]["totals"]
    drafts = [draft for step in trace["steps"] for draft in step["drafts"]]
    accepted = sum(draft["state"] == "accepted" for draft in drafts)
    examined = sum(draft["coin"] is not None for draft in drafts)
    cards = page.locator(".sv-card")
    expect(cards.nth(0).locator(".sv-figure")).to_have_text(
        f"{totals['tokens'] / totals['target_passes']:.2f}"
    )
    expect(cards.nth(1).locator(".sv-figure")).to_have_text(f"{accepted / examined:.2f}")
    expect(cards.nth(1)).to_contain_text(
        f"{accepted} kept of {len(drafts)} drafted = {accepted / len(drafts):.2f}"
    )
    expect(cards.nth(3).locator(".sv-figure")).to_have_text("–")
    expect(page.locator("#chart .main-svg").first).to_be_visible()
    expect(page.locator("#chart")).to_contain_text("tokens per target pass, so far")
    assert page.complaints == []  # type: ignore[attr-defined]


def test_settings_reach_the_run(page: Page, tmp_path: Path) -> None:
    choose(page, "draft", "noise")
    set_number(page, "k", 2)
    set_number(page, "temperature", 0)
    set_number(page, "seed", 11)
    set_number(page, "max_new_tokens", 9)
    run(page)
    trace = downloaded_trace(page, tmp_path)
    given = trace["settings"]
    assert (given["k"], given["temperature"], given["seed"], given["draft"]["kind"]) == (2, 0, 11, "noise")
    assert len(trace["token_ids"]) == 9


def test_an_example_fills_the_prompt_and_a_pair_brings_its_own(page: Page) -> None:
    choose(page, "examples", "7 7 7 7")
    expect(page.locator("#prompt textarea")).to_have_value("7 7 7 7")
    choose(page, "pair", "SmolLM2 135M Instruct")
    expect(page.locator("#prompt textarea")).to_have_value("Tell me a short story about a lighthouse keeper.")
    choose(page, "draft", "prompt lookup")
    choose(page, "pair", "Toy: 100 tokens, no weights")
    expect(page.locator("#prompt textarea")).to_have_value("1 15 42")
    run(page)


def test_a_run_is_shown_as_it_comes_and_stop_keeps_what_there_is(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "LIVE_EVERY_S", 0.0)
    gate, calls, extend = threading.Event(), [0], ToyCursor.extend

    def slow(self: Any, ids: Any, rows: int) -> Any:
        calls[0] += 1
        if calls[0] == 40:
            assert gate.wait(30)
        return extend(self, ids, rows)

    monkeypatch.setattr(ToyCursor, "extend", slow)
    set_number(page, "max_new_tokens", 200)
    page.locator("#run").click()
    expect(page.locator(".sv-player")).to_have_attribute("data-phase", "live")
    expect(page.locator(".sv-column").nth(2)).to_be_attached()
    expect(page.locator(".sv-where")).to_contain_text("…")
    expect(page.locator("#status")).to_contain_text("of 200 tokens")
    with page.expect_response(lambda answer: "queue/join" in answer.url or "/run/" in answer.url):
        page.locator("#stop").click()
    gate.set()
    expect(page.locator(".sv-player")).to_have_attribute("data-phase", "done")
    expect(page.locator("#run")).to_be_visible()
    trace = downloaded_trace(page, tmp_path)
    assert trace["stop"] == "stopped"
    assert 2 < len(trace["token_ids"]) < 200
    expect(page.locator(".sv-column")).to_have_count(len(trace["steps"]))
    press(page, "Home")
    assert beat(page).startswith("step 1 of")


def test_speedups_appear_when_they_have_been_measured(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair that is not the toy, but computes like it: its timings come after the run, the plain loop when asked for."""
    toy = load_pair("toy", "lookup")

    def measured_costs(_: Any) -> Iterator[float]:
        yield 0.5
        return costs([10.0 + rows for rows in range(17)], draft=0.0)

    monkeypatch.setattr(shelf, "IDLE_S", 0.0)
    monkeypatch.setattr(shelf, "load_pair", lambda *_, **__: dataclasses.replace(toy, name="qwen3-4b"))
    monkeypatch.setattr(shelf, "with_draft", lambda pair, *_, **__: pair)
    monkeypatch.setattr(shelf, "measure_in_rounds", measured_costs)
    choose(page, "pair", "Qwen3 4B")
    expect(page.locator("#prompt textarea")).not_to_have_value("1 15 42")
    page.locator("#prompt textarea").fill("1 15 42 1 15")
    run(page)
    unfold_speed(page)
    modelled, measured = page.locator(".sv-card").nth(2), page.locator(".sv-card").nth(3)
    expect(modelled.locator(".sv-figure")).to_have_text(re.compile(r"^\d+\.\d\d×$"))
    expect(measured.locator(".sv-figure")).to_have_text("–")
    page.locator("#plain").click()
    expect(page.locator("#status")).to_contain_text("The plain loop took")
    # what the toy measures is real, and may be too short a time to be known well: then it can be measured again
    expect(measured.locator(".sv-figure")).to_have_text(re.compile(r"^(~ )?\d+\.\d\d×$"))
    in_doubt = "in doubt" in measured.inner_text()
    assert measured.locator(".sv-figure").inner_text().startswith("~") == in_doubt
    expect(page.locator("#plain")).to_be_enabled(enabled=in_doubt)
