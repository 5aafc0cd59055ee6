"""One server for the whole folder, without weights and offline; a browser page a test; a picture of what failed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from playwright.sync_api import Browser, Page, expect, sync_playwright

from specviz.page import gallery
from specviz.page.launch import launch
from specviz.page.page import build_page
from specviz.page.server.runs import key_of
from specviz.page.server.shelf import Shelf
from specviz.page.step import handlers

PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)
FAILURES = Path(__file__).parent / "failures"
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1600, "height": 900}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page that opens with the toy."""
    os.environ["GRADIO_TEMP_DIR"] = str(tmp_path_factory.mktemp("gradio"))
    blocks = build_page(Shelf(), "toy")
    _, address, _ = launch(blocks, server_name="127.0.0.1", prevent_thread_lock=True, quiet=True)
    yield address
    blocks.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's chromium where there is one, else Playwright's own."""
    with sync_playwright() as playwright:
        found = shutil.which("chromium")
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    page = getattr(item, "funcargs", {}).get("page")
    if report.when == "call" and report.failed and page is not None:
        FAILURES.mkdir(exist_ok=True)
        page.screenshot(path=FAILURES / f"{re.sub(r'[^A-Za-z0-9_]+', '-', item.name)}.png", full_page=True)
    return report


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Browser, server: str) -> Iterator[Page]:
    """The opened page; parametrize it indirectly with a colour scheme, or "phone"."""
    kind = getattr(request, "param", "light")
    scheme = "dark" if kind == "dark" else "light"
    context = browser.new_context(
        viewport=PHONE if kind == "phone" else DESK, color_scheme=scheme, accept_downloads=True
    )
    opened = context.new_page()
    opened.complaints = []  # type: ignore[attr-defined]
    opened.on("pageerror", lambda error: opened.complaints.append(str(error)))  # type: ignore[attr-defined]
    opened.on("console", lambda line: opened.complaints.append(line.text) if line.type == "error" else None)  # type: ignore[attr-defined]
    opened.hosts = set()  # type: ignore[attr-defined]
    opened.on("request", lambda sent: opened.hosts.add(sent.url.split("/")[2]) if "//" in sent.url else None)  # type: ignore[attr-defined]
    opened.set_default_timeout(PATIENCE_MS)
    opened.goto(server)
    opened.locator(".sv-player[data-ready] .sv-intro").wait_for()
    yield opened
    context.close()


@pytest.fixture(scope="session")
def lesson_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page that opens with the gallery's first run, as visitors find it."""
    blocks = build_page(Shelf(), "toy", gallery.entries()[0].name)
    _, address, _ = launch(blocks, server_name="127.0.0.1", prevent_thread_lock=True, quiet=True)
    yield address
    blocks.close()


@pytest.fixture
def lesson(request: pytest.FixtureRequest, browser: Browser, lesson_server: str) -> Iterator[Page]:
    """That page, opened and at its first beat."""
    context = browser.new_context(viewport=PHONE if getattr(request, "param", "") == "phone" else DESK)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(lesson_server)
    page.locator(".sv-open").wait_for()
    yield page
    context.close()


@pytest.fixture(autouse=True)
def runs_of_its_own(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that the server keeps is found again by the test that made it, and by no other."""
    monkeypatch.setattr(handlers, "key_of", lambda *asked: f"{request.node.name} {key_of(*asked)}")
