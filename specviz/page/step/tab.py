"""The tab "Step through": a row of controls, then the run. Layout only; what happens is in `handlers`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import gradio as gr

from specviz.page import gallery, late, messages, parts
from specviz.page.calls import call
from specviz.page.choices import examples_of
from specviz.page.controls import CONTROLS, NAMES, Control, opening_values
from specviz.page.link import values_of
from specviz.page.server.shelf import TOY
from specviz.page.step.handlers import Handlers
from specviz.page.updates import MODEL, MOST_WAITING, PRIVATE, Screen


class Buttons(NamedTuple):
    """What chooses, starts and stops a run."""

    recorded: gr.Dropdown
    examples: gr.Dropdown
    run: gr.Button
    stop: gr.Button
    race: gr.Button


class Tools(NamedTuple):
    """What stands in the bar at the top: how it goes, and a button for files that a visitor brings."""

    status: gr.HTML
    opened: gr.UploadButton


def tools() -> Tools:
    """Lay out the status line and the button; what a visitor takes away is in the player's dialog Share."""
    return Tools(
        parts.status_line("status"),
        gr.UploadButton("Open a trace", elem_id="open", size="sm"),  # `read_trace` says which files it takes
    )


def build(page: gr.Blocks, handlers: Handlers, bar: Tools, first_pair: str, opening: str | None) -> Screen:
    """Lay out the tab and connect it; it opens on the recorded run `opening` where there is one."""
    trace, shown, first = None, None, opening_values(first_pair)
    if opening:
        trace = gallery.open_recorded(opening)
        first |= values_of(trace.data)
        shown = messages.finished(trace, gallery.entry_of(opening))
    controls, buttons = _controls(first, opening)
    player = parts.player(shown)
    with gr.Column(elem_id="figures"):
        plain = gr.Button("Time the plain loop", elem_id="plain", size="sm", interactive=False)
        chart = gr.Plot(show_label=False, container=False, elem_id="chart", visible=False)
    trace_state, shown_state = gr.State(None), gr.State(trace)
    outputs = [
        bar.status, player, chart, buttons.recorded, plain, trace_state, buttons.run, buttons.stop, buttons.race,
        shown_state, player,
    ]  # fmt: skip
    ran = _connect_runs(handlers, controls, buttons, plain, trace_state, outputs)
    latest: dict[str, Any] = {"tells": [buttons.recorded], "trigger_mode": "always_last"}
    everything = [*outputs, *controls.values()]
    late.ask(bar.opened.upload, handlers.open_trace, [bar.opened], outputs, **latest)
    late.ask(buttons.recorded.input, handlers.show_recorded, [buttons.recorded], everything, **latest)
    late.ask(player.undo, handlers.describe, None, list(controls.values()), trigger_mode="multiple")
    player.export(handlers.export, [trace_state], [parts.download()], trigger_mode="multiple", **PRIVATE)
    _connect_branch_and_race(page, ran, handlers, controls, buttons, player, trace_state, outputs)
    _connect_menus(handlers, controls, buttons)
    changed = [page.load, *(each.change for each in controls.values())]
    gr.on(changed, None, list(controls.values()), [player], js=call("controls"), **PRIVATE)
    page.load(None, None, None, js=call("nameRecorded"), **PRIVATE)
    followed = late.ask(page.load, handlers.follow_link(first_pair, opening), None, everything, **latest)
    return Screen(
        shown_state,
        outputs,
        list(controls.values()),
        buttons.recorded,
        handlers.show_recorded,
        handlers.show_made,
        followed,
    )


