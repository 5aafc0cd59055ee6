"""The parts that the browser draws by itself: a constant template, scripts from `assets/`, one JSON string as data.

No text of a visitor or a model ever enters a template: templates are code to Gradio. The scripts make elements with
`createElement` and `textContent`, and draw again when the string changes.
"""

from __future__ import annotations

from pathlib import Path

import gradio as gr

ASSETS = Path(__file__).resolve().parents[2] / "assets"
PLAYER_SCRIPTS = (
    "numbers", "tokens", "record", "dom", "clock", "state", "ribbon", "grid", "skyline", "stepclock", "transport",
    "words", "ruler", "lanes", "mass", "throws", "inspector", "captions", "speed", "keys", "link", "asked", "player",
)  # fmt: skip
LAB_SCRIPTS = ("numbers", "tokens", "dom")
OPEN_TAB = "() => document.querySelector('#tabs [role=tab][data-tab-id=%s]')?.click()"
STYLES = ("player", "inspector", "page", "labs", "exactness", "learn")


def asset(name: str) -> str:
    """Return the text of a file in `assets/`."""
    return (ASSETS / name).read_text(encoding="utf-8")


def player(value: str | None) -> gr.HTML:
    """Return what shows a run; its value is `messages.finished` or `messages.live`, as JSON."""
    scripts = "\n".join(asset(f"{name}.js") for name in PLAYER_SCRIPTS)
    return _drawn("player.html", scripts, "player", value)


def status_line(elem_id: str) -> gr.HTML:
    """Return a line that says what is happening; its value is `messages.status`, as JSON."""
    return _drawn("status.html", asset("status.js"), elem_id)


def panel(elem_id: str) -> gr.HTML:
    """Return figures, a table and sentences of a lab; its value is `messages.panel`, as JSON."""
    return _drawn("panel.html", f"{asset('dom.js')}\n{asset('panel.js')}", elem_id)


def prose(html: str, elem_classes: str = "sv-lab") -> gr.HTML:
    """Return a constant text of a lab, written here: nothing of a visitor or a model may be in it."""
    return gr.HTML(html, apply_default_css=False, elem_classes=elem_classes)


def chart(elem_id: str) -> gr.Plot:
    """Return the place of a plotly figure, whose colours follow the page's."""
    return gr.Plot(show_label=False, container=False, elem_id=elem_id, elem_classes="sv-chart")


def exactness_lab() -> gr.HTML:
    """Return the exactness lab; its value is `exactness_lab.lab`, its event `ask` brings what the browser asks for."""
    return _lab("exactness", "exactness")


def greedy_result() -> gr.HTML:
    """Return the two texts at temperature 0; its value comes from `exactness_lab.greedy`."""
    return _lab("greedy", "greedy-result")


def learn() -> gr.HTML:
    """Return the text of Learn; its value is `learn_text.as_text`, its events `show` and `set` bring an experiment."""
    return _lab("learn", "learn")


def _lab(name: str, elem_id: str) -> gr.HTML:
    scripts = "\n".join(asset(f"{script}.js") for script in (*LAB_SCRIPTS, name))
    return _drawn(f"{name}.html", scripts, elem_id)


def _drawn(template: str, script: str, elem_id: str, value: str | None = None) -> gr.HTML:
    return gr.HTML(
        value, html_template=asset(template), js_on_load=script, apply_default_css=False, elem_id=elem_id
    )


def head() -> str:
    """Return the page's styles as an element for the document's head, where no rewriting reaches them."""
    return "".join(f"<style>{asset(f'{name}.css')}</style>" for name in STYLES)
