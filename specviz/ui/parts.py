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
    "words", "ruler", "lanes", "mass", "throws", "inspector", "captions", "speed", "keys", "link", "player",
)  # fmt: skip
STYLES = ("player", "inspector", "page")


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


def _drawn(template: str, script: str, elem_id: str, value: str | None = None) -> gr.HTML:
    return gr.HTML(
        value, html_template=asset(template), js_on_load=script, apply_default_css=False, elem_id=elem_id
    )


def head() -> str:
    """Return the page's styles as an element for the document's head, where no rewriting reaches them."""
    return "".join(f"<style>{asset(f'{name}.css')}</style>" for name in STYLES)
