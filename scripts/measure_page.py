"""Measure the page in a headless browser: how soon the lesson is there, how long a beat takes, requests, bytes.

Usage, from the repository's root: python -m scripts.measure_page; prints one line a figure, with its limit.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from specviz import decode, load_pair, start
from specviz.page import gallery, messages
from specviz.page.launch import launch
from specviz.page.page import build_page
from specviz.page.server.shelf import Shelf

BEATS = 40
PROMPT = "1 15 42"
DRAWN = """async (count) => {
  const press = (key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const times = [];
  press('End');
  for (let i = 0; i < count; i += 1) {
    await new Promise(requestAnimationFrame);
    const from = performance.now();
    press('ArrowLeft');
    document.querySelector('.sv-open').getBoundingClientRect();
    times.push(performance.now() - from);
  }
  return times;
}"""


def compact(data: Any) -> str:
    """Return JSON without spaces."""
    return json.dumps(data, separators=(",", ":"))


def run_of(steps: int, k: int) -> dict[str, Any]:
    """Return a toy's run of `steps` steps with K = `k`."""
    data = decode(load_pair("toy"), PROMPT, k=k, max_new_tokens=3000, seed=7).data
    cut = data["steps"][:steps]
    return {
        **data,
        "steps": cut,
        "token_ids": data["token_ids"][: cut[-1]["totals"]["tokens"]],
        "stop": "stopped",
    }


def opening_seconds(page: Page, address: str) -> float:
    """Return the seconds from navigation to the lesson's prompt and its first step's empty slots, the server being warm."""
    for _ in range(2):
        began = time.perf_counter()
        page.goto(address)
        page.locator(".sv-open .sv-slot").first.wait_for()
        seconds = time.perf_counter() - began
    return seconds


def beat_ms(page: Page, data: dict[str, Any], folder: Path) -> float:
    """Return the median milliseconds in which a beat at the end of a run is drawn and laid out."""
    path = folder / f"{len(data['steps'])}.json"
    path.write_text(compact(data))
    page.locator("input[type=file]").set_input_files(path)
    page.locator(f'.sv-skyline[aria-valuemax="{len(data["steps"])}"]').wait_for()
    return statistics.median(page.evaluate(DRAWN, BEATS))


def requests_while_playing(page: Page) -> int:
    """Return how many requests ten beats, a scrub, a choice and two seconds of play make."""
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    for key in ["Home", *["ArrowRight"] * 10, "n"]:
        page.keyboard.press(key)
    page.locator(".sv-column").nth(5).click()
    page.locator(".sv-open .sv-cell").first.click()
    page.keyboard.press("Home")
    page.locator(".sv-play").click()
    page.wait_for_timeout(2000)
    page.locator(".sv-play").click()
    return len(sent)


def live_share() -> float:
    """Return a live run's bytes on their way to the page, every step sent at once, over those of its trace."""
    run = start(load_pair("toy"), PROMPT, k=4, max_new_tokens=64, seed=7)
    sent = total = 0
    for _ in run:
        total += len(messages.live(run.trace, sent))
        sent = len(run.trace.data["steps"])
    return (total + len(messages.finished(run.trace))) / len(compact(run.trace.data))


def main() -> None:
    """Print every figure beside what was asked for."""
    blocks = build_page(Shelf(), "toy", gallery.entries()[0].name)
    _, address, _ = launch(blocks, server_name="127.0.0.1", prevent_thread_lock=True, quiet=True)
    host = address.split("/")[2]
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1600, "height": 900})
        hosts: set[str] = set()
        page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
        print(f"first step's slots after {opening_seconds(page, address):.2f} s (at most 2.5)")
        for steps, k, limit in ((64, 8, 16), (256, 16, 50)):
            print(
                f"a beat at {steps} steps of K = {k}: {beat_ms(page, run_of(steps, k), Path(folder)):.1f} ms (at most {limit})"
            )
        print(
            f"requests while playing: {requests_while_playing(page)} (0); other hosts: {len(hosts - {host})} (0)"
        )
        browser.close()
    short = decode(load_pair("toy"), PROMPT, k=4, max_new_tokens=64, seed=7).data
    print(f"a trace of 64 tokens at K = 4: {len(compact(short)) / 1e3:.0f} kB (at most 200)")
    print(f"a trace of 256 steps at K = 16: {len(compact(run_of(256, 16))) / 1e6:.2f} MB (at most 3)")
    print(f"a live run of 64 tokens: {live_share():.2f} times its final bytes (at most 3)")
    blocks.close()


if __name__ == "__main__":
    main()
