"""What a visitor does, in the words of the tests."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

KEPT = ("accepted", "residual", "bonus")


def run(page: Page) -> None:
    """Press Run and wait for the whole run."""
    grid = page.locator(".sv-grid")
    before = grid.get_attribute("data-run") or "none yet"
    page.locator("#run").click()
    expect(grid).to_have_attribute("data-run", re.compile(f"^(?!{re.escape(before)}$)."))
    expect(page.locator(".sv-player")).to_have_attribute("data-phase", "done")
    expect(page.locator("#status")).to_contain_text("target passes.")


def unfold_more(page: Page) -> None:
    """Unfold the settings under More."""
    if not page.locator("#seed").is_visible():
        page.locator("#more button").first.click()
        expect(page.locator("#chat input")).not_to_have_value("")


def number_field(page: Page, name: str) -> Locator:
    """Return the number field of a control, unfolding More where it is inside."""
    if name not in ("k", "temperature"):
        unfold_more(page)
    return page.locator(f"#{name} input[type=number]")


def set_number(page: Page, name: str, value: object) -> None:
    """Type a number into a control; Gradio, just unfolding a field, may still put the old value back once or twice."""
    field = number_field(page, name)
    for _ in range(5):
        field.fill(str(value))
        field.press("Tab")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        if field.input_value() == str(value):
            break
    expect(field).to_have_value(str(value))


def choose(page: Page, name: str, text: str) -> None:
    """Choose an entry of a menu, unfolding More where it is inside."""
    if name != "recorded":
        unfold_more(page)
    page.locator(f"#{name} input").click()
    page.get_by_role("option", name=text).click()


def download(page: Page, name: str, folder: Path) -> Path:
    """Press a file's button in the dialog Share and return the file."""
    page.locator('.sv-player [data-do="share"]').click()
    with page.expect_download() as caught:
        page.locator(f"#{name}").click()
    page.locator(".sv-share header button").click()
    path = folder / caught.value.suggested_filename
    caught.value.save_as(path)
    return path


def downloaded_trace(page: Page, folder: Path) -> dict[str, Any]:
    """Return the run on screen as its JSON file has it."""
    return json.loads(download(page, "json", folder).read_text())


def open_file(page: Page, path: Path) -> None:
    """Open a trace from a file."""
    page.locator("input[type=file]").set_input_files(path)


def open_trace(page: Page, trace: dict[str, Any], folder: Path) -> None:
    """Write a trace, open it and wait until it is on screen."""
    path = (
        folder / f"trace-{len(list(folder.iterdir()))}.json"
    )  # a browser does not notice the same file again
    path.write_text(json.dumps(trace))
    open_file(page, path)
    expect(page.locator("#status")).to_contain_text("Opened from a file.")


def complaint(page: Page, text: str) -> None:
    """Wait for a notice that holds `text`."""
    expect(page.locator("#status .sv-error")).to_contain_text(text)


def unfold_speed(page: Page) -> None:
    """Unfold the line with the speed so far."""
    page.locator(".sv-fold").click()
    expect(page.locator(".sv-speed")).to_be_visible()


def go_to_step(page: Page, step: int) -> None:
    """Go to the end of a step by its column in the skyline."""
    page.locator(f'[data-column="{step}"]').click()
    expect(page.locator(".sv-open")).to_have_attribute("data-row", str(step))


def press(page: Page, *keys: str) -> None:
    """Press keys one after the other."""
    for key in keys:
        page.keyboard.press(key)


def beat(page: Page) -> str:
    """Return where the player says it stands."""
    return page.locator(".sv-where").inner_text()


def cell(page: Page, step: int, position: int, state: str) -> Locator:
    """Return a cell of the grid."""
    return page.locator(f'.sv-cell[data-step="{step}"][data-position="{position}"][data-state="{state}"]')


SMALL_TEXTS = """(least) => {
  const small = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, holder = text.parentElement;
    if (!text.data.trim() || holder.closest('.sv-aloud, footer') || !holder.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const { width, height } = range.getBoundingClientRect();
    const size = parseFloat(getComputedStyle(holder).fontSize);
    if (width > 1 && height > 1 && size < least) small.push([text.data.trim(), holder.className, size]);
  }
  return small;
}"""


def small_texts(page: Page, least: float) -> list[Any]:
    """Return every visible text on the page (but the footer's) under `least` pixels, with its class and size."""
    return page.evaluate(SMALL_TEXTS, least)


def requests_of(page: Page) -> list[str]:
    """Return a list to which the address of every request from now on is added, but for scripts that Gradio still loads."""
    asked: list[str] = []
    page.on("request", lambda sent: None if "/assets/" in sent.url else asked.append(sent.url))
    return asked
