"""What happens on the page: each handler checks first, then works, and answers a mistake with one sentence.

A run is a generator: its steps may each be computed in another thread, and Stop is a flag that the run looks at
between steps, because a cancelled event would lose what it had shown.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import (
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import gradio as gr

from specviz import Pair, Trace
from specviz.decoding.options import RunOptions
from specviz.decoding.run import Run
from specviz.errors import SpecVizError
from specviz.models.catalogue import DEFAULT_PAIR
from specviz.page import messages
from specviz.page.choices import draft_choices, examples_of
from specviz.page.controls import NAMES
from specviz.page.gallery import Recorded, entry_of, open_recorded
from specviz.page.link import locked_in, values_in, values_of
from specviz.page.server.runs import Runs, key_of
from specviz.page.server.shelf import POLL_S, TOY, Shelf
from specviz.page.server.zero import LentRun, begin, start_branch
from specviz.page.settings import Settings, agreement_in, options_of, read_settings
from specviz.page.step.branch import Change, check_ids, loaded, read_branch
from specviz.page.step.charts import speed_figure
from specviz.page.step.files import read_trace
from specviz.page.step.rounds import AnyRun, Rounds
from specviz.page.step.share import export, refused
from specviz.page.updates import (
    LIVE_EVERY_S,
    OUTPUTS,
    Update,
    Waiting,
    at_rest,
    described,
    in_threads,
    locking,
    refusing,
    update,
    working,
    written,
)
from specviz.record.shape import Step, TraceData, known
from specviz.record.text import rereads

MADE_BEFORE = "It was made before with these settings, and kept."


class Handlers:
    """The page's handlers: they share the loaded pairs, and know which run belongs to which visitor."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.runs = Runs()
        self._running: dict[str, AnyRun] = {}
        self._shown: dict[str, str] = {}
        self._own: dict[str, str] = {}  # the key of the run that each visitor has made, and not found here
        self._stopped: set[str] = set()

    async def run(self, request: gr.Request, *values: Any) -> AsyncIterator[Update]:
        """Run the settings `values` (in the order of `read_settings`) and show each step as it comes.

        A run that was made before is shown at once, and one that another visitor is having made is waited for.
        """
        visitor = str(request.session_hash)
        work = refusing(self.shelf.claimed(visitor, "A run", self._run(visitor, values)))
        async with aclosing(in_threads(work)) as events:
            async for event in events:
                yield event

    def _run(self, visitor: str, values: tuple[Any, ...]) -> Iterator[Update]:
        settings = read_settings(*values)
        yield self._ready(visitor)
        if not (yield from self._waited(visitor, self.shelf.lines_until_loaded(settings.pair, 0))):
            return
        pair = self.shelf.pair(settings.pair, settings.draft, settings.agreement)
        key = key_of(settings, pair)
        decoded = self._decode(visitor, settings, pair, key)
        del pair  # who only waits holds no model: where the memory runs out, it is to be let go
        if self._own.get(visitor) == key:  # who runs the same again wants another measurement
            self.runs.forget(key)
        if not (yield from self._waited(visitor, self.runs.lines_until_settled(key))):
            return
        if kept := self.runs.find(key):
            self._shown[visitor] = kept.data["run_id"]
            yield self._whole(kept, f"{self._summary(kept)} {MADE_BEFORE}")
            return
        try:
            yield from self._in_turn(visitor, settings.pair, decoded, 0)
        finally:
            self.runs.end(key)

    def _ready(self, visitor: str) -> Update:
        """Forget an earlier Stop, and say that something is about to happen."""
        self._stopped.discard(visitor)
        return working("Getting ready.")

    def _waited(self, visitor: str, lines: Iterable[str]) -> Generator[Update, None, bool]:
        """Show what is waited for; return whether it came, or else the visitor pressed Stop."""
        for line in lines:
            if visitor in self._stopped:
                yield at_rest(status=messages.status("Stopped before the first step."))
                return False
            yield Waiting(working(line))
        return True

    def _in_turn(
        self, visitor: str, pair: str, computed: Iterator[Update], pause: float = POLL_S
    ) -> Iterator[Update]:
        """Wait until a loaded pair is free, or the visitor stops; pass on what is `computed` with it; free it."""
        if not (yield from self._waited(visitor, self.shelf.lines_until_free(pair, pause))):
            return
        try:
            with self.shelf.unloading(pair):
                try:
                    yield from computed
                finally:
                    self._running.pop(visitor, None)  # before the pair is let go: it holds the models
        finally:
            self.shelf.free(pair)

    def _decode(self, visitor: str, settings: Settings, pair: Pair, key: str) -> Iterator[Update]:
        run = begin(pair, settings.prompt, self._with_costs(settings, pair))
        yield from self._follow(visitor, run)
        self.runs.keep(key, run.trace)
        self._own[visitor] = key
        yield self._whole(run.trace, self._summary(run.trace))

    def _with_costs(self, settings: Settings, pair: Pair) -> RunOptions:
        return replace(settings.options, costs=self.shelf.costs(pair.name, pair.draft_name))

    def _follow(
        self, visitor: str, run: Run | LentRun, what: str = "", steps: Iterator[Step] | None = None
    ) -> Iterator[Update]:
        """Compute a run while this visitor lets it; `what` says which run it is, for the status line.

        `steps` are the run's own, where somebody looks at them on their way.
        """
        self._runs(visitor, run)
        self._shown[visitor] = run.trace.data["run_id"]
        try:
            yield from self._watch(run, what, steps)
        except SpecVizError:
            if run.trace.data["steps"]:
                yield self._whole(run.trace, "")
            raise

    def _runs(self, visitor: str, run: AnyRun) -> None:
        """Know what is computed for a visitor, so that Stop ends it: at once where it was pressed before."""
        self._running[visitor] = run
        if visitor in self._stopped:
            run.stop()

    def _watch(self, run: Run | LentRun, what: str, steps: Iterator[Step] | None = None) -> Iterator[Update]:
        asked = run.trace.data["settings"]["max_new_tokens"]
        sent, last = 0, time.monotonic()
        for _ in steps or run:
            if time.monotonic() - last < LIVE_EVERY_S:
                continue
            line = written(what, run.trace.data["steps"][-1]["totals"]["tokens"], asked)
            yield update(status=line, player=messages.live(run.trace, sent))
            sent, last = len(run.trace.data["steps"]), time.monotonic()

    def _summary(self, trace: Trace) -> str:
        figures = trace.metrics
        said = f"{figures['tokens']} tokens in {figures['target_passes']} target passes."
        return " ".join([said, *(f"{line[0].upper()}{line[1:]}." for line in rereads(trace))])

    def branch(self, request: gr.Request, asked: gr.EventData, kept: Trace | None) -> Iterator[Update]:
        """Compute the run on screen again from one changed random number on, which the player says as for `read_branch`."""
        visitor = str(request.session_hash)
        yield from refusing(self.shelf.claimed(visitor, "A branch", self._branch(visitor, asked._data, kept)))

    def _branch(self, visitor: str, asked: object, kept: Trace | None) -> Iterator[Update]:
        parent, change = read_branch(asked, kept)
        name = parent.data["settings"]["pair"]
        if name != TOY and name not in [pair.name for pair in self.shelf.loaded()]:
            raise SpecVizError(f"The pair {name} is not loaded here: run it once, then run the branch.")
        yield self._ready(visitor)
        if not (yield from self._waited(visitor, self.shelf.lines_until_loaded(name))):
            return
        pair = self.shelf.pair(
            name, parent.data["settings"]["draft"]["kind"], agreement_in(parent.data["settings"])
        )
        decoded = self._decode_branch(visitor, parent, pair, change)
        del pair  # as in `_run`
        yield from self._in_turn(visitor, name, decoded)

    def _decode_branch(self, visitor: str, parent: Trace, pair: Pair, change: Change) -> Iterator[Update]:
        check_ids(parent, pair.target.vocab)
        run = start_branch(pair, parent, **change._asdict())
        yield from self._follow(visitor, run, "branch: ")
        yield self._whole(self._timed(run.trace.data, pair), f"Branch: {self._summary(run.trace)}")

    def race(self, request: gr.Request, *values: Any) -> Iterator[Update]:
        """Run both loops with the settings `values` in turns until their ratio is known, and show them with their times."""
        visitor = str(request.session_hash)
        yield from refusing(self.shelf.claimed(visitor, "A race", self._race(visitor, values)))

    def _race(self, visitor: str, values: tuple[Any, ...]) -> Iterator[Update]:
        settings = read_settings(*values)
        yield self._ready(visitor)
        if not (yield from self._waited(visitor, self.shelf.lines_until_loaded(settings.pair))):
            return
        pair = self.shelf.pair(settings.pair, settings.draft, settings.agreement)
        both = self._run_both(visitor, settings, pair)
        del pair  # as in `_run`
        yield from self._in_turn(visitor, settings.pair, both)

    def _run_both(self, visitor: str, settings: Settings, pair: Pair) -> Iterator[Update]:
        rounds = self._rounds(visitor, pair, settings.prompt, self._with_costs(settings, pair))
        run = rounds.begin()
        yield from self._follow(visitor, run, "race, the speculative loop first: ", rounds.steps(run))
        yield from self._raced(visitor, pair, rounds, rounds.after(run.trace), run.trace)

    def _rounds(self, visitor: str, pair: Pair, prompt: str, options: RunOptions) -> Rounds:
        return Rounds(
            pair, prompt, options, lambda run: self._runs(visitor, run), lambda: visitor in self._stopped
        )

    def _raced(
        self, visitor: str, pair: Pair, rounds: Rounds, going: Iterator[Update], shown: Trace
    ) -> Iterator[Update]:
        """Pass on a race that is `going`, and show the run with what its rounds gave."""
        try:
            yield from going
        except SpecVizError:
            yield self._whole(shown, "")
            raise
        if not rounds.has_plain:
            yield self._whole(
                shown, "The race was stopped before the plain loop's turn: this is what was run."
            )
            return
        timed = self._timed(rounds.timed(shown), pair)
        stopped = "The race was stopped: this is what was run. " if visitor in self._stopped else ""
        race: messages.Race = {"ms": rounds.plain_ms(), "stopped": not rounds.is_whole}
        yield self._whole(timed, f"{stopped}{self._plain_words(timed)}", race=race)

    def _timed(self, data: TraceData, pair: Pair) -> Trace:
        """Return a trace with its own tokens' texts, and with the pair's timings where they have come since."""
        costs = data["costs"] or self.shelf.costs(pair.name, pair.draft_name)
        timed = Trace({**data, "tokens": dict(data["tokens"]), "costs": costs})
        timed.name_tokens(pair.target.pieces)
        return timed

    def _plain_words(self, timed: Trace) -> str:
        baseline = known(timed.data["baseline"])
        return f"The plain loop took {baseline['ms'] / 1e3:.1f} s for {baseline['tokens']} tokens."

    async def tell_loaded(self) -> AsyncIterator[Any]:
        """Tell the player what is loaded, see `loaded`, and again when the default pair is."""
        yield gr.update(loaded=loaded(self.shelf))
        load = self.shelf.begun(DEFAULT_PAIR)
        if load and not load.done.is_set():
            while not load.done.is_set():
                await asyncio.sleep(POLL_S)
            yield gr.update(loaded=loaded(self.shelf))

    def _whole(
        self,
        trace: Trace,
        line: str,
        ours: bool = True,
        entry: Recorded | None = None,
        race: messages.Race | None = None,
        linked: bool = False,
    ) -> Update:
        """Show a whole run; only one of `ours`, made here, can be compared with the plain loop.

        One that is only `linked` to was made for somebody else, so that nobody has seen its end yet. `race` holds the milliseconds at which the plain loop's tokens were there, and whether it was stopped.
        """
        if ours:
            self.shelf.made.append(trace.data["run_id"])
        return at_rest(
            status=messages.status(line, tells=ours),
            player=messages.finished(trace, entry, ours and not linked, race),
            chart=gr.update(value=speed_figure(trace.data), visible=True),
            recorded=entry and entry.name,
            plain=gr.update(interactive=ours and _is_worth_timing(trace)),
            trace=trace if ours else None,
            shown=trace,
        )

    def show_made(self, request: gr.Request, trace: Trace, line: str) -> Update:
        """Show a run that a lab has made."""
        self._shown[str(request.session_hash)] = trace.data["run_id"]
        return self._whole(trace, line)

    def leave(self, request: gr.Request) -> None:
        """Forget a visitor who closed the page."""
        self.stop(request)
        self._shown.pop(str(request.session_hash), None)
        self._own.pop(str(request.session_hash), None)
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

    def time_plain_loop(self, request: gr.Request, trace: Trace | None) -> Iterator[Update]:
        """Run both loops in turns with the settings of the run on screen, and show the measured speedup."""
        visitor = str(request.session_hash)
        yield from refusing(self.shelf.claimed(visitor, "A race", self._time_plain_loop(visitor, trace)))

    def _time_plain_loop(self, visitor: str, trace: Trace | None) -> Iterator[Update]:
        if trace is None:
            raise SpecVizError("There is no run to compare with: press Run first.")
        yield self._ready(visitor)
        given = trace.data["settings"]
        pair = self.shelf.pair(given["pair"], given["draft"]["kind"], agreement_in(given))
        asked = replace(options_of(given), costs=trace.data["costs"])
        rounds = self._rounds(visitor, pair, trace.data["prompt"]["text"], asked)
        raced = self._raced(visitor, pair, rounds, rounds.again(trace), trace)
        del pair  # as in `_run`
        yield from self._in_turn(visitor, given["pair"], raced)

    def open_trace(self, request: gr.Request, path: str) -> Update:
        """Show a trace from a file, JSON or CSV."""
        self._shown.pop(str(request.session_hash), None)
        return next(refusing(self._opened(path)))

    def _opened(self, path: str) -> Iterator[Update]:
        trace = read_trace(path)
        try:
            if not trace.data["settings"]["fault"]:
                trace.to_csv()  # whoever opens a file may export it
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
        return (*shown, *described(values_of(trace.data)))

    def describe(self, asked: gr.EventData) -> Update:
        """Return the controls as they were for the run on screen, which the player says: one press goes back."""
        values = asked._data
        if not isinstance(values, dict) or not all(name in values for name in NAMES):
            return described(None)
        return described({**values, "pair": str(values["pair"])})

    def follow_link(self, first_pair: str, opening: str | None) -> Callable[[gr.Request], Update]:
        """Return what restores the page from a link's query string, without starting a run."""

        def restore(request: gr.Request) -> Update:
            query = dict(request.query_params)
            return locking(locked_in(query), linked(request, query))

        def linked(request: gr.Request, query: Mapping[str, str]) -> Update:
            name = query.get("recorded") or (None if "prompt" in query else opening)
            if name:
                return self._recorded(name, drawn=name == opening)
            if not any(each in query for each in NAMES):
                return (*update(), *described(None))
            try:
                values = values_in(query, first_pair)
                kept = self._kept(read_settings(*(values[each] for each in NAMES)))
            except SpecVizError as error:
                return (*update(status=messages.status(str(error), "error")), *described(None))
            if kept:
                self._shown[str(request.session_hash)] = kept.data["run_id"]
                shown = self._whole(kept, f"{self._summary(kept)} {MADE_BEFORE}", linked=True)
                return (*shown, *described(values))
            line = "The link's settings are in the controls: press Run."
            return (*update(status=messages.status(line)), *described(values))

        return restore

    def _kept(self, settings: Settings) -> Trace | None:
        """Return the run with these settings where it has been made; nothing is loaded or run for it."""
        if settings.pair not in [pair.name for pair in self.shelf.loaded()]:
            return None
        return self.runs.find(
            key_of(settings, self.shelf.pair(settings.pair, settings.draft, settings.agreement))
        )

    def export(self, asked: gr.EventData, kept: Trace | None) -> str:
        """Return the run on screen as a file, which the player asks for as for `share.export`, or why there is none."""
        try:
            return export(asked._data, kept)
        except SpecVizError as error:
            return refused(str(error))

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


def _is_worth_timing(trace: Trace) -> bool:
    """Whether a run's speedup can be measured and is not known yet, or not well enough. The toy has no forwards to time."""
    unknown = trace.data["baseline"] is None or trace.metrics["speedup_measured_doubt"] is not None
    return trace.data["settings"]["pair"] != TOY and unknown
