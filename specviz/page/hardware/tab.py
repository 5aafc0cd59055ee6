"""The tab "Hardware": why decoding waits for memory, and where checking more rows stops being free. Layout only."""

from __future__ import annotations

from typing import Any

import gradio as gr

from specviz.bounds import MAX_K
from specviz.page import late, parts
from specviz.page.calculator import DEFAULTS, MOST_BATCH, NUMBERS, PRODUCTS
from specviz.page.hardware.lab import CALCULATED, PICTURES, HardwareLab
from specviz.page.parts import picture
from specviz.page.server.shelf import Shelf

BOUND = """<math display="block"><mtext>plain tokens/s</mtext><mo>≤</mo><mfrac><mtext>bandwidth</mtext><mtext>weights + cache</mtext></mfrac></math>"""
INTENSITY = """<math display="block"><mtext>FLOP/byte of a pass</mtext><mo>=</mo><mfrac><mrow><mn>16</mn><mi>R</mi></mrow><mtext>bits</mtext></mfrac></math>"""
TEXTS = {
    "top": "<h2>Why one token at a time waits for memory</h2><p>Each pass of a dense model reads every weight once, for one row or for many. Until arithmetic "
    "catches up, further rows cost nothing: that is the room that speculation uses.</p>",
    "roofline": f"<h3>The roofline</h3><p class='sv-formula'>{INTENSITY}<small>Dense, without a cache: R rows, 2 operations a weight and row. On the slope memory is the limit, on the flat arithmetic.</small></p>",
    "bytes": f"<h3>Bytes moved</h3><p class='sv-formula'>{BOUND}<small>One text. Blue: read by the target; orange: by the draft. Fewer bytes a token is how a draft gets past the bound.</small></p>",
    "batch_chart": "<h3>The gain against the batch</h3><p>Every sequence brings K + 1 rows: a large batch has used the room already.</p>",
    "end": "<p><small>Bounds from weights, caches and the overhead you set: real kernels, attention's arithmetic, working memory and the network between machines come on top. "
    "TFLOP/s is the peak for dense 16-bit products; 8-bit ones are twice as fast on the machines of the list. 4-bit weights are multiplied in 16 bits, unpacking them is left out. "
    "KV cache: a token takes 2 × layers × key-value heads × head size × bytes of a number; 328 and 131 KB are Llama 3.1 70B and 8B in 16 bits, from their config.json. "
    "A mixture of experts is taken to choose evenly and row by row; neighbouring tokens may share more experts, so there it is an estimate, no bound.</small></p>",
}  # fmt: skip


def build(tab: gr.Tab, shelf: Shelf, shown: gr.State) -> None:
    """Lay out the tab and connect it; `shown` holds the trace on screen, or None."""
    lab = HardwareLab(shelf)
    seen = gr.State(None)
    with gr.Column(elem_classes="sv-labs", elem_id="hardware-lab"):
        with gr.Row(elem_classes="sv-lab-head"):
            parts.prose(TEXTS["top"])
            measure = gr.Button("Measure this machine", elem_id="hw-measure", size="sm")
            status = parts.status_line("hw-status")
        controls = _controls(lab)
        outputs = {"status": status, **_results()}
        parts.prose(TEXTS["end"])
        again = late.once_more()
    given, results = [controls[name] for name in DEFAULTS], [outputs[name] for name in CALCULATED]
    latest: dict[str, Any] = {"again": again, "trigger_mode": "always_last"}
    numbers = [controls[name] for name in NUMBERS]
    shown_here = [seen, controls["alpha"], controls["k"], *results]
    late.ask(tab.select, lab.open, [shown, seen, *given], shown_here, opening="hardware", **latest)
    changed = [controls[name].input for name in DEFAULTS if name != "machine"]
    late.ask([*changed, again.change], lab.calculate, given, results, **latest)
    late.ask(controls["machine"].input, lab.choose, given, [*numbers, *results], **latest)
    measured = [controls["machine"], *numbers, *results]
    late.ask(measure.click, lab.measure, given, measured, again=again, concurrency_limit=4)


def _controls(lab: HardwareLab) -> dict[str, Any]:
    first = DEFAULTS

    def number(name: str, label: str) -> gr.Number:
        return gr.Number(first[name], label=label, elem_id=f"hw-{name.replace('_', '-')}")

    with gr.Row(elem_classes="sv-row sv-sizes"):
        return {
            "machine": gr.Dropdown(lab.machines(), value=first["machine"], label="Machine", elem_id="hw-machine", filterable=False),
            "bandwidth": number("bandwidth", "GB/s"),
            "peak": number("peak", "TFLOP/s, 16 bit"),
            "memory": number("memory", "Memory, GB"),
            "products": gr.Dropdown([(f"{bits} bit", bits) for bits in PRODUCTS], value=first["products"], label="Products", elem_id="hw-products", filterable=False),
            "target": number("target", "Target, billions"),
            "bits": number("bits", "Target, bits"),
            "active": number("active", "Active, %"),
            "cache": number("cache", "Cache, KB a token"),
            "context": number("context", "Context, tokens"),
            "overhead": number("overhead", "Overhead, ms a pass"),
            "draft": number("draft", "Draft, billions"),
            "draft_bits": number("draft_bits", "Draft, bits"),
            "draft_cache": number("draft_cache", "Draft's cache, KB"),
            "alpha": gr.Slider(0, 1, first["alpha"], step=0.01, label="Acceptance α", elem_id="hw-alpha", buttons=[]),
            "k": gr.Slider(0, MAX_K, first["k"], step=1, label="K", elem_id="hw-k", buttons=[]),
            "batch": gr.Slider(1, MOST_BATCH, first["batch"], step=1, label="Batch", elem_id="hw-batch", buttons=[]),
        }  # fmt: skip


def _results() -> dict[str, Any]:
    fit, source, cards = parts.status_line("hw-fit"), parts.panel("hw-source"), parts.panel("hw-cards")
    with gr.Row(elem_classes="sv-pictures sv-three"):
        pictures = {name: picture(name, TEXTS[name]) for name in PICTURES}
    return {"fit": fit, "source": source, "cards": cards, **pictures, "changes": parts.panel("hw-changes")}
