"""Traces as files: what a visitor takes away, and what a visitor brings."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import deque
from pathlib import Path

from specviz import Trace
from specviz.errors import SpecVizError

KEPT_FOLDERS = 16


class Outbox:
    """Writes a run's files where Gradio copies them from, and removes the older ones."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="specviz-"))
        self._folders: deque[Path] = deque()

    def write(self, trace: Trace) -> tuple[str | None, str]:
        """Write a trace as CSV and as JSON; return the two paths. A run with a deliberate mistake has no CSV."""
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        self._folders.append(folder)
        while len(self._folders) > KEPT_FOLDERS:
            shutil.rmtree(self._folders.popleft(), ignore_errors=True)
        csv, json = folder / f"{file_name(trace)}.csv", folder / f"{file_name(trace)}.json"
        trace.to_json(json)
        if trace.data["settings"]["fault"] is not None:
            return None, str(json)
        trace.to_csv(csv)
        return str(csv), str(json)


def file_name(trace: Trace) -> str:
    """Return a file's name that says what was run, a deliberate mistake included, made of harmless characters."""
    settings = trace.data["settings"]
    mistake = f"-MISTAKE-{settings['fault']}" if settings["fault"] else ""
    name = f"specviz-{settings['pair']}{mistake}-k{settings['k']}-t{settings['temperature']:g}-seed{settings['seed']}-{trace.data['run_id']}"
    return re.sub(r"[^A-Za-z0-9.-]+", "_", name)


def read_trace(path: str | None) -> Trace:
    """Return the trace in an uploaded file; raises SpecVizError where it is none."""
    if not path:
        raise SpecVizError("No file arrived: choose a trace that ends in .json or .csv.")
    reader = {".json": Trace.from_json, ".csv": Trace.from_csv}.get(Path(path).suffix.lower())
    if reader is None:
        raise SpecVizError("That file is no trace: choose one that ends in .json or .csv.")
    return reader(Path(path))
