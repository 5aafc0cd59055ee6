"""The gallery: runs of the default pair recorded beforehand, so that the page is never empty.

`assets/gallery/index.json` is a list in the menu's order, the opening lesson first; beside it lies a trace for each entry.
Both are made by `python -m scripts.gallery`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from specviz import Trace
from specviz.bundle import ASSETS
from specviz.errors import SpecVizError
from specviz.record.fingerprint import fingerprint

FOLDER = ASSETS / "gallery"


@dataclass(frozen=True)
class Recorded:
    """An entry of the gallery: its name in links, its title in the menu, and one line on what to look for."""

    name: str
    title: str
    look_for: str

    @property
    def path(self) -> Path:
        """Where its trace lies, as JSON."""
        return FOLDER / f"{self.name}.json"


@lru_cache(maxsize=1)
def entries() -> tuple[Recorded, ...]:
    """Return the recorded runs in the menu's order, the opening lesson first; none where there is no gallery."""
    index = FOLDER / "index.json"
    if not index.exists():
        return ()
    return tuple(Recorded(**entry) for entry in json.loads(index.read_text(encoding="utf-8")))


def menu() -> list[tuple[str, str]]:
    """Return (title, name) for every recorded run, as a menu wants them."""
    return [(entry.title, entry.name) for entry in entries()]


def entry_of(name: str) -> Recorded:
    """Return the entry with a name; raises SpecVizError where there is none."""
    for entry in entries():
        if entry.name == name:
            return entry
    names = ", ".join(entry.name for entry in entries())
    raise SpecVizError(
        f"There is no recorded run {name!r}: choose one of {names or 'none, the gallery is empty'}."
    )


def open_recorded(name: str) -> Trace:
    """Return a recorded run's trace, shared by all who ask; raises SpecVizError where there is none, or it is damaged."""
    return _read(entry_of(name).path)


@lru_cache(maxsize=32)
def _read(path: Path) -> Trace:
    return Trace.from_json(path)


@lru_cache(maxsize=1)
def prints() -> list[dict[str, str]]:
    """Return every recorded run's name, title and fingerprint."""
    return [
        {"name": entry.name, "title": entry.title, "fingerprint": fingerprint(_read(entry.path).data)}
        for entry in entries()
    ]
