"""A race on the page: the two loops take turns until their ratio is known well enough, and say meanwhile how far they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

from specviz import Pair, Trace
from specviz.decoding.options import RunOptions
from specviz.decoding.plain import PlainRun, baseline_of
from specviz.decoding.run import Run
from specviz.errors import SpecVizError
from specviz.page.server.zero import LentPlainRun, LentRun, begin, begin_plain
from specviz.page.updates import LIVE_EVERY_S, Update, update, written
from specviz.record.shape import Step, TraceData
from specviz.speed.contest import FEWEST, Contest, settled

Each = TypeVar("Each")
AnyPlain = PlainRun | LentPlainRun
AnyRun = Run | LentRun | AnyPlain

OTHER_TEXT = (
    "With this run's settings this machine comes to another text: it rounds otherwise than the one that the run began on, so "
    "there is nothing here to compare it with. Press Run, and time the run that this gives."
)


class Rounds:
    """One race: what was run of it, and what follows. `begun` hears of every loop as it begins, `is_stopped` ends them all."""

    def __init__(
        self,
        pair: Pair,
        prompt: str,
        options: RunOptions,
        begun: Callable[[AnyRun], None],
        is_stopped: Callable[[], bool],
    ) -> None:
        self._pair, self._prompt, self._options = pair, prompt, options
        self._begun, self._is_stopped = begun, is_stopped
        self._contest = Contest([options.k])
        self._plain: AnyPlain | None = None

    def begin(self) -> Run | LentRun:
        """Prepare the speculative loop of a round."""
        run = begin(self._pair, self._prompt, self._options)
        self._begun(run)
        return run

    def steps(self, run: Run | LentRun) -> Iterator[Step]:
        """Pass on the steps of such a loop, and note how long they take."""
        return self._contest.steps(run, self._options.k)

    def after(self, shown: Trace) -> Iterator[Update]:
        """Run what follows the first speculative loop, whose trace is `shown`: its plain loop, and further rounds."""
        yield from self._plain_loop()
        while not self._is_stopped():
            self._contest.keep()
            if self._contest.is_over():
                return
            yield from self._speculative_loop(shown)
            if not self._is_stopped():
                yield from self._plain_loop()

    def again(self, shown: Trace) -> Iterator[Update]:
        """Run all rounds for a run that is on screen; raises SpecVizError where its settings give another text here."""
        yield from self._speculative_loop(shown)
        if not self._is_stopped():
            yield from self.after(shown)

    def _speculative_loop(self, shown: Trace) -> Iterator[Update]:
        run = self.begin()
        for step in _now_and_then(self._as_far_as(shown, run)):
            yield self._line("the speculative loop", step["totals"]["tokens"])
        if not self._is_stopped() and run.trace.token_ids != shown.token_ids:
            raise SpecVizError(OTHER_TEXT)

    def _as_far_as(self, shown: Trace, run: Run | LentRun) -> Iterator[Step]:
        """Pass on a run's steps until it has written as much as the one that is shown, which may have been stopped."""
        for step in self.steps(run):
            yield step
            if step["totals"]["tokens"] >= len(shown.token_ids):
                run.stop()

    def _plain_loop(self) -> Iterator[Update]:
        # A branch's changed number belongs to a step, and the plain loop has other steps.
        plain = begin_plain(self._pair, self._prompt, replace(self._options, overrides={}))
        if self._plain is None:
            self._plain = plain
        self._begun(plain)
        for _ in _now_and_then(self._contest.plain_steps(plain, plain.ms)):
            yield self._line("the plain loop", len(plain.token_ids))

    def _line(self, loop: str, tokens: int) -> Update:
        number = self._contest.rounds + 1
        which = (
            f"round {number} of at least {FEWEST}"
            if number <= FEWEST
            else f"round {number}, because they differ"
        )
        return update(status=written(f"race, {which}, {loop}: ", tokens, self._options.max_new_tokens))

    @property
    def has_plain(self) -> bool:
        """Whether the plain loop has written anything."""
        return self._plain is not None and bool(self._plain.token_ids)

    def plain_ms(self) -> list[float]:
        """Return when each token of the plain loop was there, in milliseconds: in the median round, or as far as it came."""
        if self._contest.rounds or self._plain is None:
            return list(accumulate(self._contest.plain.ms()))
        return self._plain.ms

    def timed(self, shown: Trace) -> TraceData:
        """Return the run's data with what the rounds gave; where none went to its end, with the plain loop as far as it came."""
        plain = self._plain
        if plain is None:
            return shown.data
        if self._contest.rounds:
            return settled(shown.data, plain.token_ids, self._contest)
        return {**shown.data, "baseline": baseline_of(plain.token_ids, plain.ms)}

    @property
    def is_whole(self) -> bool:
        """Whether the plain loop went to its end at least once."""
        return self._contest.rounds > 0


def _now_and_then(passes: Iterator[Each]) -> Iterator[Each]:
    last = 0.0
    for each in passes:
        if time.monotonic() - last >= LIVE_EVERY_S:
            yield each
            last = time.monotonic()
