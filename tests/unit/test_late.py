"""Values of controls are taken out of a handler's answers, whatever kind of function it is."""

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import gradio as gr
import pytest

from specviz.page import late
from specviz.page.controls import NAMES, opening_values
from specviz.page.page import build_page
from specviz.page.server.shelf import Shelf

SKIP = gr.skip()


class Asked:
    """A page with one question: the function that Gradio calls, and the controls."""

    def __init__(self, handler: Callable[..., Any], given: tuple[str, ...] = (), more: bool = True) -> None:
        with gr.Blocks() as self.page:
            self.controls: dict[str, Any] = {
                "menu": gr.Dropdown(["a", "b"]),
                "slider": gr.Slider(2, 16),
                "text": gr.Textbox(),
            }
            outputs = [*self.controls.values(), gr.HTML()] if more else [self.controls["text"]]
            late.ask(gr.Button().click, handler, [self.controls[name] for name in given], outputs)
        self.event, self.merge = self.page.fns.values()

    def name(self, carried: str) -> tuple[Any, dict[str, Any]]:
        """Return the question and the values that were carried, by the control's name."""
        names = {str(control._id): name for name, control in self.controls.items()}
        told = json.loads(carried)
        return told["question"], {names[key]: value for key, value in told["values"].items()}


def test_values_are_carried_and_all_else_goes_straight_to_its_place() -> None:
    menu = gr.update(choices=[("A", "a"), ("C", "c")], value="c")
    asked = Asked(lambda: (menu, 5, gr.update(value="x", interactive=False), "<b>"))
    *direct, carried = asked.event.fn(None, 2, None, "7")
    assert direct == [gr.update(choices=[("A", "a"), ("C", "c")]), SKIP, gr.update(interactive=False), "<b>"]
    assert asked.name(carried) == (
        "7",
        {
            "menu": {"value": "c", "keep": ["a", "c"]},
            "slider": {"value": 5},
            "text": {"value": "x", "keep": []},
        },
    )


def test_what_is_left_alone_is_not_carried_and_none_is_a_value() -> None:
    asked = Asked(lambda: (None, gr.skip(), gr.update(visible=False), gr.skip()))
    *direct, carried = asked.event.fn(None, 2, None, "7")
    assert direct == [SKIP, SKIP, gr.update(visible=False), SKIP]
    assert asked.name(carried) == ("7", {"menu": {"value": None}})


def test_a_slider_is_never_left_without_a_value_which_could_not_be_sent_again() -> None:
    asked = Asked(lambda: (gr.skip(), gr.update(value=None, visible=False), "x", gr.skip()))
    *direct, carried = asked.event.fn(None, 2, None, "7")
    assert direct[1] == gr.update(visible=False)
    assert asked.name(carried) == ("7", {"text": {"value": "x"}})


def test_undo_after_a_real_pairs_run_leaves_controls_that_run_can_read() -> None:
    page = build_page(Shelf(), "smollm2-135m")
    undo = next(event for event in page.fns.values() if any(name == "undo" for _, name in event.targets))
    values = opening_values("smollm2-135m") | {
        "agreement": None
    }  # what the player knows of a run without the toy
    event = gr.EventData(None, values)
    *_, carried = undo.fn(event, *(None for _ in NAMES), "7")
    told = json.loads(carried)["values"]
    ids = {block.elem_id: str(block._id) for block in page.blocks.values() if getattr(block, "elem_id", None)}
    assert {name for name in NAMES if ids[name] in told} == {*NAMES} - {"agreement"}


def test_an_answer_that_is_a_component_is_refused_with_what_to_write() -> None:
    asked = Asked(lambda: (gr.Dropdown(["a"]), 5, "x", "<b>"))
    with pytest.raises(TypeError, match=r"answer with gr\.update"):
        asked.event.fn(None, 2, None, "7")


def test_what_a_failing_handler_has_said_before_stands_and_its_error_is_passed_on() -> None:
    def fails():
        yield (gr.skip(), 5, gr.skip(), gr.skip())
        raise ValueError("broken")

    events = Asked(fails).event.fn(None, 2, None, "7")
    assert json.loads(next(events)[-1])["question"] == "7"
    with pytest.raises(ValueError, match="broken"):
        next(events)


def test_a_generator_carries_what_it_has_said_so_far_and_is_closed_with_the_event() -> None:
    closed = []

    def handler() -> Iterator[Any]:
        try:
            yield (gr.skip(), gr.skip(), gr.skip(), "busy")
            yield (gr.skip(), 5, gr.skip(), "half")
            yield (gr.skip(), gr.skip(), gr.skip(), "still")
            yield (gr.skip(), gr.skip(), "end", "done")
        finally:
            closed.append(True)

    asked = Asked(handler)
    first, second, third, fourth = (each[-1] for each in asked.event.fn("7"))
    assert asked.name(first) == ("7", {})
    assert asked.name(second) == ("7", {"slider": {"value": 5}})
    assert third == SKIP
    assert asked.name(fourth) == ("7", {"slider": {"value": 5}, "text": {"value": "end"}})
    events = asked.event.fn("7")
    next(events)
    closed.clear()
    events.close()
    assert closed == [True]


def test_an_async_generator_stays_one_and_is_closed_with_the_event() -> None:
    closed = []

    async def handler(text: str) -> AsyncIterator[Any]:
        with suppress(GeneratorExit):
            yield text.upper()
        closed.append(True)

    asked = Asked(handler, ("text",), more=False)
    assert inspect.isasyncgenfunction(asked.event.fn)

    async def first() -> Any:
        events = asked.event.fn("words", "7")
        answer = await anext(events)
        await events.aclose()
        return answer

    with ThreadPoolExecutor(1) as thread:  # in this one, an event loop of the browser tests may be running
        direct, carried = thread.submit(lambda: asyncio.run(first())).result()
    assert (direct, asked.name(carried), closed) == (SKIP, ("7", {"text": {"value": "WORDS"}}), [True])


def test_a_handler_still_gets_its_request_and_its_event() -> None:
    def handler(request: gr.Request, asked: gr.EventData, text: str) -> str:
        return text

    hints = inspect.signature(Asked(handler, ("text",), more=False).event.fn).parameters
    assert list(hints) == ["request", "asked", "text", "further"]
    assert [hints[name].annotation for name in ("request", "asked")] == [gr.Request, gr.EventData]


def test_the_browser_compares_what_is_asked_with_what_is_there_then() -> None:
    asked = Asked(lambda *given: (gr.skip(),) * 4, ("slider",))
    event, merge = asked.event, asked.merge
    sent = ["slider", "menu", "text"]
    assert [*event.inputs][:-1] == [asked.controls[name] for name in sent]
    assert [*merge.inputs][1:] == [asked.controls[name] for name in sent]
    assert [*merge.outputs] == [*asked.controls.values()]
    assert merge.fn is None and '"instead": [null, null]' in event.js


def test_a_coroutine_function_is_refused() -> None:
    async def handler() -> str:
        return ""

    with pytest.raises(TypeError, match="make it a generator"):
        Asked(handler, more=False)
