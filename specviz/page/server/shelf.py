"""Loaded pairs, kept in one place: each is loaded once, and one run at a time uses a model.

Loading and measuring happen in threads of their own, so that the page opens at once; whoever waits gets lines to show.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread, main_thread
from typing import TypeVar

from specviz import Pair, load_pair, with_draft
from specviz.bounds import MOST_ROWS
from specviz.errors import OutOfMemory, SpecVizError
from specviz.models import catalogue
from specviz.models.devices import release_memory
from specviz.page.server import zero
from specviz.record.shape import Costs
from specviz.speed.costs import measure_in_rounds

POLL_S = 0.2
IDLE_S = 5.0
MOST_LOADED = 3
MADE_KEPT = 4096
TOY = "toy"

T = TypeVar("T")

log = logging.getLogger(__name__)


class Load:
    """A pair that is being loaded, or was: its latest line, and in the end the pair or what went wrong."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.title = catalogue.CATALOGUE[name].title
        self.line = f"Loading {self.title}."
        self.pair: Pair | None = None
        self.error: str | None = None
        self.done = Event()

    def work(self) -> None:
        """Load the pair; only the default pair's weights are fetched where they are missing."""
        try:
            self.pair = load_pair(
                self.name,
                device=zero.device_for(self.name, catalogue.DEFAULT_PAIR),
                progress=self._progress if self.name == catalogue.DEFAULT_PAIR else None,
            )
        except SpecVizError as error:
            self.error = str(error)
        except Exception as error:
            log.exception("loading %s failed", self.name)
            self.error = (
                f"{self.name} could not be loaded ({type(error).__name__}): the server's log says why."
            )
        self.done.set()

    def last_word(self) -> str:
        """Return how it ended."""
        return f"{self.title} is not ready: {self.error}" if self.error else f"{self.title} is ready."

    def _progress(self, line: str) -> None:
        self.line = line


