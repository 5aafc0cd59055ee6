"""The parts that the browser draws by itself: a constant template, a script from `assets/`, one JSON string as data.

No text of a visitor or a model ever enters a template: templates are code to Gradio. The scripts make elements with
`createElement` and `textContent`, and draw again when the string changes. What a script is joined from is what it imports.
"""

from __future__ import annotations

import gradio as gr

from specviz.bundle import asset, script, styles
from specviz.page import controls
from specviz.record.html import facts

LAB_STYLES = ("page/styles/labs.css", "page/exactness/exactness.css", "page/learn/learn.css")


def player(value: str | None) -> gr.HTML:
    """Return what shows a run; its value is `messages.finished` or `messages.live`, as JSON.

    Its events and its other props are listed in `assets/player/state/bridge.js`.
    """
    template = asset("player/player.html") + asset("player/share.html")
    return _html(template, script(), "player", value, facts=facts(**controls.for_the_player()))


def download() -> gr.HTML:
    """Return what hands a visitor a file; its value is what `share.export` gives."""
    return _drawn("page/step/download", "download")


def status_line(elem_id: str) -> gr.HTML:
    """Return a line that says what is happening; its value is `messages.status`, as JSON."""
    return _drawn("page/parts/status", elem_id)


def panel(elem_id: str) -> gr.HTML:
    """Return figures, a table and sentences of a lab; its value is `messages.panel`, as JSON."""
    return _drawn("page/parts/panel", elem_id)


def prose(html: str, elem_classes: str = "sv-lab") -> gr.HTML:
    """Return a constant text of a lab, written here: nothing of a visitor or a model may be in it."""
    return gr.HTML(html, apply_default_css=False, elem_classes=elem_classes)


def chart(elem_id: str) -> gr.Plot:
    """Return the place of a plotly figure, whose colours follow the page's."""
    return gr.Plot(show_label=False, container=False, elem_id=elem_id, elem_classes="sv-chart")


def exactness_lab() -> gr.HTML:
    """Return the exactness lab; its value is `lab` of `page/exactness/lab.py`, its event `ask` brings what the browser asks for."""
    return _drawn("page/exactness/exactness", "exactness")


def greedy_result() -> gr.HTML:
    """Return the two texts at temperature 0; its value comes from `page/exactness/greedy.py`, its event `again` asks for more."""
    return _drawn("page/exactness/greedy", "greedy-result")


def learn() -> gr.HTML:
    """Return the text of Learn; its value is `as_text` of `page/learn/text.py`, its events `show` and `set` bring an experiment."""
    return _drawn("page/learn/learn", "learn")


def _drawn(name: str, elem_id: str) -> gr.HTML:
    """Return what a template and a script of the same name draw."""
    return _html(asset(f"{name}.html"), script(f"{name}.js"), elem_id)


def _html(template: str, code: str, elem_id: str, value: str | None = None, **props: str) -> gr.HTML:
    return gr.HTML(
        value, html_template=template, js_on_load=code, apply_default_css=False, elem_id=elem_id, **props
    )


def head() -> str:
    """Return the page's styles, where no rewriting reaches them, and its own script, for the document's head."""
    own_style = f"<style>{controls.style()}</style>"
    return f"{styles(*LAB_STYLES)}{own_style}<script>(() => {{\n{script('page/page.js')}}})();</script>"


def picture(name: str, text: str) -> gr.Plot:
    """Lay out a figure under its heading and words."""
    with gr.Column(elem_classes="sv-picture"):
        prose(text)
        return chart(f"chart-{name}")
