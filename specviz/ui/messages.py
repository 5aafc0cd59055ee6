"""What the server tells the drawn parts, as JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from specviz import Trace
from specviz.metrics import summary
from specviz.ui.gallery import Recorded, entries

OVERLAP = 2


def status(text: str, tone: str = "quiet", share: float | None = None) -> str:
    """Return a status line: tone quiet, busy or error; share from 0 to 1 draws a bar."""
    return _json({"text": text, "tone": tone, "share": share})


def finished(trace: Trace, recorded: Recorded | None = None, made: bool = False) -> str:
    """Return a whole run with its figures: one of the gallery with what that says of it, or one `made` just now."""
    return _json(
        {
            "live": False,
            "made": made,
            "recorded": recorded and {**asdict(recorded), "first": recorded == entries()[0]},
            "trace": trace.data,
            "figures": summary(trace.data),
        }
    )


def live(trace: Trace, sent: int) -> str:
    """Return the steps after the first `sent`, and a few before them in case a message was overtaken by the next.

    Rows are left out: they are half of a trace's bytes, and the whole trace follows at the end of the run.
    """
    steps = [_slim(step) for step in trace.data["steps"][max(0, sent - OVERLAP) :]]
    used = {str(cell["id"]) for step in steps for cell in [*step["drafts"], step["final"]] if cell}
    tokens = {token: text for token, text in trace.data["tokens"].items() if token in used}
    return _json({"live": True, "trace": {**trace.data, "steps": steps, "tokens": tokens, "token_ids": []}})


def _slim(step: Mapping[str, Any]) -> dict[str, Any]:
    final = step["final"] and {**step["final"], "row": None}
    return {**step, "drafts": [{**draft, "row": None} for draft in step["drafts"]], "final": final}


def _json(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """JSON in which nothing looks like a tag, wherever Gradio may put it."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
