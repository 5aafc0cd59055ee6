"""Answers that come late, as on a Space: what the visitor has set since stands, and of two questions the later one.

The server's answers are kept back until the test lets them go, so that no test depends on how long anything takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from threading import Condition
from typing import Any
from urllib.parse import urlencode

import pytest
from gradio.queueing import Queue
from gradio.server_messages import ServerMessage
from playwright.sync_api import Browser, Page, expect

from specviz.page import gallery
from specviz.page.choices import examples_of
from specviz.page.hardware import lab as hardware_lab
from specviz.page.late import is_control
from specviz.page.page import build_page
from specviz.page.server.shelf import Shelf
from specviz.page.speed.lab import SpeedLab
from specviz.speed.hardware import Machine
from tests.browser.conftest import DESK, PATIENCE_MS
from tests.browser.helpers import choose, number_field, set_number, unfold_more

RECORDED = {each.name: each.title for each in gallery.entries()}


@dataclass(frozen=True)
class Kept:
    """One of the server's messages on its way, the name of the handler whose it is, and whether it is its last."""

    loop: asyncio.AbstractEventLoop
    handler: str
    is_last: bool
    deliver: Callable[[], None]


class Answers:
    """The server's answers, to whatever page: kept back after `hold`, in their order, until they are let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.held = False
        self.kept: list[Kept] = []
        self.came = Condition()
        send = Queue.send_message

        def keep(queue: Queue, event: Any, message: Any) -> None:
            if not self.held:
                send(queue, event, message)
                return
            with self.came:
                is_last = message.msg == ServerMessage.process_completed
                deliver = partial(send, queue, event, message)
                self.kept.append(Kept(asyncio.get_running_loop(), event.fn.name, is_last, deliver))
                self.came.notify_all()

        monkeypatch.setattr(Queue, "send_message", keep)

    def hold(self) -> None:
        self.held = True

    def let_go(self, *order: str) -> None:
        """Deliver what was kept: once the answers of the handlers in `order` are whole, and those last, in that order."""
        with self.came:
            assert self.came.wait_for(
                lambda: set(order) <= {each.handler for each in self.kept if each.is_last}, 20
            )
            self.held = False
            kept, self.kept = self.kept, []
        place = {name: i for i, name in enumerate(order)}
        for each in sorted(kept, key=lambda each: place.get(each.handler, -1)):
            each.loop.call_soon_threadsafe(each.deliver)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    return Answers(monkeypatch)


@pytest.fixture
def blank(browser: Browser) -> Iterator[Page]:
    """A page that has not been opened yet."""
    context = browser.new_context(viewport=DESK)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    yield page
    context.close()


# --- controls -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Control:
    """A control by its element: a value that no answer of these tests brings, and how it is set and looked at."""

    name: str
    value: str
    kind: str = "number"

    def touch(self, page: Page) -> None:
        if self.kind == "number" and not self.name.startswith(("if-", "hw-")):
            set_number(page, self.name, self.value)
        elif self.kind == "menu" and not self.name.startswith("hw-"):
            choose(page, self.name, self.value)
        elif self.kind == "menu":
            page.locator(f"#{self.name} input").click()
            page.get_by_role("option", name=self.value).click()
        else:
            self.field(page).fill(self.value)

    def field(self, page: Page) -> Any:
        if self.kind == "text":
            return page.locator(f"#{self.name} textarea")
        if self.kind == "menu" or self.name.startswith(("if-", "hw-")):
            return page.locator(f"#{self.name} input").first
        return number_field(page, self.name)

    def holds(self, page: Page, value: str | None = None) -> None:
        expect(self.field(page)).to_have_value(self.value if value is None else value)


STEP = {
    each.name: each
    for each in (
        Control("prompt", "typed meanwhile", "text"),
        Control("k", "9"),
        Control("temperature", "1.1"),
        Control("draft", "noise", "menu"),
        Control("top_k", "3"),
        Control("top_p", "0.5"),
        Control("max_new_tokens", "11"),
        Control("seed", "99"),
        Control("chat", "raw text", "menu"),
    )
}
SPEED = {
    each.name: each
    for each in (
        Control("if-alpha", "0.33"),
        Control("if-c", "0.44"),
        Control("if-k", "13"),
        Control("sweep-prompt", "typed meanwhile", "text"),
    )
}
HARDWARE = {
    each.name: each
    for each in (
        Control("hw-bandwidth", "1234"),
        Control("hw-peak", "567"),
        Control("hw-memory", "89"),
        Control("hw-alpha", "0.33"),
        Control("hw-k", "13"),
    )
}
CONTROLS = STEP | SPEED | HARDWARE


# --- handlers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Late:
    """A handler that answers with values of controls: how the page is made ready for it, what asks it, what it brings.

    Each of `left` is left alone once, so that the answer is seen to have come, while all others are touched. `figures`
    are a place and words in it that hold what was calculated for the values on the page.
    """

    handler: str
    brings: dict[str, str]
    left: tuple[str, ...]
    ask: Callable[[Page], None]
    ready: Callable[[Page], None] = lambda page: None
    figures: tuple[str, str] = ("", "")


def press(selector: str) -> Callable[[Page], None]:
    return lambda page: page.locator(selector).click()


def tab(page: Page, name: str) -> None:
    page.locator(f"#tab-{name}-button").click()


def opened(page: Page, name: str, place: str, words: str) -> None:
    """Open a tab of a lab, and wait until its first answer is there."""
    tab(page, name)
    expect(page.locator(place)).to_contain_text(words)


def moved(page: Page) -> None:
    opened(page, "speed", "#speed-verdict", "K = 4")
    for name, value in (("if-alpha", "0.2"), ("if-c", "0.3"), ("if-k", "7")):
        page.locator(f"#{name} input").first.fill(value)
    expect(page.locator("#speed-verdict")).to_contain_text("K = 7")


def learn(page: Page) -> None:
    tab(page, "learn")
    page.locator(".svl-section").first.wait_for()


def questions(page: Page, *numbers: int) -> None:
    learn(page)
    page.locator('[data-chapter="questions"]').click()
    for number in numbers:
        page.locator(f"#question-{number} summary").click()


def experiment(label: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("button", name=label, exact=True).first.click()


def changed(page: Page) -> None:
    set_number(page, "k", 8)
    set_number(page, "seed", 5)


def on_amd(page: Page) -> None:
    page.locator("#hw-machine input").click()
    page.get_by_role("option", name="MI300X").click()


def wanted(name: str, draft: str) -> dict[str, str]:
    """What the controls hold for a recorded run."""
    data = gallery.open_recorded(name).data
    numbers = ("k", "temperature", "top_k", "top_p", "max_new_tokens", "seed")
    held = {each: f"{data['settings'][each]:g}" for each in numbers}
    return held | {"prompt": data["prompt"]["text"], "draft": draft, "chat": "chat template"}


TOY = {
    "prompt": "1 15 42", "k": "4", "temperature": "0.8", "draft": "the toy's own draft", "top_k": "0", "top_p": "1",
    "max_new_tokens": "64", "seed": "8", "chat": "as the model expects",
}  # fmt: skip
LINKED = TOY | {"prompt": "7 7", "k": "7", "temperature": "0.3", "draft": "lookup", "max_new_tokens": "12"}
OPENING = gallery.open_recorded("opening")
TIMED = OPENING.data["costs"]
SLIDERS = {
    "if-alpha": f"{OPENING.metrics['acceptance_examined']:.2f}",
    "if-c": f"{TIMED['draft_ms'] / TIMED['target_ms'][0]:.2f}",
    "if-k": str(OPENING.data["settings"]["k"]),
}
ON_LEARN = "The same prompt with another seed"
LATE = (
    Late("Handlers.follow_link.<locals>.restore", LINKED | {"draft": "prompt lookup"}, ("seed", "temperature"), lambda page: None),
    Late("Handlers.show_recorded", wanted("hot", "its own draft model"), ("seed", "temperature"), lambda page: choose(page, "recorded", RECORDED["hot"])),
    Late("Handlers.describe", wanted("opening", "its own draft model"), ("k", "seed"), press("#back"), changed),
    Late("Handlers.choose_pair", {"prompt": "1 15 42", "draft": "the toy's own draft"}, ("prompt", "draft"), lambda page: choose(page, "pair", "Toy")),
    Late("connect.<locals>.show", wanted("self", "the target itself"), ("seed", "max_new_tokens"), experiment("The target drafts for itself"),
        learn),
    Late("connect.<locals>.set_controls", TOY, ("seed", "temperature"), experiment(ON_LEARN), lambda page: questions(page, 3)),
    Late("SpeedLab.open", SLIDERS | {"sweep-prompt": wanted("opening", "")["prompt"]}, ("if-alpha", "if-c"), lambda page: tab(page, "speed"),
         figures=("#speed-verdict", "K = {if-k} gives")),
    Late("SpeedLab.measure", SLIDERS, ("if-alpha", "if-c"), press("#measure"), moved,
         ("#speed-verdict", "K = {if-k} gives")),
    Late("HardwareLab.open", {"hw-alpha": "0.63", "hw-k": "4"}, ("hw-alpha",), lambda page: tab(page, "hardware"),
         figures=("#hw-cards", "with K = {hw-k}, α = {hw-alpha}")),
    Late("HardwareLab.choose", {"hw-bandwidth": "5300", "hw-peak": "1307", "hw-memory": "192"}, ("hw-bandwidth", "hw-memory"), on_amd,
         lambda page: opened(page, "hardware", "#hw-source", "Balance"), ("#hw-source", "Your own numbers.")),
    Late("HardwareLab.measure", {"hw-bandwidth": "50", "hw-peak": "2", "hw-memory": ""}, ("hw-bandwidth", "hw-peak"), press("#hw-measure"),
         lambda page: opened(page, "hardware", "#hw-source", "Balance"), ("#hw-source", "Your own numbers.")),
)  # fmt: skip
ONLY_TELL = {  # of all controls, they set the menu of recorded runs, or none at all
    "Handlers.run", "Handlers.branch", "Handlers.race", "Handlers.add_costs", "Handlers.time_plain_loop", "Handlers.open_trace",
    "connect.<locals>.run_toy", "SpeedLab.moved", "HardwareLab.calculate",
}  # fmt: skip


def test_every_handler_that_answers_with_values_of_controls_is_here_and_takes_them_out() -> None:
    handlers = [each for each in build_page(Shelf(), "toy").fns.values() if each.fn is not None]
    safe = {each.fn.__qualname__ for each in handlers if getattr(each.fn, "takes_values_out", False)}
    unsafe = [
        each.fn.__qualname__
        for each in handlers
        if each.fn.__qualname__ not in safe and any(map(is_control, each.outputs))
    ]
    assert unsafe == []
    assert safe == {each.handler for each in LATE} | ONLY_TELL


def measured_at_once(self: SpeedLab, trace: Any) -> Iterator[Any]:
    yield self._known(trace, "Measured just now.", self._own(trace))


@pytest.mark.parametrize(
    ("late", "left"),
    [pytest.param(each, left, id=f"{each.handler}-{left}") for each in LATE for left in each.left],
)
def test_what_was_set_since_stands_and_the_rest_takes_the_answer(
    late: Late,
    left: str,
    request: pytest.FixtureRequest,
    answers: Answers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SpeedLab, "_measure", measured_at_once)
    monkeypatch.setattr(hardware_lab, "measure_this_machine", lambda: Machine("here", 50e9, 2e12, "here"))
    linked = late.handler.endswith("restore")
    page = request.getfixturevalue("blank" if linked else "lesson")
    late.ready(page)
    answers.hold()
    if linked:
        page.goto(f"{request.getfixturevalue('server')}?{urlencode(LINKED | {'pair': 'toy'})}")
        page.locator(".sv-player[data-ready]").wait_for()
    late.ask(page)
    if not page.locator("#prompt").is_visible() and left in STEP:
        tab(page, "step")
    touched = [CONTROLS[name] for name in late.brings if name != left]
    for control in touched:
        control.touch(page)
    expect(CONTROLS[left].field(page)).not_to_have_value(late.brings[left])
    answers.let_go()
    CONTROLS[left].holds(page, late.brings[left])
    for control in touched:
        control.holds(page)
    place, words = late.figures
    if place:
        values = {name: CONTROLS[name].value for name in late.brings} | {left: late.brings[left]}
        expect(page.locator(place)).to_contain_text(words.format_map(values))


@pytest.mark.parametrize("order", [("describe", "show_recorded"), ("show_recorded", "describe")])
def test_of_two_questions_the_later_one_stands_whichever_answer_comes_first(
    lesson: Page, answers: Answers, order: tuple[str, str]
) -> None:
    changed(lesson)
    answers.hold()
    lesson.locator("#back").click()
    choose(lesson, "recorded", RECORDED["hot"])
    answers.let_go(*order)
    opened(lesson, "hardware", "#hw-source", "Balance")  # a later answer, which comes after both
    tab(lesson, "step")
    STEP["seed"].holds(lesson, str(gallery.open_recorded("hot").data["settings"]["seed"]))
    STEP["temperature"].holds(lesson, "1.5")
    STEP["k"].holds(lesson, "4")


def test_of_two_recorded_runs_chosen_in_a_row_the_second_is_on_screen_and_in_the_menu(
    lesson: Page, answers: Answers
) -> None:
    answers.hold()
    choose(lesson, "recorded", RECORDED["hot"])
    choose(lesson, "recorded", RECORDED["noise"])
    answers.let_go()
    shown = gallery.open_recorded("noise").data["run_id"]
    expect(lesson.locator(".sv-grid")).to_have_attribute("data-run", shown)
    expect(lesson.locator("#recorded input")).to_have_value(RECORDED["noise"])
    unfold_more(lesson)
    STEP["draft"].holds(lesson, "noise")


def test_of_two_pairs_chosen_in_a_row_the_second_brings_its_prompt_and_draft(
    lesson: Page, answers: Answers
) -> None:
    answers.hold()
    choose(lesson, "pair", "Toy")
    choose(lesson, "pair", "SmolLM2 135M Instruct ·")
    answers.let_go()
    STEP["prompt"].holds(lesson, examples_of("smollm2-135m")[0])
    STEP["draft"].holds(lesson, "its own draft model")
    expect(lesson.locator("#agreement")).to_be_hidden()


def test_of_two_experiments_in_a_row_the_second_stands(lesson: Page, answers: Answers) -> None:
    questions(lesson, 18, 30)
    answers.hold()
    for label in ("Set K to 12", "Set K to 1"):
        lesson.get_by_role("button", name=label, exact=True).first.click()
    answers.let_go()
    STEP["k"].holds(lesson, "1")


def test_a_run_that_ends_after_a_recorded_one_was_chosen_leaves_the_choice(
    lesson: Page, answers: Answers
) -> None:
    choose(lesson, "pair", "Toy")
    STEP["draft"].holds(lesson, "the toy's own draft")
    answers.hold()
    lesson.locator("#run").click()
    choose(lesson, "recorded", RECORDED["hot"])
    choose(lesson, "recorded", RECORDED["noise"])
    answers.let_go()
    expect(lesson.locator("#recorded input")).to_have_value(RECORDED["noise"])
    shown = gallery.open_recorded("noise").data["run_id"]
    expect(lesson.locator(".sv-grid")).to_have_attribute("data-run", shown)


def test_a_locked_control_has_the_value_of_its_link(blank: Page, server: str, answers: Answers) -> None:
    answers.hold()
    blank.goto(f"{server}?top_k=5&seed=8&lock=top_k")
    blank.locator(".sv-player[data-ready]").wait_for()
    STEP["top_k"].touch(blank)
    answers.let_go()
    STEP["seed"].holds(blank, "8")
    STEP["top_k"].holds(blank, "5")
    expect(number_field(blank, "top_k")).to_be_disabled()


def test_a_tab_pressed_since_stands_against_the_link(blank: Page, server: str, answers: Answers) -> None:
    answers.hold()
    blank.goto(f"{server}?tab=speed")
    blank.locator(".sv-player[data-ready]").wait_for()
    tab(blank, "hardware")
    answers.let_go()
    expect(blank.locator("#hw-source")).to_contain_text("Balance")
    expect(blank.locator("#tab-hardware")).to_be_visible()
    expect(blank.locator("#tab-speed")).to_be_hidden()


def test_figures_are_those_of_the_fields_when_answers_overtake_each_other(
    lesson: Page, answers: Answers
) -> None:
    opened(lesson, "hardware", "#hw-source", "Balance")
    answers.hold()
    HARDWARE["hw-k"].touch(lesson)
    on_amd(lesson)
    answers.let_go("choose", "calculate")  # what was calculated for the machine before comes last
    expect(lesson.locator("#hw-source")).to_contain_text("MI300X datasheet")
    expect(lesson.locator("#hw-cards")).to_contain_text("with K = 13")
    HARDWARE["hw-bandwidth"].holds(lesson, "5300")


def test_fields_that_an_experiment_fills_stand_against_their_tab_s_opening(
    lesson: Page, answers: Answers
) -> None:
    questions(lesson, 31)
    answers.hold()
    lesson.get_by_role("button", name="That pair in the speed lab", exact=True).first.click()
    expect(lesson.locator("#if-k input").first).to_have_value("5")
    answers.let_go("open")
    SPEED["sweep-prompt"].holds(lesson, wanted("opening", "")["prompt"])
    for name, value in (("if-alpha", "0.81"), ("if-c", "0.6"), ("if-k", "5")):
        SPEED[name].holds(lesson, value)
    expect(lesson.locator("#speed-verdict")).to_contain_text("K = 5 gives")
