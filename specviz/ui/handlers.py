"""What happens on the page: each handler checks first, then works, and answers a mistake with one sentence.

A run is a generator: its steps may each be computed in another thread, and Stop is a flag that the run looks at
between steps, because a cancelled event would lose what it had shown.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any

import gradio as gr

from specviz import Trace
from specviz.decoding import Run
from specviz.errors import SpecVizError
from specviz.pairs import CATALOGUE, DEFAULT_PAIR
from specviz.toy import DEFAULT_AGREEMENT
from specviz.ui import messages
from specviz.ui.choices import draft_choices, examples_of
from specviz.ui.figures import speed_figure
from specviz.ui.files import Outbox, read_trace
from specviz.ui.gallery import Recorded, entry_of, open_recorded
from specviz.ui.link import NAMES, values_in, values_of
from specviz.ui.settings import Settings, plain_options, read_settings
from specviz.ui.shelf import POLL_S, TOY, Shelf
from specviz.ui.zero import LentRun, autoregress, start

MODEL = "model"
OUTPUTS = ("status", "player", "chart", "csv", "json", "plain", "trace", "run", "stop")
LIVE_EVERY_S = 0.15

log = logging.getLogger(__name__)

Update = tuple[Any, ...]


def update(**parts: Any) -> Update:
    """Return a value for every output of `OUTPUTS`, those not named left as they are."""
    return tuple(parts.get(name, gr.skip()) for name in OUTPUTS)


def working(line: str, stoppable: bool = True) -> Update:
    """Say what is being done, with Stop in Run's place where there is something to stop."""
    return update(
        status=messages.status(line, "busy"),
        run=gr.update(visible=not stoppable, interactive=False),
        stop=gr.update(visible=stoppable),
    )


def at_rest(**parts: Any) -> Update:
    """Put Run back in its place."""
    return update(run=gr.update(visible=True, interactive=True), stop=gr.update(visible=False), **parts)


def refusing(events: Iterable[Update]) -> Iterator[Update]:
    """Pass events on; where one fails, say so in one sentence and leave what is on screen as it is."""
    try:
        yield from events
    except SpecVizError as error:
        yield at_rest(status=messages.status(str(error), "error"))
    except Exception as error:
        log.exception("a handler failed")
        yield at_rest(
            status=messages.status(
                f"SpecViz failed ({type(error).__name__}): the server's log says why.", "error"
            )
        )


def described(values: Mapping[str, Any] | None, recorded: str | None = None) -> Update:
    """Return the controls' values, in the order of `NAMES`, and the entry of the menu of recorded runs; None leaves them."""
    if values is None:
        return tuple(gr.skip() for _ in (*NAMES, "recorded"))
    pair = values["pair"]
    updates: dict[str, Any] = dict(values)
    if pair in CATALOGUE:
        updates["draft"] = gr.update(choices=draft_choices(pair), value=values["draft"])
    updates["agreement"] = gr.update(value=values["agreement"], visible=pair == TOY)
    return (*(updates[name] for name in NAMES), recorded)


