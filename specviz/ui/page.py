"""The whole page: a bar with the name, the tabs, the public endpoints."""

from __future__ import annotations

import gradio as gr

from specviz.ui import api, parts, step_tab
from specviz.ui.handlers import Handlers
from specviz.ui.shelf import Shelf

BAR = """<header class="sv-top"><h1>SpecViz</h1><p>speculative decoding, step by step</p>
<button type="button" data-do="change" aria-expanded="false" aria-controls="ask">Change</button></header>"""
KEEP_FILES_S = 3600


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
        step_tab.build(page, handlers, bar, first_pair, opening)
        api.build(shelf)
        page.load(handlers.greet, None, [loading], concurrency_limit=None, **step_tab.PRIVATE)
        page.unload(handlers.leave)
    return page
