"""What is wrong is said in one sentence, and the run on screen stays."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from specviz import load_pair
from specviz.errors import SpecVizError
from specviz.models.toy import ToyCursor
from specviz.page.server import shelf
from tests.browser.helpers import (
    choose,
    complaint,
    downloaded_trace,
    open_file,
    open_trace,
    press,
    run,
    set_number,
)
from tests.browser.traces import fixture_trace


def test_each_bad_input_is_named_and_the_previous_run_stays(page: Page) -> None:
    run(page)
    before = page.locator(".sv-grid").get_attribute("data-run")
    prompt = page.locator("#prompt textarea")
    for words, answer in {
        "   ": "The prompt is empty",
        "1 fox": "'fox' is none",
        "9 " * 5000: "10,000 characters",
    }.items():
        prompt.fill(words)
        page.locator("#run").click()
        complaint(page, answer)
    prompt.fill("1 15 42")
    wrong = {
        "top_p": (0, "Top-p must be above 0", 1),
        "top_k": (-1, "Top-k must be", 0),
        "max_new_tokens": (257, "from 1 to 256", 64),
        "seed": (1.5, "The seed must be a whole number", 7),
    }
    for name, (value, answer, right) in wrong.items():
        set_number(page, name, value)
        page.locator("#run").click()
        complaint(page, answer)
        set_number(page, name, right)
    expect(page.locator(".sv-grid")).to_have_attribute("data-run", before or "")
    run(page)


def test_weights_out_of_reach_are_a_sentence(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    run(page)
    count = page.locator(".sv-column").count()

    def unreachable(*_: Any, **__: Any) -> None:
        raise SpecVizError("There is no connection to fetch the weights: connect once, or choose toy.")

    monkeypatch.setattr(shelf, "load_pair", unreachable)
    choose(page, "pair", "SmolLM2 135M Instruct")
    page.locator("#run").click()
    complaint(page, "There is no connection to fetch the weights: connect once, or choose toy.")
    expect(page.locator(".sv-column")).to_have_count(count)


def test_stop_works_before_the_first_step(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    loading = threading.Event()
    monkeypatch.setattr(shelf, "load_pair", lambda *_, **__: loading.wait(30) and load_pair("toy"))
    choose(page, "pair", "GPT-2 large")
    page.locator("#run").click()
    expect(page.locator("#status")).to_contain_text("Loading GPT-2 large")
    page.locator("#stop").click()
    expect(page.locator("#status")).to_contain_text("Stopped before the first step.")
    expect(page.locator("#run")).to_be_visible()
    loading.set()


def test_a_fault_inside_is_a_sentence_without_a_traceback(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr(ToyCursor, "extend", broken)
    page.locator("#run").click()
    complaint(page, "SpecViz failed (RuntimeError): the server's log says why.")
    expect(page.locator("body")).not_to_contain_text("secret words")


def test_a_file_that_is_no_trace_is_refused_and_the_run_stays(page: Page, tmp_path: Path) -> None:
    run(page)
    whole = downloaded_trace(page, tmp_path)
    count = page.locator(".sv-column").count()
    contents = {
        "hello.json": ("hello", "can't be read as JSON"),
        "cut.json": ('{"format": "specviz-trace", "version": 1, "steps": [', "cut short"),
        "newer.json": ('{"format": "specviz-trace", "version": 99}', "version 99"),
        "other.csv": ("a,b\n1,2\n", "not a SpecViz trace"),
    }
    for name, (text, answer) in contents.items():
        (tmp_path / name).write_text(text)
        open_file(page, tmp_path / name)
        complaint(page, answer)
        expect(page.locator(".sv-column")).to_have_count(count)
    open_trace(page, whole, tmp_path)
    expect(page.locator(".sv-column")).to_have_count(count)


def test_a_csv_opens_as_the_same_grid(page: Page, tmp_path: Path) -> None:
    from specviz import Trace

    path = tmp_path / "trace.csv"
    trace = Trace(fixture_trace(steps=3))
    trace.to_csv(path)
    open_file(page, path)
    expect(page.locator(".sv-column")).to_have_count(3)
    press(page, "End")
    for step in trace.data["steps"]:
        for number, draft in enumerate(step["drafts"], start=1):
            expect(
                page.locator(
                    f'.sv-cell[data-step="{step["step"]}"][data-position="{number}"][data-state="{draft["state"]}"]'
                )
            ).to_have_count(1)
    page.locator(".sv-cell").first.click()
    expect(page.locator(".sv-inspector")).not_to_contain_text("NaN")
    expect(page.locator(".sv-inspector")).not_to_contain_text("undefined")