class Handlers:
    """The page's handlers: they share the loaded pairs, and know which run belongs to which visitor."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._outbox = Outbox()
        self._running: dict[str, Run | LentRun] = {}
        self._shown: dict[str, str] = {}
        self._stopped: set[str] = set()

    def run(self, request: gr.Request, *values: Any) -> Iterator[Update]:
        """Run the settings `values` (in the order of `read_settings`) and show each step as it comes."""
        yield from refusing(self._run(str(request.session_hash), values))

    def _run(self, visitor: str, values: tuple[Any, ...]) -> Iterator[Update]:
        settings = read_settings(*values)
        self._stopped.discard(visitor)
        yield working("Getting ready.")
        for line in self.shelf.lines_until_ready(settings.pair):
            if visitor in self._stopped:
                yield at_rest(status=messages.status("Stopped before the first step."))
                return
            yield working(line)
        try:
            with self.shelf.unloading(settings.pair):
                try:
                    yield from self._decode(visitor, settings)
                finally:
                    self._running.pop(visitor, None)  # before the pair is let go: it holds the models
        finally:
            self.shelf.free(settings.pair)

    def _decode(self, visitor: str, settings: Settings) -> Iterator[Update]:
        pair = self.shelf.pair(settings.pair, settings.draft, settings.agreement)
        run = start(
            pair, settings.prompt, costs=self.shelf.costs(pair.name, pair.draft_name), **settings.options()
        )
        self._running[visitor] = run
        self._shown[visitor] = run.trace.data["run_id"]
        if visitor in self._stopped:
            run.stop()
        try:
            yield from self._watch(run, settings)
        except SpecVizError:
            if run.trace.data["steps"]:
                yield self._whole(run.trace, "")
            raise
        yield self._whole(run.trace, self._summary(run.trace))

    def _watch(self, run: Run | LentRun, settings: Settings) -> Iterator[Update]:
        sent, last = 0, time.monotonic()
        for _ in run:
            if time.monotonic() - last < LIVE_EVERY_S:
                continue
            tokens = run.trace.data["steps"][-1]["totals"]["tokens"]
            line = messages.status(
                f"{tokens} of {settings.max_new_tokens} tokens", "busy", tokens / settings.max_new_tokens
            )
            yield update(status=line, player=messages.live(run.trace, sent))
            sent, last = len(run.trace.data["steps"]), time.monotonic()

    def _summary(self, trace: Trace) -> str:
        figures = trace.metrics
        return f"{figures['tokens']} tokens in {figures['target_passes']} target passes."

    def _whole(self, trace: Trace, line: str, ours: bool = True, entry: Recorded | None = None) -> Update:
        """Show a whole run; only one of `ours`, made here and just now, can be compared with the plain loop."""
        csv, json = self._outbox.write(trace)
        return at_rest(
            status=messages.status(line),
            player=messages.finished(trace, entry, ours),
            chart=gr.update(value=speed_figure(trace.data), visible=True),
            csv=gr.update(value=csv, interactive=csv is not None),
            json=gr.update(value=json, interactive=True),
            plain=gr.update(
                interactive=ours and trace.data["settings"]["pair"] != TOY and trace.data["baseline"] is None
            ),
            trace=trace if ours else None,
        )

    def leave(self, request: gr.Request) -> None:
        """Forget a visitor who closed the page."""
        self.stop(request)
        self._shown.pop(str(request.session_hash), None)
        self._stopped.discard(str(request.session_hash))

    def stop(self, request: gr.Request) -> None:
        """Ask this visitor's run to end before its next step, or before its first."""
        visitor = str(request.session_hash)
        self._stopped.add(visitor)
        if run := self._running.get(visitor):
            run.stop()

    async def add_costs(self, request: gr.Request, trace: Trace | None) -> AsyncIterator[Update]:
        """Once a pair's timings have been measured, show what they say about the run on screen."""
        yield update()  # a generator that yields nothing would empty every output
        if trace is None or trace.data["costs"]:
            return
        key = (trace.data["settings"]["pair"], trace.data["settings"]["draft"]["name"])
        while self.shelf.is_measuring(*key):
            await asyncio.sleep(POLL_S)
            if self._shown.get(str(request.session_hash)) != trace.data["run_id"]:
                return
        if costs := self.shelf.costs(*key):
            timed = Trace({**trace.data, "costs": costs})
            yield self._whole(timed, f"{self._summary(timed)} The timings of this pair are in.")

    def time_plain_loop(self, trace: Trace | None) -> Iterator[Update]:
        """Run the plain loop with the settings of the run on screen, and show the measured speedup."""
        yield from refusing(self._time_plain_loop(trace))

    def _time_plain_loop(self, trace: Trace | None) -> Iterator[Update]:
        if trace is None:
            raise SpecVizError("There is no run to compare with: press Run first.")
        yield working("Running the plain loop with the same settings.", stoppable=False)
        given = trace.data["settings"]
        pair = self.shelf.pair(given["pair"], given["draft"]["kind"], DEFAULT_AGREEMENT)
        for line in self.shelf.lines_until_free(pair.name):
            yield working(line, stoppable=False)
        try:
            with self.shelf.unloading(pair.name):
                baseline = autoregress(pair, trace.data["prompt"]["text"], **plain_options(given))
        finally:
            self.shelf.free(pair.name)
        timed = Trace(
            {
                **trace.data,
                "tokens": dict(trace.data["tokens"]),
                "baseline": baseline,
                "costs": trace.data["costs"] or self.shelf.costs(pair.name, pair.draft_name),
            }
        )
        timed.name_tokens(pair.target.pieces)
        yield self._whole(
            timed, f"The plain loop took {baseline['ms'] / 1e3:.1f} s for {baseline['tokens']} tokens."
        )

    def open_trace(self, request: gr.Request, path: str) -> Update:
        """Show a trace from a file, JSON or CSV."""
        self._shown.pop(str(request.session_hash), None)
        return next(refusing(self._opened(path)))

    def _opened(self, path: str) -> Iterator[Update]:
        trace = read_trace(path)
        try:
            yield self._whole(trace, "Opened from a file.", ours=False)
        except (LookupError, TypeError, ValueError, ArithmeticError):
            raise SpecVizError("The trace is damaged: its numbers can't be read.") from None

    def show_recorded(self, request: gr.Request, name: str) -> Update:
        """Show a run of the gallery, and let the controls describe it."""
        self._shown.pop(str(request.session_hash), None)
        return self._recorded(name)

    def _recorded(self, name: str, drawn: bool = False) -> Update:
        try:
            trace, entry = open_recorded(name), entry_of(name)
        except SpecVizError as error:
            return (*at_rest(status=messages.status(str(error), "error")), *described(None))
        shown = list(self._whole(trace, "", ours=False, entry=entry))
        if drawn:
            shown[OUTPUTS.index("player")] = gr.skip()
        return (*shown, *described(values_of(trace.data), name))

    def describe(self, run: str | None) -> Update:
        """Return the controls as they were for the run on screen, which the browser names: one press goes back."""
        return described(json.loads(run)) if run else described(None)

    def follow_link(self, first_pair: str, opening: str | None) -> Callable[[gr.Request], Update]:
        """Return what restores the page from a link's query string, without starting a run."""

        def restore(request: gr.Request) -> Update:
            query = dict(request.query_params)
            name = query.get("recorded") or (None if "prompt" in query else opening)
            if name:
                return self._recorded(name, drawn=name == opening)
            if not any(each in query for each in NAMES):
                return (*update(), *described(None))
            try:
                values = values_in(query, first_pair)
                read_settings(*(values[each] for each in NAMES))
            except SpecVizError as error:
                return (*update(status=messages.status(str(error), "error")), *described(None))
            line = "The link's settings are in the controls: press Run."
            return (*update(status=messages.status(line)), *described(values))

        return restore

    async def greet(self) -> AsyncIterator[str]:
        """Tell how the default pair's loading goes, from the page's opening until it is done."""
        load = self.shelf.begun(DEFAULT_PAIR)
        while load and not load.done.is_set():
            yield messages.status(f"{load.line} The toy works at once.", "busy")
            await asyncio.sleep(POLL_S)
        yield messages.status(load.last_word() if load else "")

    def choose_pair(self, name: str) -> tuple[Any, ...]:
        """Return a pair's own prompt, drafts and examples, and whether it has the toy's knob."""
        drafts, examples = draft_choices(name), examples_of(name)
        return (
            examples[0],
            gr.update(choices=drafts, value=drafts[0][1]),
            gr.update(choices=examples, value=None),
            gr.update(visible=name == TOY),
        )
