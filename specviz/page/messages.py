"""What the server tells the drawn parts, as JSON text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple, TypedDict

from specviz import Trace
from specviz.page.gallery import Recorded, entries, prints
from specviz.page.link import asked_of
from specviz.record.html import as_json, whole_run
from specviz.record.shape import DraftCell, FinalCell, Step

OVERLAP = 2


class Race(TypedDict):
    """What a race adds to a run: when each token of the plain loop was there, in milliseconds, and whether it was stopped."""

    ms: list[float]
    stopped: bool


def status(text: str, tone: str = "quiet", share: float | None = None, tells: bool = False) -> str:
    """Return a status line: tone quiet, busy or error; share from 0 to 1 draws a bar.

    What `tells` how a run went on is kept back from somebody who predicts it.
    """
    return as_json({"text": text, "tone": tone, "share": share, "tells": tells})


def finished(
    trace: Trace,
    recorded: Recorded | None = None,
    made: bool = False,
    race: Race | None = None,
) -> str:
    """Return a whole run with its figures: one of the gallery with what that says of it, or one `made` just now.

    Other than the gallery's own come with the gallery's fingerprints, in case a link was made from one of those.
    """
    return as_json(
        whole_run(
            trace.data,
            made=made,
            asked=asked_of(trace.data),
            race=race and {**race, "ms": [round(ms, 3) for ms in race["ms"]]},
            recorded=recorded and {**asdict(recorded), "first": recorded == entries()[0]},
            gallery=None if recorded else prints(),
        )
    )


def live(trace: Trace, sent: int) -> str:
    """Return the steps after the first `sent`, and a few before them in case a message was overtaken by the next.

    Rows are left out: they are half of a trace's bytes, and the whole trace follows at the end of the run.
    """
    steps = [_slim(step) for step in trace.data["steps"][max(0, sent - OVERLAP) :]]
    used = {str(cell["id"]) for step in steps for cell in [*step["drafts"], step["final"]] if cell}
    tokens = {token: text for token, text in trace.data["tokens"].items() if token in used}
    window = {**trace.data, "steps": steps, "tokens": tokens, "token_ids": []}
    return as_json({"live": True, "trace": window, "asked": asked_of(trace.data)})


def _slim(step: Step) -> Step:
    final: FinalCell | None = step["final"] and {**step["final"], "row": None}
    drafts: list[DraftCell] = [{**draft, "row": None} for draft in step["drafts"]]
    return {**step, "drafts": drafts, "final": final}


# --- labs ---


class Card(NamedTuple):
    """A figure of a lab: value None is "not measured yet"; tone colours the last note: measured or recorded."""

    title: str
    value: str | None
    notes: tuple[str, ...] = ()
    tone: str | None = None


class GridCell(NamedTuple):
    """A cell of a lab's table: shade from 0 to 1 behind the text, None for none; the best of its row is framed."""

    text: str
    note: str = ""
    shade: float | None = None
    best: bool = False


class Grid(NamedTuple):
    """A lab's table: its heads, and for each row a head and its cells."""

    caption: str
    corner: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[GridCell]]]


def panel(cards: Sequence[Card] = (), grid: Grid | None = None, lines: Sequence[str] = ()) -> str:
    """Return a lab's figures, table and sentences."""
    table = grid and {
        **grid._asdict(),
        "rows": [{"head": head, "cells": [cell._asdict() for cell in cells]} for head, cells in grid.rows],
    }
    return as_json({"cards": [card._asdict() for card in cards], "grid": table, "lines": list(lines)})
