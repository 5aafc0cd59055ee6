"""The parts that the browser draws by itself: a constant template, scripts from `assets/`, one JSON string as data.

No text of a visitor or a model ever enters a template: templates are code to Gradio. The scripts make elements with
`createElement` and `textContent`, and draw again when the string changes. The lists of the player's scripts and styles
are `PLAYER_SCRIPTS` and `STYLES` in `specviz.player`.
"""

from __future__ import annotations

import gradio as gr

from specviz.player import asset, scripts, styles


def player(value: str | None) -> gr.HTML:
    """Return what shows a run; its value is `messages.finished` or `messages.live`, as JSON."""
    return _drawn(asset("player.html") + asset("share.html"), scripts(), "player", value)


def download() -> gr.HTML:
    """Return what hands a visitor a file; its value is what `share.export` gives."""
    return _drawn(asset("download.html"), asset("download.js"), "download")


def status_line(elem_id: str) -> gr.HTML:
    """Return a line that says what is happening; its value is `messages.status`, as JSON."""
    return _drawn(asset("status.html"), asset("status.js"), elem_id)


def _drawn(template: str, script: str, elem_id: str, value: str | None = None) -> gr.HTML:
    return gr.HTML(value, html_template=template, js_on_load=script, apply_default_css=False, elem_id=elem_id)


def head() -> str:
    """Return the page's styles as an element for the document's head, where no rewriting reaches them."""
    return styles()
