"""The tab "Step through": controls on top, then the run. Layout only; what happens is in `handlers`."""

from __future__ import annotations

from typing import NamedTuple

import gradio as gr

from specviz.toy import DEFAULT_AGREEMENT
from specviz.ui import parts
from specviz.ui.choices import draft_choices, examples_of, pair_choices
from specviz.ui.handlers import MODEL, Handlers
from specviz.ui.settings import CHAT

PRIVATE = {"api_visibility": "private", "show_progress": "hidden"}


class Controls(NamedTuple):
    """The settings, in the order in which `read_settings` takes them."""

    prompt: gr.Textbox
    pair: gr.Dropdown
    draft: gr.Dropdown
    k: gr.Slider
    temperature: gr.Slider
    top_k: gr.Number
    top_p: gr.Number
    max_new_tokens: gr.Number
    seed: gr.Number
    chat: gr.Dropdown
    agreement: gr.Slider


class Buttons(NamedTuple):
    """What starts and stops a run."""

    examples: gr.Dropdown
    run: gr.Button
    stop: gr.Button


def build(handlers: Handlers, first_pair: str) -> None:
    """Lay out the tab and connect it."""
    controls, buttons = _controls(first_pair)
    with gr.Row(elem_classes="sv-tools"):
        status = parts.status_line("status")
        plain = gr.Button("Time the plain loop", elem_id="plain", size="sm", interactive=False)
        csv = gr.DownloadButton("Download CSV", elem_id="csv", size="sm", interactive=False)
        json = gr.DownloadButton("Download JSON", elem_id="json", size="sm", interactive=False)
        opened = gr.UploadButton("Open a trace", elem_id="open", size="sm", file_types=[".json", ".csv"])
    shown = parts.player()
    chart = gr.Plot(show_label=False, container=False, elem_id="chart", visible=False)
    trace = gr.State(None)
    outputs = [status, shown, chart, csv, json, plain, trace, buttons.run, buttons.stop]
    model = {"concurrency_id": MODEL, "concurrency_limit": 1, **PRIVATE}
    ran = gr.on(
        [buttons.run.click, controls.prompt.submit],
        handlers.run,
        list(controls),
        outputs,
        trigger_mode="always_last",
        **model,
    )
    ran.then(handlers.add_costs, [trace], outputs, concurrency_limit=None, **PRIVATE)
    buttons.stop.click(handlers.stop, None, None, queue=False, **PRIVATE)
    plain.click(handlers.time_plain_loop, [trace], outputs, **model)
    opened.upload(handlers.open_trace, [opened], outputs, **PRIVATE)
    controls.pair.input(
        handlers.choose_pair,
        [controls.pair],
        [controls.prompt, controls.draft, buttons.examples, controls.agreement],
        **PRIVATE,
    )
    buttons.examples.input(
        None, [buttons.examples], [controls.prompt], js="(example) => example", api_visibility="private"
    )


def _controls(first_pair: str) -> tuple[Controls, Buttons]:
    examples = examples_of(first_pair)
    with gr.Row(elem_classes="sv-row sv-ask"):
        prompt = gr.Textbox(
            examples[0], label="Prompt", lines=1, max_lines=4, elem_id="prompt", submit_btn=False
        )
        picked = gr.Dropdown(examples, value=None, label="Examples", elem_id="examples", filterable=False)
        run = gr.Button("Run", variant="primary", elem_id="run")
        stop = gr.Button("Stop", elem_id="stop", visible=False)
    drafts = draft_choices(first_pair)
    with gr.Row(elem_classes="sv-row sv-set"):
        pair = gr.Dropdown(pair_choices(), value=first_pair, label="Pair", elem_id="pair", filterable=False)
        draft = gr.Dropdown(drafts, value=drafts[0][1], label="Draft", elem_id="draft", filterable=False)
        k = gr.Slider(0, 16, 4, step=1, label="K", elem_id="k", buttons=[])
        temperature = gr.Slider(0, 2, 0.8, step=0.05, label="Temperature", elem_id="temperature", buttons=[])
        with gr.Accordion("More", open=False, elem_id="more"), gr.Row(elem_classes="sv-row sv-more"):
            top_k = gr.Number(0, label="Top-k (0 is off)", elem_id="top_k")
            top_p = gr.Number(1, label="Top-p", elem_id="top_p", step=0.05)
            length = gr.Number(64, label="New tokens", elem_id="max_new_tokens")
            seed = gr.Number(7, label="Seed", elem_id="seed")
            chat = gr.Dropdown(
                list(CHAT), value=next(iter(CHAT)), label="Prompt is read", elem_id="chat", filterable=False
            )
            agreement = gr.Slider(0, 1, DEFAULT_AGREEMENT, step=0.05, label="Agreement of the toy draft", elem_id="agreement",
                                  visible=first_pair == "toy", buttons=[])  # fmt: skip
    return Controls(
        prompt, pair, draft, k, temperature, top_k, top_p, length, seed, chat, agreement
    ), Buttons(picked, run, stop)
