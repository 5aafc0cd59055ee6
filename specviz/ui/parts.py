"""The parts that the browser draws by itself: a constant template, scripts from `assets/`, one JSON string as data.

No text of a visitor or a model ever enters a template: templates are code to Gradio. The scripts make elements with
`createElement` and `textContent`, and draw again when the string changes. The lists of the player's scripts and styles
are `PLAYER_SCRIPTS` and `STYLES` in `specviz.bundle`.
"""

from __future__ import annotations

import gradio as gr

from specviz.bundle import asset, scripts, styles

LAB_SCRIPTS = ("player/run/numbers", "player/run/tokens", "player/draw/dom")
LAB_STYLES = ("page/styles/labs", "page/exactness/exactness", "page/learn/learn")
OPEN_TAB = "() => document.querySelector('#tabs [role=tab][data-tab-id=%s]')?.click()"


def player(value: str | None) -> gr.HTML:
    """Return what shows a run; its value is `messages.finished` or `messages.live`, as JSON."""
    return _drawn(asset("player/player.html") + asset("player/share.html"), scripts(), "player", value)


def download() -> gr.HTML:
    """Return what hands a visitor a file; its value is what `share.export` gives."""
    return _drawn(asset("page/step/download.html"), asset("page/step/download.js"), "download")


def status_line(elem_id: str) -> gr.HTML:
    """Return a line that says what is happening; its value is `messages.status`, as JSON."""
    return _drawn(asset("page/parts/status.html"), asset("page/parts/status.js"), elem_id)


def panel(elem_id: str) -> gr.HTML:
    """Return figures, a table and sentences of a lab; its value is `messages.panel`, as JSON."""
    return _drawn(
        asset("page/parts/panel.html"),
        f"{asset('player/draw/dom.js')}\n{asset('page/parts/panel.js')}",
        elem_id,
    )


def prose(html: str, elem_classes: str = "sv-lab") -> gr.HTML:
    """Return a constant text of a lab, written here: nothing of a visitor or a model may be in it."""
    return gr.HTML(html, apply_default_css=False, elem_classes=elem_classes)


def chart(elem_id: str) -> gr.Plot:
    """Return the place of a plotly figure, whose colours follow the page's."""
    return gr.Plot(show_label=False, container=False, elem_id=elem_id, elem_classes="sv-chart")


def exactness_lab() -> gr.HTML:
    """Return the exactness lab; its value is `exactness_lab.lab`, its event `ask` brings what the browser asks for."""
    return _lab("page/exactness/exactness", "exactness")


def greedy_result() -> gr.HTML:
    """Return the two texts at temperature 0; its value comes from `exactness_lab.greedy`."""
    return _lab("page/exactness/greedy", "greedy-result")


def learn() -> gr.HTML:
    """Return the text of Learn; its value is `learn_text.as_text`, its events `show` and `set` bring an experiment."""
    return _lab("page/learn/learn", "learn")


def _lab(name: str, elem_id: str) -> gr.HTML:
    joined = "\n".join(asset(f"{script}.js") for script in (*LAB_SCRIPTS, name))
    return _drawn(asset(f"{name}.html"), joined, elem_id)


def _drawn(template: str, script: str, elem_id: str, value: str | None = None) -> gr.HTML:
    return gr.HTML(value, html_template=template, js_on_load=script, apply_default_css=False, elem_id=elem_id)


def head() -> str:
    """Return the page's styles as an element for the document's head, where no rewriting reaches them."""
    return styles(*LAB_STYLES)
