"""Take pictures of the page: without an argument the README's, into docs/; with a folder those of every mode, into that folder.

Usage, from the repository's root: python -m scripts.screenshots [FOLDER]
All are of recorded runs and of the toy, so that no model is needed.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, expect, sync_playwright

from specviz import Trace
from specviz.models import catalogue
from specviz.page import gallery
from specviz.page.launch import launch
from specviz.page.page import build_page
from specviz.page.server.shelf import Shelf
from specviz.record.html import to_html

ROOT = Path(__file__).resolve().parents[1]
WIDE, PROJECTOR, SMALL, PHONE = (1600, 900), (1366, 768), (1366, 640), (390, 844)
TOY = "prompt=1+15+42&pair=toy&draft=model&temperature=1&top_k=0&top_p=1&max_new_tokens=40&chat=raw+text"
PATIENCE_MS = 30_000
# the server has answered the link: the run's chart is there, or the line that says to press Run
ANSWERED = "document.querySelector('#chart') || document.querySelector('#status').textContent"


def nothing(page: Page) -> None:
    """Take the page as it opens."""


def keys(*pressed: str) -> Callable[[Page], None]:
    """Return what presses keys one after the other."""

    def press(page: Page) -> None:
        for key in pressed:
            page.keyboard.press(key)

    return press


def click(*selectors: str) -> Callable[[Page], None]:
    """Return what clicks on one thing after the other."""

    def press(page: Page) -> None:
        for selector in selectors:
            page.locator(selector).first.click()

    return press


def run_toy(page: Page) -> None:
    """Run the settings of the link, unless the server has kept that run, and wait for the end."""
    status = page.locator("#status")
    expect(status).to_contain_text(re.compile("press Run|target passes"), timeout=PATIENCE_MS)
    if "press Run" in status.inner_text():
        page.locator("#run").click()
        expect(status).to_contain_text("target passes", timeout=PATIENCE_MS)
    keys("Home")(page)


def after_toy(*pressed: str) -> Callable[[Page], None]:
    """Return what runs the toy and then presses keys."""

    def act(page: Page) -> None:
        run_toy(page)
        keys(*pressed)(page)

    return act


def run_branch(page: Page) -> None:
    """Run the toy, put the first coin that rejected at 0, and run that branch."""
    run_toy(page)
    keys("n")(page)
    page.locator('[data-moves="accept"]').press("Home")
    page.locator('[data-do="branch"]').click()
    page.locator(".sv-both:visible").wait_for()


def run_race(page: Page) -> None:
    """Race the toy against its own plain loop, up to the finish."""
    page.locator("#race").click()
    page.locator(".sv-race[open] .sv-race-verdict").wait_for()


def show_row(page: Page) -> None:
    """Have the open step in view."""
    page.locator(".sv-open").scroll_into_view_if_needed()


@dataclass(frozen=True)
class Shot:
    """A picture: the window's size, the link it opens, what is done there, the colour scheme."""

    size: tuple[int, int]
    query: str
    act: Callable[[Page], None] = nothing
    scheme: Literal["light", "dark"] = "light"


def lesson(beat: str, more: str = "") -> str:
    """Return the query of the gallery's opening lesson at a beat."""
    return f"recorded={gallery.entries()[0].name}&beat={beat}{more}"


