"""Take the README's pictures of the page, all of one real run: docs/page-*.png.

Usage, from the repository's root: python -m scripts.screenshots [PAIR [DRAFT]]; the default pair with its default draft.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from specviz import pairs
from specviz.ui.choices import draft_choices
from specviz.ui.launch import launch
from specviz.ui.page import build_page
from specviz.ui.shelf import Shelf

ROOT = Path(__file__).resolve().parents[1]
SHOTS = {
    "page-light": (1600, 900, False),
    "page-dark": (1600, 900, True),
    "page-small": (1366, 640, False),
    "page-phone": (390, 844, False),
}
PATIENCE_MS = 600_000


def run(page: Page, address: str, draft: str) -> None:
    """Open the page, run once with a draft, and wait for the figures and the chart."""
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    page.goto(address)
    page.locator(".sv-empty").wait_for()
    page.locator("#draft input").click()
    page.get_by_role("option", name=draft).click()
    page.locator("#run").click()
    expect(page.locator("#status")).to_contain_text("target passes.")
    expect(page.locator(".sv-card").nth(2)).not_to_contain_text("they are measured")
    page.locator("#chart .main-svg").first.wait_for()


def shoot(page: Page) -> None:
    """Take every picture of the run on screen."""
    (ROOT / "docs").mkdir(exist_ok=True)
    page.mouse.move(0, 0)
    for name, (width, height, dark) in SHOTS.items():
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("dark => document.body.classList.toggle('dark', dark)", dark)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.screenshot(path=ROOT / "docs" / f"{name}.png", animations="disabled")


def main(pair: str = pairs.DEFAULT_PAIR, draft: str = "") -> None:
    """Serve the page here, take the pictures, stop."""
    texts = {kind: text for text, kind in draft_choices(pair)}
    shelf = Shelf()
    blocks = build_page(shelf, pair)
    _, address, _ = launch(blocks, server_name="127.0.0.1", prevent_thread_lock=True, quiet=True)
    shelf.load(pair)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(color_scheme="light")
        run(page, address, texts[draft or next(iter(texts))])
        shoot(page)
        browser.close()
    blocks.close()


if __name__ == "__main__":
    main(*sys.argv[1:3])
