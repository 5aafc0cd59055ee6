"""What a handler answers with: a value for every output, one sentence for a mistake, and the trace on screen for the labs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
)
from typing import Any, NamedTuple

import gradio as gr
from anyio import to_thread

from specviz import Trace
from specviz.errors import SpecVizError
from specviz.models.catalogue import CATALOGUE
from specviz.page import messages
from specviz.page.choices import draft_choices
from specviz.page.controls import NAMES
from specviz.page.server.shelf import POLL_S, TOY

MODEL = "model"
LIVE_EVERY_S = 0.15  # between two messages of a run that goes on
MOST_WAITING = 64  # visitors whose runs wait for each other, or for the same run
# "computing" is the player once more, told a fact beside the run: see `assets/player/state/bridge.js`.
OUTPUTS = (
    "status", "player", "chart", "recorded", "plain", "trace", "run", "stop", "race", "shown", "computing",
)  # fmt: skip
PRIVATE = {"api_visibility": "private", "show_progress": "hidden"}

log = logging.getLogger(__name__)
Update = tuple[Any, ...]


class Screen(NamedTuple):
    """What the first tab shows, for the other tabs: the trace on screen (None while there is none), what draws it, the
    controls, the menu of recorded runs; how another tab puts a run there: by a recorded one's name, or one that it has
    made, with a line; and the event that ends when the page shows what its link asks for.
    """

    shown: gr.State
    outputs: list[Any]
    described: list[Any]
    recorded: gr.Dropdown
    show_recorded: Callable[[gr.Request, str], Update]
    show_made: Callable[[gr.Request, Trace, str], Update]
    followed: Any


class Waiting(tuple[Any, ...]):
    """An update of somebody who waits: a little later it is asked for again."""


def update(**parts: Any) -> Update:
    """Return a value for every output of `OUTPUTS`, those not named left as they are."""
    return tuple(parts.get(name, gr.skip()) for name in OUTPUTS)


def working(line: str, stoppable: bool = True) -> Update:
    """Say what is being done, with Stop in Run's place where there is something to stop."""
    return update(
        status=messages.status(line, "busy"),
        run=gr.update(visible=not stoppable, interactive=False),
        stop=gr.update(visible=stoppable),
        race=gr.update(interactive=False),
        computing=gr.update(computing=stoppable),
    )


def written(what: str, tokens: int, asked: int) -> str:
    """Return the status line of a run that has written some of the tokens asked for."""
    return messages.status(f"{what}{tokens} of {asked} tokens", "busy", tokens / asked, tells=True)


def at_rest(**parts: Any) -> Update:
    """Put Run back in its place."""
    return update(
        run=gr.update(visible=True, interactive=True),
        stop=gr.update(visible=False),
        race=gr.update(interactive=True),
        computing=gr.update(computing=False),
        **parts,
    )


def _refused(line: str) -> Update:
    return at_rest(status=line)


def refusing(events: Iterable[Update], refused: Callable[[str], Update] = _refused) -> Iterator[Update]:
    """Pass events on; where one fails, say so in one sentence and leave what is on screen as it is.

    `refused` makes the last event from the status line that says it; without it, that of a run.
    """
    try:
        yield from events
    except SpecVizError as error:
        yield refused(messages.status(str(error), "error"))
    except Exception as error:
        log.exception("a handler failed")
        yield refused(
            messages.status(f"SpecViz failed ({type(error).__name__}): the server's log says why.", "error")
        )


async def in_threads(events: Iterator[Update]) -> AsyncGenerator[Update, None]:
    """Pass on events that are each made in a thread. Who waits holds no thread, so that a whole class can wait."""
    try:
        while (event := await to_thread.run_sync(next, events, None)) is not None:
            yield event
            if isinstance(event, Waiting):
                await asyncio.sleep(POLL_S)
    finally:
        await _closed(events)


async def _closed(events: Iterator[Update]) -> None:
    """Close a generator, once the thread that may still be at work in it is done."""
    while getattr(events, "gi_running", False):
        await asyncio.sleep(POLL_S)
    events.close()  # type: ignore[attr-defined]


def described(values: Mapping[str, Any] | None) -> Update:
    """Return the controls' values in the order of `NAMES`; None leaves them as they are."""
    if values is None:
        return tuple(gr.skip() for _ in NAMES)
    pair = values["pair"]
    updates: dict[str, Any] = dict(values)
    if pair in CATALOGUE:
        updates["draft"] = gr.update(choices=draft_choices(pair), value=values["draft"])
    updates["agreement"] = gr.update(value=values["agreement"], visible=pair == TOY)
    return tuple(updates[name] for name in NAMES)


def locking(names: Collection[str], updates: Update) -> Update:
    """Disable the controls that a lesson locks, in the updates of a page that opens (`OUTPUTS`, then `NAMES`)."""

    def locked(value: Any) -> Any:
        return {**(value if isinstance(value, dict) else gr.update(value=value)), "interactive": False}

    return tuple(
        locked(value) if name in names else value
        for name, value in zip((*OUTPUTS, *NAMES), updates, strict=True)
    )
