"""The tab "Speed": what this pair's passes cost, how far its drafts come, and which K follows. Layout only."""

from __future__ import annotations

from typing import Any

import gradio as gr

from specviz.bounds import MAX_K
from specviz.page import late, parts
from specviz.page.parts import picture
from specviz.page.server.shelf import Shelf
from specviz.page.speed.lab import EXAMPLE, EXPLORED, OUTPUTS, SWEEP_S, SWEPT, SpeedLab
from specviz.page.updates import PRIVATE
from specviz.speed.contest import FEWEST
from specviz.speed.sweep import KS, TEMPERATURES

EQUATION_1 = """<math display="block"><mi>E</mi><mo>=</mo><mfrac><mrow><mn>1</mn><mo>−</mo><msup><mi>α</mi><mrow><mi>K</mi><mo>+</mo><mn>1</mn></mrow></msup></mrow>
<mrow><mn>1</mn><mo>−</mo><mi>α</mi></mrow></mfrac></math>"""
THEOREM_38 = """<math display="block"><mi>S</mi><mo>=</mo><mfrac><mrow><mn>1</mn><mo>−</mo><msup><mi>α</mi><mrow><mi>K</mi><mo>+</mo><mn>1</mn></mrow></msup></mrow>
<mrow><mo>(</mo><mn>1</mn><mo>−</mo><mi>α</mi><mo>)</mo><mo>(</mo><mi>K</mi><mi>c</mi><mo>+</mo><mn>1</mn><mo>)</mo></mrow></mfrac></math>"""
WITH_COSTS = """<math display="block"><mi>S</mi><mo>=</mo><mfrac><mi>E</mi><mrow><mi>K</mi><mi>c</mi><mo>+</mo><mi>v</mi><mo>+</mo><mi>o</mi></mrow></mfrac></math>"""
PAPER = "Leviathan, Kalman, Matias 2023, arXiv 2211.17192"
TEXTS = {
    "top": "<h2>Is it faster, and with which K?</h2><p>A step costs K draft forwards, one target pass over K + 1 rows, and a rest. "
    "It pays when the tokens that it gives are worth more than that.</p>",
    "passes": "<h3>What a target pass costs</h3><p>Verification is free as long as this line is flat: more rows, the same weights read. Behind each point: the middle of the rounds.</p>",
    "positions": "<h3>How far drafts come</h3><p>Bars: this run. Dots: were every draft kept with the same chance α. Tokens per pass are 1 + the bars where every step drafts K and none ends early.</p>",
    "tokens": f"<h3>Tokens per target pass</h3><p class='sv-formula'>{EQUATION_1}<small>{PAPER}, equation (1)</small></p>",
    "speedup": f"<h3>Speedup</h3><p class='sv-formula'>{WITH_COSTS}<small>v = 1 and o = 0 make it</small>{THEOREM_38}<small>{PAPER}, Theorem 3.8</small></p>",
    "map": "<h3>Speedup over acceptance and draft cost, at this K</h3><p>On the thick line it is as fast as plain decoding, left of it slower. A better draft moves right, a smaller one down.</p>",
    "sweep": f"<h2>Try it: every K at every temperature</h2><p>Runs the prompt with {len(KS)} K at {len(TEMPERATURES)} temperatures on the pair on screen, each at least "
    f"{FEWEST} times in turns with the plain loop: the usual K first, at most {SWEEP_S:.0f} seconds, and what was measured stays.</p>",
}  # fmt: skip


def build(tab: gr.Tab, shelf: Shelf, shown: gr.State) -> SpeedLab:
    """Lay out the tab and connect it; `shown` holds the trace on screen, or None."""
    lab, seen = SpeedLab(shelf), gr.State(None)
    with gr.Column(elem_classes="sv-labs", elem_id="speed-lab"):
        outputs = {**_known(), **_explored()}
        tokens, swept = _sweep(outputs)
        again = late.once_more()
    every, sliders = [outputs[name] for name in OUTPUTS], [outputs[name] for name in EXAMPLE]
    latest: dict[str, Any] = {"again": again, "trigger_mode": "always_last"}
    late.ask(tab.select, lab.open, [shown, seen, *sliders], [seen, *every], opening="speed", **latest)
    late.ask(outputs["measure"].click, lab.measure, [shown], every, again=again, concurrency_limit=4)
    moved = [*(slider.input for slider in sliders), again.change]
    late.ask(moved, lab.moved, [shown, *sliders], [outputs[name] for name in EXPLORED], **latest)
    order = [swept[name] for name in SWEPT]
    swept["sweep"].click(lab.sweep, [shown, outputs["prompt"], tokens], order, concurrency_limit=4, **PRIVATE)
    swept["stop"].click(lab.stop, None, None, queue=False, **PRIVATE)
    return lab


def _known() -> dict[str, Any]:
    with gr.Row(elem_classes="sv-lab-head"):
        parts.prose(TEXTS["top"])
        measure = gr.Button("Measure this pair", elem_id="measure", size="sm")
        status = parts.status_line("speed-status")
    cards = parts.panel("speed-cards")
    with gr.Row(elem_classes="sv-pictures"):
        passes = picture("passes", TEXTS["passes"])
        positions = picture("positions", TEXTS["positions"])
    return {"status": status, "measure": measure, "cards": cards, "passes": passes, "positions": positions}


def _explored() -> dict[str, Any]:
    with gr.Row(elem_classes="sv-row sv-what-if", elem_id="what-if"):
        alpha = gr.Slider(
            0, 1, EXAMPLE["alpha"], step=0.01, label="Acceptance α", elem_id="if-alpha", buttons=[]
        )
        c = gr.Slider(0, 1, EXAMPLE["c"], step=0.01, label="Draft forward c", elem_id="if-c", buttons=[])
        k = gr.Slider(1, MAX_K, EXAMPLE["k"], step=1, label="K", elem_id="if-k", buttons=[])
    sentence = parts.panel("speed-verdict")
    with gr.Row(elem_classes="sv-pictures sv-three"):
        pictures = {name: picture(name, TEXTS[name]) for name in ("tokens", "speedup", "map")}
    return {"alpha": alpha, "c": c, "k": k, "verdict": sentence, **pictures}


def _sweep(outputs: dict[str, Any]) -> tuple[gr.Number, dict[str, Any]]:
    parts.prose(TEXTS["sweep"])
    with gr.Row(elem_classes="sv-row sv-sweep"):
        outputs["prompt"] = gr.Textbox(label="Prompt", lines=1, max_lines=3, elem_id="sweep-prompt")
        tokens = gr.Number(32, label="Tokens a cell", elem_id="sweep-tokens")
        sweep = gr.Button("Sweep", variant="primary", elem_id="sweep")
        stop = gr.Button("Stop", elem_id="sweep-stop", visible=False)
    return tokens, {
        "status": parts.status_line("sweep-status"),
        "grid": parts.panel("sweep-grid"),
        "sweep": sweep,
        "stop": stop,
    }
