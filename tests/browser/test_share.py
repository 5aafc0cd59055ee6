"""What a class takes away and gets handed: files, a page without a server, lessons, links that know their run."""

from __future__ import annotations

import asyncio
import csv
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from specviz.page import gallery
from specviz.page.launch import launch
from specviz.page.page import build_page
from specviz.page.server.shelf import Shelf
from specviz.page.step.handlers import Handlers
from tests.browser.conftest import DESK
from tests.browser.helpers import beat, choose, download, press, run, set_number

OPENING = gallery.entries()[0]


def share(page: Page) -> None:
    page.locator('.sv-player [data-do="share"]').click()
    expect(page.locator(".sv-share")).to_be_visible()


def query(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def test_the_page_by_itself_plays_from_disk_without_a_network(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "opening.html"
    gallery.open_recorded(OPENING.name).to_html(path)
    context = browser.new_context(viewport=DESK, reduced_motion="reduce", offline=True)
    page = context.new_page()
    wrong: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda line: wrong.append(line.text) if line.type in ("error", "warning") else None)
    page.on("request", lambda sent: asked.append(sent.url))
    page.goto(path.as_uri())
    expect(page.locator(".sv-open")).to_be_visible()
    for name in ("share", "race"):
        expect(page.locator(f'[data-do="{name}"]:visible')).to_have_count(0)
    press(page, "ArrowRight", "ArrowRight")
    assert "the target pass" in beat(page)
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".sv-where")).to_contain_text("coin 1")
    press(page, " ", "n")
    expect(page.locator(".sv-open .sv-cell[data-state=rejected]")).to_be_visible()
    press(page, "Home", "p", "ArrowRight", "ArrowRight", "ArrowRight")
    assert "threshold 1" in beat(page)
    press(page, "a")
    expect(page.locator(".sv-where")).to_contain_text("coin 1")
    press(page, "p", "f")
    expect(page.locator("body.sv-presenting")).to_be_attached()
    press(page, "Escape")
    expect(page.locator("body.sv-presenting")).to_have_count(0)
    assert (
        page.evaluate("() => fetch('https://example.org/').then(() => 'came', () => 'refused')") == "refused"
    )
    assert wrong and all("Content Security Policy" in line or "example.org" in line for line in wrong)
    assert [address for address in asked if not address.startswith("file:")] == []
    context.close()


def test_a_label_that_is_a_formula_stays_text_in_the_file_and_its_name(page: Page, tmp_path: Path) -> None:
    run(page)
    share(page)
    label = '=HYPERLINK("http://x/../a","b")'
    page.locator('[data-part="label"]').fill(label)
    page.locator(".sv-share header button").click()
    path = download(page, "csv", tmp_path)
    assert re.fullmatch(r"specviz-HYPERLINK_http_x_a_b-toy-k4-t0\.8-seed7-\w+\.csv", path.name)
    rows = list(csv.DictReader(path.open()))
    assert {row["label"] for row in rows} == {json.dumps(label)}
    page_file = download(page, "html", tmp_path)
    assert "data-standalone" in page_file.read_text()


def test_a_lesson_is_built_and_opened_as_a_student(lesson: Page, lesson_server: str) -> None:
    press(lesson, "ArrowRight", "ArrowRight")
    share(lesson)
    lesson.locator(".sv-share summary").click()
    task = "Why was | the [third] <b>guess</b> rejected?"
    lesson.locator('[data-part="task"]').fill(task)
    expect(lesson.locator('[data-part="count"]')).to_have_text(f"{len(task)} of 200 characters")
    for name, way in (("k", "lock"), ("seed", "lock"), ("recorded", "hide"), ("temperature", "hide")):
        lesson.locator(f'[data-control="{name}"]').select_option(way)
    expect(lesson.locator('[data-part="starts"]')).to_contain_text("step 1, the target pass")
    lesson.locator('[data-lesson="add"]').click()
    lesson.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }")
    lesson.locator('[data-copy="markdown"]').click()
    table = lesson.locator('[data-part="markdown"]')
    expect(table).to_be_focused()
    last = table.input_value().splitlines()[-1]
    assert last.startswith(
        "| 1 | [Why was \\| the \\[third\\] \\<b\\>guess\\</b\\> rejected?](http://127.0.0.1"
    )
    assert last.count("|") - last.count("\\|") == 3
    expect(lesson.locator('[data-part="copied"]')).to_contain_text("press Ctrl+C")
    with lesson.context.expect_page() as opened:
        lesson.locator('[data-lesson="open"]').click()
    student = opened.value
    expect(student.locator(".sv-task")).to_have_text(f"Task {task}")
    expect(student.locator(".sv-where")).to_contain_text("the target pass")
    expect(student.locator("#recorded")).to_be_hidden()
    expect(student.locator("#temperature")).to_be_hidden()
    expect(student.locator("#k input[type=number]")).to_be_disabled()
    expect(student.locator("#k input[type=range]")).to_be_disabled()
    mark = "node => getComputedStyle(node, '::before').content"
    assert student.locator("#k").evaluate(mark) == '"locked"'
    expect(student.locator("#prompt textarea")).to_be_enabled()
    student.close()


