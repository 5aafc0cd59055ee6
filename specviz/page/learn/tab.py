"""The tab "Learn": the text, and what its experiments do to the page. Layout only; the text is read by `text`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from specviz.errors import SpecVizError
from specviz.models.catalogue import DEFAULT_PAIR
from specviz.page import late, messages, parts
from specviz.page.calls import call
from specviz.page.controls import NAMES
from specviz.page.learn import text as learn_text
from specviz.page.link import values_in
from specviz.page.server.shelf import Shelf
from specviz.page.updates import PRIVATE, Screen, Update, described, update


def build(tab: gr.Tab, shelf: Shelf, shown: gr.State) -> gr.HTML:
    """Lay out the tab; its text is read when it is first opened."""
    text = parts.learn()
    tab.select(learn_text.as_text, None, [text], concurrency_limit=None, **PRIVATE)
    tab.select(None, None, [text], js=call("shown", "learn"), **PRIVATE)
    return text


def connect(text: gr.HTML, screen: Screen) -> None:
    """Let the text's experiments show a recorded run, or set controls; neither starts a run."""

    def show(request: gr.Request, asked: gr.EventData) -> Update:
        return screen.show_recorded(request, str(_asked(asked).get("recorded")))

    def set_controls(asked: gr.EventData) -> Update:
        values = _asked(asked).get("values")
        try:
            return (*update(), *controls(values if isinstance(values, Mapping) else {}))
        except SpecVizError as error:
            return (*update(status=messages.status(str(error), "error")), *described(None))

    outputs = [*screen.outputs, *screen.described]
    # "multiple": what Gradio puts off, as "always_last" does, it asks with the event before's data
    for event, handler in ((text.show, show), (text.set, set_controls)):
        late.ask(event, handler, None, outputs, tells=[screen.recorded], trigger_mode="multiple")


def controls(values: Mapping[str, Any]) -> Update:
    """Return the controls' updates for the values that an experiment sets; with a pair come that pair's own defaults."""
    if "pair" in values:
        return described(values_in(values, values["pair"]))
    known = values_in(values, DEFAULT_PAIR)
    return tuple(known[name] if name in values else gr.skip() for name in NAMES)


def _asked(event: gr.EventData) -> Mapping[str, Any]:
    return event._data if isinstance(event._data, Mapping) else {}
