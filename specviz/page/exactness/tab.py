"""The tab "Exactness": the lab, and the check at temperature 0. Layout only; what happens is in `lab` and `greedy`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import gradio as gr

from specviz import Trace
from specviz.errors import SpecVizError
from specviz.exactness.faults import fault_named
from specviz.page import late, messages, parts
from specviz.page.calls import call
from specviz.page.exactness import lab as exactness_lab
from specviz.page.exactness.greedy import greedy as greedy_lines
from specviz.page.exactness.greedy import greedy_again
from specviz.page.server.shelf import Shelf
from specviz.page.updates import MODEL, PRIVATE, Screen, Update, at_rest

WITH_A_MISTAKE = "A run of the toy with a deliberate mistake: it is exported as JSON only, a CSV of wrong numbers is refused."
WITH_ANOTHER_RULE = "A run of the toy with another rule, which is exact; it is exported as JSON only."


class Lab(NamedTuple):
    """The lab, and the server's side of it."""

    drawn: Any
    shelf: Shelf


def build(tab: gr.Tab, shelf: Shelf, shown: gr.State) -> Lab:
    """Lay out the tab and connect it; `shown` holds the trace on screen, or None."""
    lab = parts.exactness_lab()
    with gr.Column(elem_id="greedy"):
        parts.prose("<h3>Temperature 0: is it the target’s own greedy text?</h3>")
        button = gr.Button("Compare token by token", elem_id="greedy-check", size="sm")
        result = parts.greedy_result()

    def ask(asked: gr.EventData, trace: Trace | None) -> str:
        return exactness_lab.lab(asked._data, trace)

    def greedy(trace: Trace | None) -> Iterator[str]:
        yield from greedy_lines(shelf, trace)

    def again(asked: gr.EventData) -> Iterator[str]:
        yield from greedy_again(shelf, asked._data)

    lab.ask(ask, [shown], [lab], trigger_mode="multiple", **PRIVATE)
    tab.select(None, None, [lab], js=call("shown", "exactness"), **PRIVATE)
    button.click(greedy, [shown], [result], concurrency_id=MODEL, concurrency_limit=1, **PRIVATE)
    result.again(again, None, [result], concurrency_id=MODEL, concurrency_limit=1, **PRIVATE)
    return Lab(lab, shelf)


def connect(lab: Lab, screen: Screen) -> None:
    """Let the lab put a run of the toy on screen, where the first tab shows it."""

    def run_toy(request: gr.Request, asked: gr.EventData) -> Update:
        try:
            trace = exactness_lab.run_toy(lab.shelf, asked._data)
        except SpecVizError as error:
            return at_rest(status=messages.status(str(error), "error"))
        wrong = not fault_named(trace.data["settings"]["fault"]).exact
        return screen.show_made(request, trace, WITH_A_MISTAKE if wrong else WITH_ANOTHER_RULE)

    made = late.ask(
        lab.drawn.run_toy, run_toy, None, screen.outputs, tells=[screen.recorded], trigger_mode="multiple"
    )
    made.then(None, None, None, js=call("openTab", "step"), **PRIVATE)