def _connect_runs(
    handlers: Handlers,
    controls: Mapping[str, Any],
    buttons: Buttons,
    plain: gr.Button,
    trace: gr.State,
    outputs: list[Any],
) -> Any:
    model: dict[str, Any] = {"concurrency_id": MODEL, "concurrency_limit": 1}
    tells = [buttons.recorded]
    ran = late.ask(  # they wait for each other in the handler, where they can be stopped
        [buttons.run.click, controls["prompt"].submit],
        handlers.run,
        list(controls.values()),
        outputs,
        tells=tells,
        trigger_mode="always_last",
        concurrency_limit=MOST_WAITING,
    )
    late.ask(ran.then, handlers.add_costs, [trace], outputs, tells=tells, concurrency_limit=None)
    buttons.stop.click(handlers.stop, None, None, queue=False, **PRIVATE)
    late.ask(plain.click, handlers.time_plain_loop, [trace], outputs, tells=tells, **model)
    return ran


def _connect_branch_and_race(
    page: gr.Blocks,
    ran: Any,
    handlers: Handlers,
    controls: Mapping[str, Any],
    buttons: Buttons,
    player: gr.HTML,
    trace: gr.State,
    outputs: list[Any],
) -> None:
    model: dict[str, Any] = {"tells": [buttons.recorded], "concurrency_id": MODEL, "concurrency_limit": 1}
    # "multiple": Gradio drops none, the player asks for one at a time, and the server refuses another one
    branched = late.ask(player.branch, handlers.branch, [trace], outputs, trigger_mode="multiple", **model)
    raced = late.ask(buttons.race.click, handlers.race, list(controls.values()), outputs, **model)
    for ended in (branched.then, branched.failure, raced.then, raced.failure):
        ended(None, None, [player], js=call("ended"), **PRIVATE)
    for tell in (page.load, ran.then, branched.then, raced.then):
        tell(handlers.tell_loaded, None, [player], concurrency_limit=None, **PRIVATE)


def _connect_menus(handlers: Handlers, controls: Mapping[str, Any], buttons: Buttons) -> None:
    own = [controls["prompt"], controls["draft"], buttons.examples, controls["agreement"]]
    late.ask(
        controls["pair"].input, handlers.choose_pair, [controls["pair"]], own, trigger_mode="always_last"
    )
    buttons.examples.input(
        None, [buttons.examples], [controls["prompt"]], js=call("same"), api_visibility="private"
    )


def _controls(first: Mapping[str, Any], opening: str | None) -> tuple[dict[str, Any], Buttons]:
    """Lay out the controls, by their names in the order of `NAMES`, holding the values `first`; and what is beside them."""
    pair = first["pair"]
    with gr.Row(elem_classes="sv-row sv-ask", elem_id="ask"):
        recorded = gr.Dropdown(gallery.menu(), value=opening, label="Recorded", elem_id="recorded", filterable=False,
                               visible=bool(gallery.menu()))  # fmt: skip
        made = {control.name: _made(control, first) for control in CONTROLS if not control.more}
        with gr.Accordion("More", open=False, elem_id="more"), gr.Row(elem_classes="sv-row sv-more"):
            made |= {control.name: _made(control, first) for control in CONTROLS if control.more}
            examples = gr.Dropdown(
                examples_of(pair), value=None, label="Example prompts", elem_id="examples", filterable=False
            )
        gr.Button("↩ undo", elem_id="back")  # the player hears it, which knows the run on screen
        run = gr.Button("Run", variant="primary", elem_id="run")
        stop = gr.Button("Stop", elem_id="stop", visible=False)
        race = gr.Button("Race", elem_id="race")
    buttons = Buttons(recorded, examples, run, stop, race)
    return {name: made[name] for name in NAMES}, buttons


def _made(control: Control, first: Mapping[str, Any]) -> Any:
    """Lay out one control; only the toy has an agreement."""
    value, named = first[control.name], {"label": control.label, "elem_id": control.name}
    if control.kind == "text":
        return gr.Textbox(value, lines=1, max_lines=4, submit_btn=False, **named)
    if control.choices:
        return gr.Dropdown(control.choices(first["pair"]), value=value, filterable=False, **named)
    if control.kind == "number":
        return gr.Number(value, step=control.step or 1, **named)
    visible = control.name != "agreement" or first["pair"] == TOY
    return gr.Slider(
        control.low, control.high, value, step=control.step, buttons=[], visible=visible, **named
    )
