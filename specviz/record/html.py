"""A run as one HTML file: the player with the trace in it, which opens from disk without a server or a network.

The file forbids itself every request by its Content-Security-Policy, and every script but its own, which is named by its
hash; the trace stands in it as data. Whatever a token holds, it is text.
"""

from __future__ import annotations

import hashlib
import html
import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specviz.bundle import asset, script, styles
from specviz.record.files import write_file
from specviz.record.fingerprint import CHECKPOINTS, fingerprint
from specviz.record.metrics import summary
from specviz.record.shape import TraceData, why_no_branch

# What the player finds on the page: its element, its value, and nobody who changes it or listens.
SHIM = """(() => {
const element = document.querySelector('#player');
const props = { value: document.querySelector('#run').textContent, facts: %s };
const watch = () => {};
const trigger = () => {};
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const dress = () => document.body.classList.toggle('dark', dark.matches);
dark.addEventListener('change', dress);
dress();
%s
})();"""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
{styles}
</head>
<body class="sv-alone">
<main class="gradio-container"><div id="player">{player}</div></main>
<script type="application/json" id="run">{run}</script>
<script>{script}</script>
</body>
</html>
"""
FRAME_HEIGHT = 760
FRAME = '<iframe sandbox="allow-scripts allow-modals" srcdoc="{page}" title="{title}" width="100%" height="{height}" style="border: 0"></iframe>'


def to_html(
    data: TraceData,
    path: str | Path | None = None,
    query: str = "",
    recorded: Mapping[str, Any] | None = None,
) -> str:
    """Return the run of a trace's data as an HTML page, and write it to `path` where one is given.

    `query` is a link's query string that says where the player opens ("beat=3.coin.2&predict=1"); `recorded` is what the
    gallery says of the run. Raises SpecVizError where the file can't be written.
    """
    code = SHIM % (as_json(facts()), script())
    page = PAGE.format(
        policy=_policy(code),
        title=html.escape(title_of(data)),
        styles=styles(),
        player=_player(query),
        run=as_json(whole_run(data, made=False, recorded=recorded)),
        script=code,
    )
    if path is not None:
        write_file(path, page)
    return page


def to_frame(data: TraceData) -> str:
    """Return the same page in a frame of its own, for a notebook."""
    return FRAME.format(
        page=html.escape(to_html(data)), title=html.escape(title_of(data)), height=FRAME_HEIGHT
    )


def title_of(data: TraceData) -> str:
    """Return the page's title: the label, where there is one, and what was run."""
    settings = data["settings"]
    run = f"{settings['pair']}, K {settings['k']}, temperature {settings['temperature']:g}, seed {settings['seed']}"
    title = " · ".join(filter(None, ("SpecViz", settings["label"], run)))
    return title.encode("utf-8", "replace").decode()


def whole_run(data: TraceData, **more: Any) -> dict[str, Any]:
    """Return the message that shows a whole run: its trace, figures and fingerprint, and `more` that is known of it."""
    known = {"figures": summary(data), "fingerprint": fingerprint(data), "no_branch": why_no_branch(data)}
    return {"live": False, "trace": data, **known, **more}


def facts(**more: Any) -> str:
    """Return what the player is told once, when it starts, as JSON: see `assets/player/state/facts.js`."""
    return as_json({"checkpoints": CHECKPOINTS, **more})


def as_json(value: Any) -> str:
    """Return JSON in which nothing looks like a tag, wherever it may be put."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _player(query: str) -> str:
    """Return the player's template, marked as standing alone; `query` may be a visitor's."""
    marks = f'<div class="sv-player" data-standalone data-query="{html.escape(query.encode("utf-8", "replace").decode())}"'
    return asset("player/player.html").replace('<div class="sv-player"', marks, 1)


def _policy(code: str) -> str:
    digest = b64encode(hashlib.sha256(code.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
