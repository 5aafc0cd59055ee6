"""Take the README's pictures of the page: docs/page-*.png, all of the gallery's opening lesson at the draw of its second step.

Usage, from the repository's root: python -m scripts.screenshots
"""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from specviz import pairs
from specviz.ui import gallery
from specviz.ui.launch import launch
from specviz.ui.page import build_page
from specviz.ui.shelf import Shelf

ROOT = Path(__file__).resolve().parents[1]
SHOTS = {
    "page-light": (1600, 900, "light"),
    "page-dark": (1600, 900, "dark"),
    "page-small": (1366, 640, "light"),
    "page-phone": (390, 844, "light"),
}
BEAT = "2.draw"


def shoot(browser: Browser, address: str, name: str) -> None:
    """Open the lesson at its beat in a window of its own, and take one picture."""
    width, height, scheme = SHOTS[name]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{address}?recorded={gallery.entries()[0].name}&beat={BEAT}")
    page.locator('.sv-open[data-row="2"]').wait_for()
    page.locator("#json:not([disabled])").wait_for()
    if name == "page-phone":
        page.locator(".sv-open").scroll_into_view_if_needed()
    page.mouse.move(0, 0)
    page.screenshot(path=ROOT / "docs" / f"{name}.png", animations="disabled")
    context.close()


def main() -> None:
    """Serve the page here, take the pictures, stop."""
    (ROOT / "docs").mkdir(exist_ok=True)
    blocks = build_page(Shelf(), pairs.DEFAULT_PAIR, gallery.entries()[0].name)
    _, address, _ = launch(blocks, server_name="127.0.0.1", prevent_thread_lock=True, quiet=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for name in SHOTS:
            shoot(browser, address, name)
        browser.close()
    blocks.close()


if __name__ == "__main__":
    main()