class Shelf:
    """The loaded pairs, their measured costs, whose turn it is, and the ids of the runs `made` in this process."""

    def __init__(self) -> None:
        self._loads: OrderedDict[str, Load] = OrderedDict()
        self._costs: dict[tuple[str, str], Costs] = {}
        self._measuring: set[tuple[str, str]] = set()
        self._doing: dict[str, str] = {}
        self.made: deque[str] = deque(maxlen=MADE_KEPT)
        self._lock = Lock()
        self._turn = Lock()
        self._line: list[object] = []  # who waits for a turn, the next one first
        self._last_use = time.monotonic()

    def load(self, name: str) -> Load:
        """Return a pair's load, begun if it has not been or has failed; the pairs unused for longest are let go."""
        with self._lock:
            known = self._loads.get(name)
            if known is None or known.error:
                known = self._loads[name] = Load(name)
                Thread(target=self._work, args=(known,), daemon=True).start()
            self._loads.move_to_end(name)
            while len(self._loads) > MOST_LOADED:
                self._loads.popitem(last=False)
            return known

    def load_here(self, name: str) -> None:
        """Load a pair in this thread and lend its runs to ZeroGPU, before the page is served."""
        load = self._loads[name] = Load(name)
        load.work()
        if load.pair:
            zero.lend(load.pair)

    def begun(self, name: str) -> Load | None:
        """Return a pair's load if there is one."""
        return self._loads.get(name)

    def loaded(self) -> list[Pair]:
        """Return the pairs that are loaded now."""
        with self._lock:
            return [load.pair for load in self._loads.values() if load.pair]

    def _work(self, load: Load) -> None:
        load.work()
        self._last_use = time.monotonic()
        if load.pair:
            self._measure_soon(load.pair)

    def lines_until_loaded(self, name: str, pause: float = POLL_S) -> Iterator[str]:
        """Yield what is going on until a pair is loaded; raises SpecVizError where it can't be.

        Here and below, `pause` is how long a thread is held between two lines; with 0 it is the caller who pauses.
        """
        load = self.load(name)
        while not load.done.wait(pause):
            yield load.line
        if load.error:
            raise SpecVizError(load.error)

    def pair(self, name: str, draft: str, agreement: float) -> Pair:
        """Return a loaded pair with a draft, loading it first where it is not; raises SpecVizError."""
        load = self.load(name)
        load.done.wait()
        if load.pair is None:
            raise SpecVizError(load.error or f"{name} could not be loaded.")
        if draft == load.pair.draft_kind and name != TOY:
            return load.pair
        pair = with_draft(load.pair, draft, agreement=agreement)
        self._measure_soon(pair)
        return pair

    def pair_here(self, name: str, draft: str, agreement: float) -> Pair:
        """Return what `pair` does, to compute with in this process; raises SpecVizError where its GPU is only lent."""
        pair = self.pair(name, draft, agreement)
        if zero.is_lent(pair):
            raise SpecVizError(
                "This Space's GPU is lent for one run at a time, so nothing can be measured or compared on it: duplicate "
                "the Space on a CPU, or run SpecViz on your own machine."
            )
        return pair

    def lines_until_free(self, name: str, pause: float = POLL_S) -> Iterator[str]:
        """Yield what is going on until it is the caller's turn to use a pair; `free` ends the turn. The toy needs none.

        Turns are given in the order in which they were asked for.
        """
        if name == TOY:
            return
        place = object()
        self._line.append(place)
        try:
            while not (self._line[0] is place and self._turn.acquire(timeout=pause)):
                yield "Waiting for the model: another run, or the timing of this pair, comes first."
                time.sleep(pause)
        finally:
            self._line.remove(place)

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Hold the turn to use a pair for the length of a block, waiting for it first."""
        for _ in self.lines_until_free(name):
            pass
        try:
            yield
        finally:
            self.free(name)

    def free(self, name: str) -> None:
        """End the turn that `lines_until_free` gave."""
        if name != TOY:
            self._last_use = time.monotonic()
            self._turn.release()

    def claimed(self, visitor: str, what: str, work: Iterator[T]) -> Iterator[T]:
        """Pass on what a visitor's work yields; raises SpecVizError where other work of theirs is going."""
        with self._lock:
            if other := self._doing.get(visitor):
                raise SpecVizError(f"{other} is going on: stop it, or wait until it has ended.")
            self._doing[visitor] = what
        try:
            yield from work
        finally:
            self._doing.pop(visitor, None)

    @contextmanager
    def unloading(self, name: str) -> Iterator[None]:
        """Where a block ends because the memory ran out, let its pair go: the next run finds room and loads it again."""
        try:
            yield
        except OutOfMemory as error:
            traceback.clear_frames(error.__traceback__)  # they hold the run, and with it the caches
            with self._lock:
                self._loads.pop(name, None)
            release_memory()
            raise

    def costs(self, name: str, draft: str) -> Costs | None:
        """Return what was measured for a pair and the name of its draft, or None where it has not been."""
        return self._costs.get((name, draft))

    def is_measuring(self, name: str, draft: str) -> bool:
        """Whether the costs of a pair with this draft are being measured, or will be."""
        return (name, draft) in self._measuring

    def _measure_soon(self, pair: Pair) -> None:
        # Not a daemon: the interpreter would end in the middle of a forward, and the process would abort.
        Thread(target=self._measure, args=(pair,), daemon=False).start()

    def _measure(self, pair: Pair) -> None:
        """Measure a pair's costs once, when nobody has wanted a model for a while. The toy has no forwards to time."""
        key = (pair.name, pair.draft_name)
        with self._lock:
            if pair.name == TOY or zero.is_lent(pair) or key in self._costs or key in self._measuring:
                return
            self._measuring.add(key)
        try:
            while self._waits_for_peace(pair) and not self._is_measured(pair):
                pass
        finally:
            self._measuring.discard(key)

    def _waits_for_peace(self, pair: Pair) -> bool:
        """Take the turn when nobody has wanted a model for a while; return False where the pair was let go meanwhile."""
        while self._holds(pair) and main_thread().is_alive():
            if self._idle() and self._turn.acquire(timeout=POLL_S):
                return True
            time.sleep(POLL_S)
        return False

    def _is_measured(self, pair: Pair) -> bool:
        """Measure a pair in the turn that was taken; return False where somebody came who waits for a run.

        That run comes first, and it would disturb the timings.
        """
        try:
            if (pair.name, pair.draft_name) not in self._costs:
                for _ in self._measured(pair):
                    if self._line or not main_thread().is_alive():
                        return False
        except SpecVizError:
            log.exception("the timings of %s could not be measured", pair.name)
        finally:
            self._turn.release()
        return True

    def _measured(self, pair: Pair) -> Iterator[float]:
        """Measure a pair's costs and keep them; yield after every forward which share of it is done."""
        self._costs[pair.name, pair.draft_name] = yield from measure_in_rounds(pair)

    def lines_until_measured(self, pair: Pair) -> Iterator[tuple[str, float | None]]:
        """Yield what is going on, and which share of it is done, until a pair's costs have been measured anew."""
        for line in self.lines_until_free(pair.name):
            yield line, None
        told = 0.0
        try:
            with self.unloading(pair.name):
                for share in self._measured(pair):
                    if time.monotonic() - told >= POLL_S:
                        told = time.monotonic()
                        yield (
                            f"Measuring: a target pass over 1 to {MOST_ROWS} rows, a draft forward, a step's rest.",
                            share,
                        )
        finally:
            self.free(pair.name)

    def _holds(self, pair: Pair) -> bool:
        """Whether a pair is still loaded here: one that was let go is not to be kept for its timings' sake."""
        return any(load.pair and load.pair.target is pair.target for load in list(self._loads.values()))

    def _idle(self) -> bool:
        return not self._line and time.monotonic() - self._last_use > IDLE_S
