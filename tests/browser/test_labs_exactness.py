"""The exactness lab as a visitor uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from specviz import Pair, Trace, decode, replay
from specviz.exactness.greedy import GREEDY, Contest, GreedyCheck, Progress
from specviz.page.exactness import greedy
from tests.browser.helpers import downloaded_trace, open_file, press, run


def open_lab(page: Page) -> None:
    page.locator('[role="tab"][data-tab-id="exactness"]').click()
    expect(page.locator(".svx-switch").first).to_be_visible()


def test_from_no_run_to_the_selected_position_and_a_csv(page: Page, tmp_path: Path) -> None:
    open_lab(page)
    expect(page.locator(".svx-problem")).to_contain_text("no run on screen yet")
    expect(page.locator('[data-throw="1000"]')).to_be_disabled()  # there is nothing to throw
    expect(page.locator('[data-part="here"]')).to_contain_text("can be shown at a selected position")
    page.locator('[role="tab"][data-tab-id="step"]').click()
    run(page)
    press(page, "Home", "n")
    where = page.locator(".sv-where").inner_text()
    open_lab(page)
    step = where.split()[1]
    expect(page.locator(".svx-title")).to_contain_text(f"Step {step}, position")
    expect(page.locator(".svx-big").first).to_have_text("= p")
    bars = (
        "lanes => [...new Set(lanes.map(lane => Math.round(lane.children[1].getBoundingClientRect().width)))]"
    )
    assert len(page.locator(".svx-lane").evaluate_all(bars)) == 1  # one scale for all
    page.locator('[role="tab"][data-tab-id="step"]').click()
    trace = downloaded_trace(page, tmp_path)
    open_lab(page)
    path = tmp_path / "grid.csv"
    path.write_text(Trace(trace).to_csv())
    open_file(page, path)
    expect(page.locator(".svx-problem")).to_contain_text("a CSV, which holds no distributions")
    assert page.complaints == []  # type: ignore[attr-defined]


def test_a_mistake_is_switched_on_thrown_run_and_exported(page: Page, tmp_path: Path) -> None:
    open_lab(page)
    page.locator('[data-source="table"]').click()
    expect(page.locator('[data-part="here"]')).to_be_hidden()
    page.locator('[data-throw="10000"]').click()
    expect(page.locator('[data-part="throws"]')).to_contain_text("chance alone explains it")
    page.locator('.svx-switch[data-fault="resample-from-p"]').press("Enter")
    expect(page.locator(".svx-banner")).to_contain_text("A deliberate mistake is on: resample from p")
    assert page.locator(".svx-banner").evaluate("node => getComputedStyle(node).backgroundColor") == "rgb(213, 94, 0)"  # fmt: skip
    expect(page.locator('[data-part="throws"]')).to_contain_text("chance does not explain it")
    expect(page.locator('[data-part="law"]')).to_contain_text("off by 0.15")
    page.get_by_role("button", name="Run the toy with this mistake").click()
    expect(page.locator(".sv-line")).to_contain_text("deliberate mistake: resample-from-p")
    expect(page.locator("#status")).to_contain_text("exported as JSON only")
    trace = downloaded_trace(page, tmp_path)
    expect(page.locator("#csv")).to_be_disabled()
    assert trace["settings"]["fault"] == "resample-from-p" and replay(Trace(trace)) == []
    open_lab(page)
    page.get_by_role("button", name="Switch it off").click()
    expect(page.locator(".svx-banner")).to_have_count(0)
    assert page.complaints == []  # type: ignore[attr-defined]


def test_the_text_at_temperature_0_is_compared_token_by_token(page: Page) -> None:
    open_lab(page)
    page.locator("#greedy-check").click()
    expect(page.locator(".svx-greedy")).to_contain_text("The same 64 tokens, every one.")
    expect(page.locator(".svx-same")).to_have_count(128)


def test_a_near_tie_is_called_one_and_compared_again_in_float32(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The toy, told to compute in bfloat16 and to part from its plain loop at the third token, until it is widened."""
    asked: list[tuple[str, str]] = []

    def made_up(pair: Pair, prompt: str, *, k: int, max_new_tokens: int, chat: Any) -> Iterator[Progress]:
        asked.append((pair.name, prompt))
        yield Progress(True, max_new_tokens // 2, max_new_tokens)
        trace = decode(pair, prompt, k=k, max_new_tokens=max_new_tokens, sampling=GREEDY)
        ids = trace.token_ids
        wide = pair.name == "toy, widened"
        plain = ids if wide else [*ids[:2], 99, *ids[3:]]
        trace.data["baseline"] = {"tokens": len(plain), "ms": 1.0, "token_ids": plain}
        trace.data["tokens"]["99"] = " 99"
        trace.data["weights"]["target"]["dtype"] = "float32" if wide else "bfloat16"
        contest = Contest(2, ids[2], 99, 5, (22.0, 22.0), (22.25, 22.125), 0.25)
        return GreedyCheck(trace, None if wide else contest)

    monkeypatch.setattr(greedy, "checking", made_up)
    monkeypatch.setattr(
        greedy, "in_float32", lambda pair: Pair("toy, widened", pair.target, pair.draft, pair.draft_kind)
    )
    open_lab(page)
    page.locator("#greedy-check").click()
    head = page.locator(".svx-greedy .svx-big")
    expect(head).to_have_text("The same for 2 tokens, then a near-tie.")
    expect(page.locator(".svx-greedy")).to_contain_text("two units in the last place of bfloat16")
    page.get_by_role("button", name="Compare again in float32").click()
    expect(head).to_have_text("The same 64 tokens, every one.")
    expect(page.locator(".svx-greedy")).to_contain_text("temperature 0, float32")
    expect(page.get_by_role("button", name="Compare again in float32")).to_have_count(0)
    assert [name for name, _ in asked] == ["toy", "toy, widened"] and asked[0][1] == asked[1][1]
    assert page.complaints == []  # type: ignore[attr-defined]
