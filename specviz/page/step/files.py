"""Traces that a visitor brings as files, and the run on screen by its name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specviz import Trace
from specviz.errors import SpecVizError
from specviz.page.gallery import open_recorded

DEEPEST = 8


def read_trace(path: str | None) -> Trace:
    """Return the trace in an uploaded file; raises SpecVizError where it is none."""
    if not path:
        raise SpecVizError("No file arrived: choose a trace that ends in .json or .csv.")
    reader = {".json": Trace.from_json, ".csv": Trace.from_csv}.get(Path(path).suffix.lower())
    if reader is None:
        raise SpecVizError("That file is no trace: choose one that ends in .json or .csv.")
    return reader(Path(path))


def message_in(asked: object, most: int, too_large: str, unreadable: str) -> dict[str, Any]:
    """Return what a browser asks for, a record as it came out of JSON; raises SpecVizError with either sentence.

    It may hold `most` characters and values, and lists and records in each other up to `DEEPEST`.
    """
    if not isinstance(asked, dict):
        raise SpecVizError(unreadable)
    size, left = 0, [(value, 1) for value in (*asked, *asked.values())]
    while left:
        value, depth = left.pop()
        size += len(value) if isinstance(value, str) else 1
        if size > most:
            raise SpecVizError(too_large)
        if depth > DEEPEST:
            raise SpecVizError(unreadable)
        if isinstance(value, dict):
            left.extend((each, depth + 1) for each in (*value, *value.values()))
        elif isinstance(value, list):
            left.extend((each, depth + 1) for each in value)
    return asked


def named_run(data: Mapping[str, Any], kept: Trace | None) -> Trace:
    """Return the run that a browser names, or raise SpecVizError.

    `data` holds one of {recorded: its name in the gallery}, {run: the id of the visitor's own latest run, which is
    `kept`} and {trace: its JSON as text}, which nobody has checked but for its shape.
    """
    if isinstance(data.get("recorded"), str):
        return open_recorded(data["recorded"])
    if "run" in data:
        if kept is None or kept.data["run_id"] != data["run"]:
            raise SpecVizError("The server no longer has the run on screen: run it again.")
        return kept
    text = data.get("trace")
    if not isinstance(text, str) or not text.startswith(
        "{"
    ):  # anything else would be taken for a file's name
        raise SpecVizError("The run on screen did not arrive: open its file again.")
    return Trace.from_json(text)