def test_a_bad_link_is_cut_shown_as_text_and_answered_with_a_sentence(
    lesson: Page,
    lesson_server: str,
) -> None:
    task = "<img src=x onerror=alert(1)>\u202e" + "x" * 10_000
    lesson.goto(
        f"{lesson_server}?recorded={OPENING.name}&beat=banana&fp=no&lock=all,<b>&hide=run&task={task}"
    )
    shown = lesson.locator(".sv-task span")
    expect(shown).to_have_text(re.compile(r"^<img src=x onerror=alert\(1\)> x{171}$"))
    expect(lesson.locator(".sv-notes img")).to_have_count(0)
    note = lesson.locator(".sv-remark")
    expect(note).to_contain_text("names a beat that this run does not have, so it stands at the start")
    assert beat(lesson).startswith("step 1 of") and "the start" in beat(lesson)
    expect(lesson.locator("#run")).to_be_visible()
    note.locator("button").click()
    expect(note).to_have_count(0)


def test_a_links_run_is_compared_with_ours_and_a_kept_run_opens_at_its_beat(
    page: Page,
    server: str,
    lesson_server: str,
) -> None:
    set_number(page, "seed", 1234)
    run(page)
    page.locator('[data-speed="slow"]').click()
    press(page, "Home", "ArrowRight", "ArrowRight")
    page.wait_for_url(re.compile("beat=1.draft.2"))
    link = page.url
    assert query(link)["speed"] == "slow"
    whole, steps = query(link)["fp"].split(".")
    assert len(query(link)["fp"]) < 60

    page.goto(link)
    expect(page.locator("#status")).to_contain_text("made before with these settings")
    expect(page.locator(".sv-where")).to_contain_text("draft 2")
    expect(page.locator('[data-speed="slow"]')).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".sv-remark")).to_have_count(0)

    other = steps[:6] + "".join("A" if each == "B" else "B" for each in steps[6:])
    page.goto(link.replace(f"{whole}.{steps}", f"AAAAAAAA.{other}"))
    expect(page.locator(".sv-remark")).to_contain_text("differs from the link’s from step 7 on")
    expect(page.locator(".sv-remark a")).to_have_count(0)

    page.goto(link.replace(f"{whole}.{steps}", "b%20roken"))
    expect(page.locator(".sv-remark")).to_contain_text("The link’s fingerprint is broken")

    page.goto(link.replace(f"{whole}.{steps}", gallery.prints()[0]["fingerprint"]))
    expect(page.locator(".sv-remark a")).to_have_text(f"Open the recorded one: {OPENING.title}")
    expect(page.locator(".sv-remark a")).to_have_attribute(
        "href", re.compile(f"recorded={OPENING.name}&beat=1.draft.2")
    )


def test_the_menu_of_recorded_runs_names_none_after_a_run_of_ones_own(lesson: Page) -> None:
    expect(lesson.locator("#recorded input")).to_have_value(OPENING.title)
    choose(lesson, "pair", "Toy: 100 tokens, no weights")
    choose(lesson, "chat", "raw text")
    expect(lesson.locator("#prompt textarea")).to_have_value("1 15 42")
    run(lesson)
    expect(lesson.locator("#recorded input")).to_have_value("")


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str], threading.Event]]:
    """A page of its own, the visitors who really made a run there, and what lets the first of them go on."""
    made: list[str] = []
    gate = threading.Event()
    follow = Handlers._follow

    def counted(self: Handlers, visitor: str, computed: Any, what: str = "") -> Any:
        made.append(visitor)
        assert gate.wait(100)  # on a busy machine it takes a while until 39 others wait
        yield from follow(self, visitor, computed, what)

    monkeypatch.setattr(Handlers, "_follow", counted)
    blocks = build_page(Shelf(), "toy")
    _, address, _ = launch(blocks, server_name="127.0.0.1", prevent_thread_lock=True, quiet=True)
    yield address, made, gate
    gate.set()
    blocks.close()


async def press_run(client: httpx.AsyncClient, number: int, waits: asyncio.Event | None) -> str:
    """Do what a browser does when Run is pressed; return the run's id. `waits` is set once this client is told to wait."""
    config = (await client.get("config")).json()
    press = next(each for each in config["dependencies"] if each["api_name"] == "run")
    data = ["1 15 42", "toy", "model", 4, 0.8, 0, 1, 24, 7, "as the model expects", 0.9]
    data += [None] * (len(press["inputs"]) - len(data))  # what only the browser needs, see `late`
    joined = {"data": data, "fn_index": press["id"], "session_hash": f"client{number}"}
    (await client.post("gradio_api/queue/join", json=joined)).raise_for_status()
    run_id = ""
    async with client.stream("GET", f"gradio_api/queue/data?session_hash=client{number}") as stream:
        async for line in stream.aiter_lines():
            if waits is not None and "Another visitor" in line:
                waits.set()
            found = re.search(r'\\"run_id\\":\\"(\w+)', line)
            run_id = found[1] if found else run_id
            if "process_completed" in line:
                return run_id
    return run_id


def test_forty_clients_with_one_link_cost_one_run(counting: tuple[str, list[str], threading.Event]) -> None:
    address, made, gate = counting

    async def crowd() -> list[str]:
        async with httpx.AsyncClient(
            base_url=address, timeout=60, limits=httpx.Limits(max_connections=100)
        ) as client:
            waits = [asyncio.Event() for _ in range(40)]
            tasks = [asyncio.create_task(press_run(client, i, waits[i])) for i in range(40)]
            waiting = [asyncio.create_task(each.wait()) for each in waits]
            while sum(each.is_set() for each in waits) < 39:
                await asyncio.wait(
                    [each for each in waiting if not each.done()], return_when=asyncio.FIRST_COMPLETED
                )
            gate.set()
            return await asyncio.gather(*tasks)

    got: list[str] = []
    thread = threading.Thread(target=lambda: got.extend(asyncio.run(crowd())))
    thread.start()
    thread.join(120)
    assert len(made) == 1
    assert len(got) == 40 and len(set(got)) == 1 and got[0]
