"""The whole page: a bar with the name, the tabs, the public endpoints."""

from __future__ import annotations

from typing import Any

import gradio as gr

from specviz.page import api, parts, updates
from specviz.page.calls import call
from specviz.page.exactness import tab as exactness_tab
from specviz.page.hardware import tab as hardware_tab
from specviz.page.learn import tab as learn_tab
from specviz.page.server.shelf import Shelf
from specviz.page.speed import tab as speed_tab
from specviz.page.step import tab as step_tab
from specviz.page.step.handlers import Handlers

BAR = """<header class="sv-top"><h1>SpecViz</h1><p>speculative decoding, step by step</p>
<button type="button" data-do="change" aria-expanded="false" aria-controls="ask">Change</button></header>"""
KEEP_FILES_S = 3600
LABS = (
    ("exactness", "Exactness", exactness_tab.build),
    ("speed", "Speed", speed_tab.build),
    ("hardware", "Hardware", hardware_tab.build),
    ("learn", "Learn", learn_tab.build),
)


def build_page(shelf: Shelf, first_pair: str, opening: str | None = None) -> gr.Blocks:
    """Return the page; `first_pair` is what the menu shows when it opens, `opening` the recorded run on screen then."""
    handlers = Handlers(shelf)
    with gr.Blocks(
        title="SpecViz", analytics_enabled=False, fill_width=True, delete_cache=(KEEP_FILES_S, KEEP_FILES_S)
    ) as page:
        with gr.Row(elem_classes="sv-topbar"):
            gr.HTML(BAR, apply_default_css=False, elem_id="top")
            loading = parts.status_line("loading")
            bar = step_tab.tools()
        with gr.Tabs(selected="step", elem_id="tabs", overflow_behavior="wrap") as tabs:
            with gr.Tab("Step through", id="step", elem_id="tab-step"):
                screen = step_tab.build(page, handlers, bar, first_pair, opening)
            built: dict[str, Any] = {}
            for name, title, build in LABS:
                with gr.Tab(title, id=name, elem_id=f"tab-{name}") as tab:
                    built[name] = build(tab, shelf, screen.shown)
        exactness_tab.connect(built["exactness"], screen)
        learn_tab.connect(built["learn"], screen)
        api.build(shelf)
        page.load(handlers.greet, None, [loading], concurrency_limit=None, **updates.PRIVATE)
        page.unload(handlers.leave)
        page.unload(built["speed"].stop)
        screen.followed.then(
            None, None, [tabs], js=call("linkedTab", [name for name, *_ in LABS]), **updates.PRIVATE
        )
    return page
