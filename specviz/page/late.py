"""Answers that come late: none of them overwrites what the visitor has set since the question.

On a Space an answer takes some hundred milliseconds, and until then a visitor types, presses and follows links. So a
handler that answers with values of controls is connected by `ask`, and by nothing else (a test walks the built page).
Its event is then split in two:

1.  The browser notes what the controls hold and numbers the question. The handler's answer comes as it always does,
    but the values of controls are taken out of it and travel in one textbox that is never drawn. What else it says of a control
    (its choices, whether it can be seen or changed) goes straight there: nobody else sets that.
2.  Beside the visitor, without the server, each value is compared with what its control holds by then: see
    `assets/page/late.js`. A control that has been set since keeps what it holds, and of two answers the one to the
    later question stands, whichever came first.

Figures that were calculated for values that no longer stand are calculated once more: `again` changes then.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing, closing
from typing import Any

import gradio as gr

from specviz.page.calls import call
from specviz.page.updates import PRIVATE

CONTROLS = (gr.Textbox, gr.Number, gr.Slider, gr.Dropdown, gr.Checkbox, gr.CheckboxGroup, gr.Radio)
NUMBERS = (gr.Number, gr.Slider)
CARRIER = "sv-carrier"


def is_control(component: Any) -> bool:
    """Return whether a visitor can set a component's value."""
    return isinstance(component, CONTROLS) and CARRIER not in component.elem_classes


def carrier() -> gr.Textbox:
    """Return what only carries something from one of Gradio's events to the next, and is never drawn."""
    return gr.Textbox(visible=False, elem_classes=[CARRIER])


def once_more() -> gr.Textbox:
    """Return an `again` for `ask`: its `change` is what calculates the figures once more."""
    return carrier()


def ask(
    events: Any,
    handler: Callable[..., Any],
    inputs: Sequence[Any] | None,
    outputs: Sequence[Any],
    *,
    again: gr.Textbox | None = None,
    tells: Sequence[Any] = (),
    opening: str = "",
    **options: Any,
) -> Any:
    """Connect an event, or a list of them, to a handler whose answer may hold values of controls; returns the event.

    `again` changes when the inputs are no longer those that the answer is about. `tells` are the controls that say what an
    answer has put on screen: a visitor's choice there stands against earlier questions until it is answered itself.
    `opening` is the tab that is opened by it: who fills its fields waits until that has been asked for.
    """
    given, answer = list(inputs or ()), carrier()
    contested = [each for each in outputs if is_control(each)]
    unsent = [each for each in contested if each not in given]
    watched = [each for each in (*given, *unsent) if is_control(each)]
    plan = {
        "given": len(given),
        "watched": [(each._id if is_control(each) else None) for each in (*given, *unsent)],
        "instead": [each.minimum if isinstance(each, gr.Slider) else None for each in unsent],
        "opening": opening,
    }
    on = functools.partial(gr.on, list(events)) if isinstance(events, (list, tuple)) else events
    asked = on(
        _Merging(handler, len(unsent), outputs).wrapped(),
        [*given, *unsent, answer],
        [*outputs, answer],
        js=call("ask", plan),
        **(PRIVATE | options),
    )
    merge = {
        "watched": [each._id for each in watched],
        "contested": [each._id for each in contested],
        "tells": [each._id for each in tells],
    }
    asked.then(
        None,
        [answer, *watched],
        [*contested, *([again] if again else [])],
        js=call("merge", merge),
        **PRIVATE,
    )
    return asked


class _Merging:
    """Takes the values of controls out of a handler's answers."""

    def __init__(self, handler: Callable[..., Any], unsent: int, outputs: Sequence[Any]) -> None:
        self.handler = handler
        self.unsent = unsent
        self.outputs = list(outputs)

    def wrapped(self) -> Callable[..., Any]:
        """Return the handler as Gradio is to call it: of the same kind and signature, with the question behind."""
        handler = self.handler

        def plain(*given: Any) -> Any:
            values, carry = self._carrying(given)
            return carry(handler(*values))

        def steps(*given: Any) -> Any:
            values, carry = self._carrying(given)
            with closing(handler(*values)) as events:
                for results in events:
                    yield carry(results)

        async def later_steps(*given: Any) -> Any:
            values, carry = self._carrying(given)
            async with aclosing(handler(*values)) as events:
                async for results in events:
                    yield carry(results)

        kind = plain
        if inspect.isgeneratorfunction(handler):
            kind = steps
        elif inspect.isasyncgenfunction(handler):
            kind = later_steps
        elif inspect.iscoroutinefunction(handler):
            raise TypeError(f"{handler} is a coroutine function: make it a generator, or a plain function.")
        taken = functools.wraps(handler)(kind)
        taken.__signature__ = _open_ended(inspect.signature(handler))  # type: ignore[attr-defined]
        taken.takes_values_out = True  # type: ignore[attr-defined]
        return taken

    def _carrying(self, given: Sequence[Any]) -> tuple[Sequence[Any], Callable[[Any], list[Any]]]:
        """Return the handler's own arguments, and what makes an answer to this question of its results."""
        question, told = given[-1], False
        values: dict[int, Any] = {}

        def carry(results: Any) -> list[Any]:
            nonlocal told
            new, direct = self._taken_out(results)
            values.update(new)
            carried = json.dumps({"question": question, "values": values}) if new or not told else gr.skip()
            told = True
            return [*direct, carried]

        return given[: len(given) - 1 - self.unsent], carry

    def _taken_out(self, results: Any) -> tuple[dict[int, Any], list[Any]]:
        """Return the values of controls by the control's number, and the results without them."""
        values: dict[int, Any] = {}
        direct: list[Any] = []
        for component, result in zip(
            self.outputs, results if len(self.outputs) > 1 else [results], strict=True
        ):
            if not is_control(component):
                direct.append(result)
            elif isinstance(result, gr.components.Component):
                raise TypeError(f"A handler answered with {result}: answer with gr.update, or with a value.")
            elif not _is_update(result):
                values[component._id] = {"value": result}
                direct.append(gr.skip())
            else:
                # a slider or a number that was cleared could not be sent again
                if "value" in result and not (isinstance(component, NUMBERS) and result["value"] is None):
                    values[component._id] = {"value": result["value"]} | _bounds(result)
                direct.append({name: said for name, said in result.items() if name != "value"})
        return values, direct


def _is_update(result: Any) -> bool:
    return isinstance(result, dict) and result.get("__type__") == "update"


def _bounds(update: dict[str, Any]) -> dict[str, list[Any]]:
    """Return which values can be kept, where not every one can: those of a menu's new choices, of a locked control none."""
    if update.get("interactive") is False:
        return {"keep": []}
    if "choices" not in update:
        return {}
    return {"keep": [each[1] if isinstance(each, tuple) else each for each in update["choices"]]}


def _open_ended(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature that takes any number of further arguments."""
    known: Iterable[inspect.Parameter] = signature.parameters.values()
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in known):
        return signature
    return signature.replace(
        parameters=[*known, inspect.Parameter("further", inspect.Parameter.VAR_POSITIONAL)]
    )
