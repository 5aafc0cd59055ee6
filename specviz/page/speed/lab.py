"""What happens in the tab "Speed": each figure with where it was measured, what follows from it, and the sweep.

A figure is called measured only where this process measured it; what a trace brings along is called recorded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from threading import Event
from typing import Any

import gradio as gr

from specviz import Sampling, Trace
from specviz.bounds import MAX_K, real, whole
from specviz.errors import SpecVizError
from specviz.models import catalogue
from specviz.models.pairs import Pair
from specviz.page import messages
from specviz.page.messages import Card
from specviz.page.server.shelf import TOY, Shelf
from specviz.page.settings import agreement_in, one_of, read_prompt
from specviz.page.speed.charts import (
    Ran,
    map_figure,
    passes_figure,
    positions_figure,
    speedup_figure,
    tokens_figure,
)
from specviz.page.speed.words import (
    NO_FORWARDS,
    Timing,
    acceptance_card,
    bounds_in_words,
    compared,
    figures_of,
    passes_card,
    provenance,
    shares_kept,
    sweep_panel,
    timing_cards,
    timing_of,
    verdict,
)
from specviz.page.updates import LIVE_EVERY_S, Update, refusing
from specviz.record.shape import RunSettings, TraceData, known
from specviz.speed.sweep import Cell, Task, blocks, sweep
from specviz.timing import Spread

EXAMPLE = {"alpha": 0.8, "c": 0.05, "k": 4}
SWEEP_S = 60.0
TOKENS = (16, 64)
OUTPUTS = (
    "status", "cards", "passes", "positions", "tokens", "speedup", "map", "verdict", "alpha", "c", "k", "prompt", "measure",
)  # fmt: skip
EXPLORED = ("tokens", "speedup", "map", "verdict")
SWEPT = ("status", "grid", "sweep", "stop")
DISTURBED = "The pair's timings are in doubt, so the curves take v = 1 and o = 0, and no K is called the best: measure again."
NO_RUN = "No run is on screen yet: press Run in the tab Step through, or choose a recorded run there."


class SpeedLab:
    """The tab's handlers; they share the shelf with the runs, and one visitor does one thing at a time."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._going: dict[str, Event] = {}

    # --- what is known

    def open(self, trace: Trace | None, seen: tuple[float, ...] | None, *sliders: Any) -> Update:
        """Show what is known of the run on screen; the sliders go to its values unless they were moved since they last did.

        `seen` is what they were set to; returns it anew, and the rest.
        """
        return next(
            refusing(self._opened(trace, seen, sliders), lambda line: (seen, *self._update(status=line)))
        )

    def _opened(
        self, trace: Trace | None, seen: tuple[float, ...] | None, sliders: Sequence[Any]
    ) -> Iterator[Update]:
        if trace is None:
            yield (seen, *self._without_run())
            return
        own = self._own(trace)
        moved = seen is not None and seen[0] == trace.data["run_id"] and seen[1:] != tuple(sliders)
        shown = tuple(sliders) if moved else own
        yield (
            seen if moved else (trace.data["run_id"], *own),
            *self._known(trace, "", shown, prompt=trace.data["prompt"]["text"]),
        )

    def _without_run(self) -> Update:
        hidden = gr.update(visible=False)
        example = f"α = {EXAMPLE['alpha']:.2f}, c = {EXAMPLE['c']:.2f}, K = {EXAMPLE['k']}"
        cards = messages.panel(
            lines=[NO_RUN, f"Until then the curves below stand for an example: {example}."]
        )
        return self._update(
            status=messages.status(""), cards=cards, passes=hidden, positions=hidden, measure=gr.update(interactive=False),
            **dict(zip(EXPLORED, self.explore(None, *EXAMPLE.values()), strict=True)), **EXAMPLE,
        )  # fmt: skip

    def _own(self, trace: Trace) -> tuple[float, ...]:
        """Return the sliders' values for a run: its acceptance, c and K, an example's where one is unknown."""
        timing = timing_of(trace.data, self.shelf)
        alpha = figures_of(trace.data, timing)["acceptance_examined"]
        return (
            round(EXAMPLE["alpha"] if alpha is None else alpha, 2),
            round(min(1.0, timing.c), 2) if timing else EXAMPLE["c"],
            min(MAX_K, max(1, trace.data["settings"]["k"])),
        )

    def _known(self, trace: Trace, line: str, sliders: tuple[Any, ...], **more: Any) -> Update:
        data, timing = trace.data, timing_of(trace.data, self.shelf)
        figures, shares = figures_of(data, timing), shares_kept(data["steps"])
        alpha, _, k = self._own(trace)
        if data["settings"]["fault"]:
            line = f"This run was made with a deliberate mistake ({data['settings']['fault']}): its acceptance is not the pair's."
        return self._update(
            status=messages.status(line),
            cards=messages.panel(self._cards(data, figures, timing), lines=provenance(data, timing)),
            passes=_shown(passes_figure(timing.costs, int(k)) if timing else None),
            positions=_shown(positions_figure(shares, alpha) if shares else None),
            measure=gr.update(
                interactive=data["settings"]["pair"] != TOY, value="Measure again" if timing and timing.here else "Measure this pair"
            ),
            **dict(zip(EXAMPLE, sliders, strict=True)),
            **dict(zip(EXPLORED, self.explore(trace, *sliders), strict=True)),
            **more,
        )  # fmt: skip

    def _update(self, **values: Any) -> Update:
        return tuple(values.get(name, gr.skip()) for name in OUTPUTS)

    def _cards(self, data: TraceData, figures: Mapping[str, Any], timing: Timing | None) -> list[Card]:
        k = min(data["settings"]["k"], MAX_K)
        return [
            acceptance_card(figures),
            *timing_cards(timing, k),
            passes_card(figures),
            self._speedup_card(data, figures, timing),
        ]

    def _speedup_card(self, data: TraceData, figures: Mapping[str, Any], timing: Timing | None) -> Card:
        here = data["run_id"] in self.shelf.made
        measured = None if data["settings"]["pair"] == TOY else figures["speedup_measured"]
        if measured is None:
            note = "Press “Time the plain loop” under the run: it needs the same text without a draft."
            return Card("measured speedup", None, (note,))
        tone = "measured" if here else "recorded"
        where = "measured here, in this process" if here else "recorded, not measured here"
        if doubt := figures["speedup_measured_doubt"]:
            again = "Press “Time the plain loop” under the run." if here else where
            return Card(f"{tone} speedup", f"~ {measured:.2f}×", (f"In doubt: {doubt}.", again), "disturbed")
        bounds = Spread(measured, figures["speedup_measured_low"], figures["speedup_measured_high"])
        rounds = known(data["baseline"])["timing"]["rounds"]
        notes = [f"{bounds_in_words(bounds)} in {rounds} rounds: {compared(*bounds)}."]
        if timing and figures["speedup_modelled"] and not figures["speedup_modelled_doubt"]:
            notes.append(f"From c, v and o: {figures['speedup_modelled']:.2f}×.")
        return Card(f"{tone} speedup", f"{measured:.2f}×", (*notes, where), tone)

    # --- what would be

    def moved(self, trace: Trace | None, alpha: Any, c: Any, k: Any) -> Update:
        """Return what `explore` does for sliders that were moved; a value that can't be used is answered with a sentence."""
        try:
            return self.explore(trace, alpha, c, k)
        except SpecVizError as error:
            return (*(gr.skip() for _ in EXPLORED[:-1]), messages.panel(lines=[str(error)]))

    def explore(self, trace: Trace | None, alpha: Any, c: Any, k: Any) -> Update:
        """Draw the curves and the map for the sliders' acceptance, c and K; v and o are the pair's where they are known."""
        alpha, c = real("The acceptance", alpha, 0, 1), real("c", c, 0, 1)
        k = whole("K", k, 1, MAX_K)
        timing = timing_of(trace.data, self.shelf) if trace else None
        figures = figures_of(trace.data, timing) if trace else None
        own = _own_point(figures, timing)
        sure = timing if timing and not timing.doubt else None
        verify, rest = (sure.verify, sure.rest) if sure else (None, 0.0)
        v = verify[k] if verify else 1.0
        is_theirs = timing is not None and timing is not sure and c == round(min(1.0, timing.c), 2)
        lines = [DISTURBED] if is_theirs else verdict(alpha, c, k, sure)
        return (
            tokens_figure(alpha, k, self._ran(trace, figures, "tokens_per_pass", "this run")),
            speedup_figure(
                alpha, c, verify, rest, k, self._ran(trace, figures, "speedup_measured"), is_theirs
            ),
            map_figure(k, v, rest, (alpha, c), own),
            messages.panel(lines=lines),
        )

    def _ran(
        self, trace: Trace | None, figures: Mapping[str, Any] | None, name: str, words: str | None = None
    ) -> Ran | None:
        """Return a figure of the run on screen; a speedup of the toy, which has no forwards to time, is none."""
        if trace is None or figures is None or figures[name] is None or not trace.data["settings"]["k"]:
            return None
        if words is None and (trace.data["settings"]["pair"] == TOY or figures[f"{name}_doubt"]):
            return None
        made = "measured" if trace.data["run_id"] in self.shelf.made else "recorded"
        return Ran(min(trace.data["settings"]["k"], MAX_K), figures[name], words or made)

    # --- measuring

    def measure(self, request: gr.Request, trace: Trace | None) -> Iterator[Update]:
        """Measure the costs of the pair on screen, now, and show them."""
        visitor = str(request.session_hash)
        events = self.shelf.claimed(visitor, "A measurement", self._measure(trace))
        yield from refusing(events, lambda line: self._update(status=line))

    def _measure(self, trace: Trace | None) -> Iterator[Update]:
        if trace is None:
            raise SpecVizError(NO_RUN)
        if trace.data["settings"]["pair"] == TOY:
            raise SpecVizError(f"{NO_FORWARDS} Run another pair first.")
        for line in self.shelf.lines_until_loaded(_name(trace.data)):
            yield self._update(status=messages.status(line, "busy"))
        for line, share in self.shelf.lines_until_measured(self._pair(trace.data)):
            yield self._update(status=messages.status(line, "busy", share))
        yield self._known(trace, "Measured just now.", self._own(trace))

    def _pair(self, data: TraceData) -> Pair:
        """Return a run's pair, which is loaded; raises SpecVizError where its draft is another one here."""
        settings = data["settings"]
        kind = one_of("draft", settings["draft"]["kind"], catalogue.DRAFT_KINDS)
        pair = self.shelf.pair_here(_name(data), kind, agreement_in(settings))
        if pair.draft_name != settings["draft"]["name"]:
            raise SpecVizError(
                f"This trace's draft, {settings['draft']['name'][:40]}, is not here: run the pair here first."
            )
        return pair

    # --- the sweep

    def sweep(self, request: gr.Request, trace: Trace | None, prompt: Any, tokens: Any) -> Iterator[Update]:
        """Run a prompt with every K at every temperature; what was measured stays when it ends early."""
        visitor = str(request.session_hash)
        events = self.shelf.claimed(visitor, "A sweep", self._sweep(visitor, trace, prompt, tokens))
        yield from refusing(events, lambda line: (line, gr.skip(), *_buttons(going=False)))

    def _sweep(self, visitor: str, trace: Trace | None, prompt: Any, tokens: Any) -> Iterator[Update]:
        if trace is None:
            raise SpecVizError(NO_RUN)
        task, stopped = _task(trace.data["settings"], prompt, tokens), Event()
        self._going[visitor] = stopped
        try:
            yield from self._run_cells(trace, task, stopped)
        finally:
            self._going.pop(visitor, None)

    def _run_cells(self, trace: Trace, task: Task, stopped: Event) -> Iterator[Update]:
        yield (messages.status("Getting ready.", "busy"), messages.panel(), *_buttons(going=True))
        for line in self.shelf.lines_until_loaded(_name(trace.data)):
            yield self._swept(line)
        pair = self._pair(trace.data)
        for line in self.shelf.lines_until_free(pair.name):
            if stopped.is_set():
                yield (messages.status("Stopped before the first cell."), gr.skip(), *_buttons(going=False))
                return
            yield self._swept(line)
        try:
            with self.shelf.unloading(pair.name):
                yield from self._cells(pair, task, stopped)
        finally:
            self.shelf.free(pair.name)

    def _cells(self, pair: Pair, task: Task, stopped: Event) -> Iterator[Update]:
        begin, order, is_toy = time.monotonic(), blocks(), pair.name == TOY
        every = sum(len(ks) for _, ks in order)
        measured: dict[tuple[float, int], Cell] = {}

        def may_go_on() -> bool:
            return not stopped.is_set() and time.monotonic() - begin < SWEEP_S

        told = 0.0
        for cells in sweep(pair, task, may_go_on, order):
            if not cells and time.monotonic() - told < LIVE_EVERY_S:
                continue
            told = time.monotonic()
            measured |= {(cell.temperature, cell.k): cell for cell in cells}
            share = max(len(measured) / every, (time.monotonic() - begin) / SWEEP_S)
            line = messages.status(f"{len(measured)} of {every} cells", "busy", min(1.0, share))
            yield (line, sweep_panel(list(measured.values()), is_toy), gr.skip(), gr.skip())
        line = f"{len(measured)} of {every} cells measured"
        if len(measured) < every:
            line += ": stopped by you" if stopped.is_set() else ": the minute was over"
        panel = sweep_panel(list(measured.values()), is_toy)
        yield (messages.status(f"{line}."), panel, *_buttons(going=False))

    def _swept(self, line: str) -> Update:
        return (messages.status(line, "busy"), gr.skip(), gr.skip(), gr.skip())

    def stop(self, request: gr.Request) -> None:
        """Ask this visitor's sweep to end before its next step, if one is going."""
        if stopped := self._going.get(str(request.session_hash)):
            stopped.set()


def _shown(figure: Any) -> Any:
    return gr.update(visible=False) if figure is None else gr.update(value=figure, visible=True)


def _own_point(figures: Mapping[str, Any] | None, timing: Timing | None) -> tuple[float, float] | None:
    """Return (alpha, c) of the run on screen as the sliders have them, None where either is unknown."""
    if figures is None or timing is None or figures["acceptance_examined"] is None:
        return None
    return round(figures["acceptance_examined"], 2), round(min(1.0, timing.c), 2)


def _task(settings: RunSettings, prompt: Any, tokens: Any) -> Task:
    low, high = TOKENS
    return Task(
        prompt=read_prompt(prompt),
        sampling=Sampling(top_k=settings["top_k"], top_p=settings["top_p"]),
        seed=settings["seed"],
        chat=settings["chat"],
        tokens=whole("The tokens of a cell", tokens, low, high),
    )


def _buttons(going: bool) -> tuple[Any, Any]:
    return gr.update(visible=not going), gr.update(visible=going)


def _name(data: TraceData) -> str:
    """Return the name of a run's pair; raises SpecVizError where there is no such pair here."""
    return one_of("pair", data["settings"]["pair"], catalogue.CATALOGUE)
