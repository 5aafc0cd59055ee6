"""How the page is served, on a laptop and on a Space."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import gradio as gr

from specviz.bundle import asset
from specviz.errors import SpecVizError
from specviz.models import catalogue
from specviz.page import gallery, parts
from specviz.page.page import build_page
from specviz.page.server import zero
from specviz.page.server.shelf import Shelf
from specviz.page.updates import MOST_WAITING

DEFAULT_PORT = 7860
NEEDED = (
    "player/main.js",
    "page/page.js",
    "gallery/index.json",
    "learn/lesson.md",
    "draft/draft.json",
)  # a file of each folder
LONGEST_QUEUE = 64
MOST_AT_ONCE = 2 * MOST_WAITING  # however many wait for a run, there is room for everything else


def theme() -> gr.themes.Base:
    """Return the look of Gradio's own widgets: the system's fonts, ink and grey, nothing fetched from anywhere."""
    look = gr.themes.Default(
        primary_hue="gray",
        neutral_hue="gray",
        font=["system-ui", "sans-serif"],
        font_mono=["ui-monospace", "monospace"],
    )
    return look.set(
        body_background_fill="#ffffff", body_background_fill_dark="#12161b", body_text_color="#15191e", body_text_color_dark="#e9edf1",
        block_background_fill="#ffffff", block_background_fill_dark="#12161b", input_background_fill="#f5f7f9",
        input_background_fill_dark="#1a2027", border_color_primary="#d5dbe1", border_color_primary_dark="#39424c",
        button_primary_background_fill="#15191e", button_primary_background_fill_hover="#39424c", button_primary_text_color="#ffffff",
        button_primary_background_fill_dark="#e9edf1", button_primary_background_fill_hover_dark="#ffffff",
        button_primary_text_color_dark="#12161b", block_border_width="0px", block_shadow="none", block_padding="0px",
    )  # fmt: skip


def launch(page: gr.Blocks, **options: Any) -> Any:
    """Launch a page with the flags that keep it safe in public (options go to Gradio's `launch`)."""
    flags = {
        "ssr_mode": False, "run_history": False, "enable_monitoring": False, "max_file_size": "4mb", "footer_links": ["api", "settings"],
        "show_error": False, "share": False, "max_threads": MOST_AT_ONCE, "theme": theme(), "head": parts.head(),
    }  # fmt: skip
    return page.queue(max_size=LONGEST_QUEUE, default_concurrency_limit=4).launch(**(flags | options))


def port() -> int:
    """Return the port from the environment variable PORT, or 7860."""
    text = os.environ.get("PORT", str(DEFAULT_PORT))
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise SpecVizError(f"PORT must be a number from 1 to 65535, not {text!r}.")
    return int(text)


def serve() -> int:
    """Serve the page until it is interrupted; return the exit status, with one line on standard error if it is not 0."""
    shelf = Shelf()
    host = "0.0.0.0" if os.environ.get("SPACE_ID") else "127.0.0.1"
    try:
        for name in NEEDED:
            asset(name)
        chosen = port()
        recorded = gallery.entries()
        if zero.ACTIVE:
            shelf.load_here(catalogue.DEFAULT_PAIR)
        page = build_page(shelf, catalogue.DEFAULT_PAIR, recorded[0].name if recorded else None)
        launch(page, server_name=host, server_port=chosen, prevent_thread_lock=True, quiet=True)
    except SpecVizError as error:
        print(error, file=sys.stderr)
    except OSError:
        print(f"Port {chosen} is taken: stop what uses it, or set PORT to another number.", file=sys.stderr)
    else:
        print(f"SpecViz is at http://{host}:{chosen} (Ctrl-C stops it).", flush=True)
        shelf.load(catalogue.DEFAULT_PAIR)
        page.block_thread()
        return 0
    return 2


def run() -> NoReturn:
    """Serve the page and end the process with its status, whatever other threads are doing."""
    status = serve()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # a thread may still be inside torch, which must not see the interpreter go