README = {
    "page-light": Shot(WIDE, lesson("2.draw")),
    "page-dark": Shot(WIDE, lesson("2.draw"), scheme="dark"),
    "page-small": Shot(SMALL, lesson("2.draw")),
    "page-phone": Shot(PHONE, lesson("2.draw"), show_row),
}
STUDENT = "&task=Which+draft+of+step+2+is+rejected,+and+why?&lock=k,temperature&hide=seed,top_k,top_p,chat&predict=1&label=group+3"
MODES = {
    "present-light": Shot(WIDE, lesson("2.draw", "&present=1")),
    "present-dark": Shot(WIDE, lesson("2.coin.3", "&present=1"), scheme="dark"),
    "present-projector": Shot(PROJECTOR, lesson("2.owed", "&present=1")),
    "present-start": Shot(WIDE, lesson("2.start", "&present=1")),
    "present-k16": Shot(WIDE, f"{TOY}&k=16&seed=5&agreement=0.85", after_toy("n", "f")),
    "present-k8": Shot(PROJECTOR, f"{TOY}&k=8&seed=5&agreement=0.85", after_toy("n", "f", "PageDown", "PageDown")),
    "present-predict": Shot(WIDE, lesson("2.threshold.3", "&present=1&predict=1")),
    "predict-light": Shot(WIDE, lesson("2.threshold.3", "&predict=1")),
    "predict-dark": Shot(WIDE, lesson("2.threshold.3", "&predict=1"), scheme="dark"),
    "predict-small": Shot(SMALL, lesson("2.threshold.3", "&predict=1")),
    "predict-phone": Shot(PHONE, lesson("2.threshold.3", "&predict=1"), keys("Escape")),
    "coin-dragged": Shot(WIDE, lesson("2.coin.3"), lambda page: page.locator('[data-moves="accept"]').press("Home")),
    "branch": Shot(WIDE, f"{TOY}&k=4&seed=3&agreement=0.6", run_branch),
    "branch-dark": Shot(WIDE, f"{TOY}&k=4&seed=3&agreement=0.6", run_branch, "dark"),
    "race": Shot(WIDE, f"{TOY}&k=4&seed=3&agreement=0.6", run_race),
    "end-card": Shot(WIDE, lesson("1.start"), keys("Escape", "End")),
    "end-card-small": Shot(SMALL, lesson("1.start"), keys("Escape", "End")),
    "share": Shot(WIDE, lesson("2.draw"), click('[data-do="share"]')),
    "share-lesson": Shot(WIDE, lesson("2.draw"), click('[data-do="share"]', ".sv-share summary")),
    "student": Shot(WIDE, lesson("2.start", STUDENT)),
    "student-phone": Shot(PHONE, lesson("2.start", STUDENT)),
    "phone-list": Shot(PHONE, lesson("2.draw"), keys("Escape", "ArrowLeft", "ArrowRight")),
    "phone-list-dark": Shot(PHONE, lesson("2.draw"), keys("Escape", "ArrowLeft", "ArrowRight"), "dark"),
    "phone-sheet": Shot(PHONE, lesson("2.draw"), click(".sv-open .sv-rejected")),
    "phone-change": Shot(PHONE, lesson("2.draw"), click('[data-do="change"]')),
    "phone-menu": Shot((360, 740), lesson("2.draw"), click('[data-do="menu"]')),
    "tablet": Shot((820, 1180), lesson("2.draw")),
}  # fmt: skip


def shoot(browser: Browser, address: str, path: Path, shot: Shot) -> None:
    """Open the shot's link at `address` in a window of its own, do what it does, and take one picture."""
    width, height = shot.size
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=shot.scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{address}?{shot.query}")
    page.locator(".sv-player[data-ready][data-phase=done]").wait_for()
    page.wait_for_function(ANSWERED)
    shot.act(page)
    page.mouse.move(0, 0)
    page.screenshot(path=path, animations="disabled")
    context.close()


def shoot_file(browser: Browser, folder: Path) -> None:
    """Take a picture of the opening lesson as one HTML file, opened from disk without a network."""
    source = folder / "alone.html"
    to_html(Trace.from_json(gallery.entries()[0].path).data, source)
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]}, offline=True)
    page = context.new_page()
    page.goto(source.as_uri())
    keys("n", "ArrowRight", "ArrowRight")(page)
    page.screenshot(path=folder / "alone.png", animations="disabled")
    keys("f")(page)
    page.screenshot(path=folder / "alone-present.png", animations="disabled")
    context.close()
    source.unlink()


def main(folder: Path | None = None) -> None:
    """Serve the page here, take the pictures, stop."""
    shots = README if folder is None else README | MODES
    place = folder or ROOT / "docs"
    place.mkdir(parents=True, exist_ok=True)
    blocks = build_page(Shelf(), catalogue.DEFAULT_PAIR, gallery.entries()[0].name)
    _, address, _ = launch(blocks, server_name="127.0.0.1", prevent_thread_lock=True, quiet=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for name, shot in shots.items():
            shoot(browser, address, place / f"{name}.png", shot)
        if folder is not None:
            shoot_file(browser, place)
        browser.close()
    blocks.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None)
