"""The plain loop against speculative ones, on one text, in rounds that take turns: a ratio that says how well it is known.

The same settings give the same passes every time, so each pass of each loop is timed once a round. A timing counts if
nothing kept the computing from the cores meanwhile; a disturbed one is replaced by the median of that pass's quiet ones. Each
round then gives a ratio, plain over speculative milliseconds a token, and their middle is the spread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar, Unpack

from specviz.decoding.options import Options, RunOptions
from specviz.decoding.plain import baseline_of, begin_plain
from specviz.decoding.recording import figures
from specviz.decoding.run import begin
from specviz.models.pairs import Pair
from specviz.record.shape import RaceTiming, Step, StepMs, TraceData
from specviz.record.trace import Trace
from specviz.speed.cores import Cores, Lap, share_waited
from specviz.timing import Spread, spread_of

FEWEST, MOST = 3, 9  # rounds
NARROW = 0.05  # a spread that is worth no further round
BUDGET_S = 8.0  # after which no round is begun but the fewest
QUIET = 2  # timings of a pass that there should be
UNSTEADY = "the rounds did not make the same passes, so they can't be compared"

Each = TypeVar("Each")
Round = list[tuple[float, Lap]]


class Lane:
    """One loop's rounds: for each of its passes in each round the milliseconds, and whether the cores were its own."""

    def __init__(self) -> None:
        self.tokens = 0
        self.rounds: list[Round] = []
        self.parts: list[list[StepMs]] = []  # of a speculative loop's steps
        self.begin()

    def begin(self) -> None:
        """Begin a round; one that was not kept is forgotten."""
        self._passes: Round = []
        self._parts: list[StepMs] = []

    def add(self, ms: float, lap: Lap, parts: StepMs | None = None) -> None:
        """Note one pass of the round that was begun."""
        self._passes.append((ms, lap))
        self._parts += [parts] if parts else []

    def keep(self) -> None:
        """Keep the round that was begun."""
        self.rounds.append(self._passes)
        self.parts.append(self._parts)
        self.begin()

    @property
    def is_steady(self) -> bool:
        """Whether every round made the same passes, as equal settings do; on some devices a rounding may differ."""
        return len({len(each) for each in self.rounds}) == 1

    def fewest_quiet(self) -> int:
        """Return how many quiet timings the pass has that has fewest of them."""
        return min((len(self._quiet(number)) for number in range(len(self.rounds[0]))), default=0)

    def ms(self) -> list[float]:
        """Return each pass's milliseconds: the median timing, of the quiet ones where there are some."""
        return [self.rounds[self._chosen(number)][number][0] for number in range(len(self.rounds[0]))]

    def parts_of(self, number: int) -> StepMs:
        """Return the parts of a step, counted from 0, in the round that `ms` takes it from."""
        return self.parts[self._chosen(number)][number]

    def totals(self) -> list[float]:
        """Return each round's milliseconds, disturbed passes taken at their median."""
        usual = self.ms()
        return [
            sum(ms if lap.is_quiet else usual[number] for number, (ms, lap) in enumerate(each))
            for each in self.rounds
        ]

    def _quiet(self, number: int) -> list[int]:
        return [at for at, each in enumerate(self.rounds) if each[number][1].is_quiet]

    def _chosen(self, number: int) -> int:
        rounds = self._quiet(number) or range(len(self.rounds))
        ordered = sorted(rounds, key=lambda at: self.rounds[at][number][0])
        return ordered[(len(ordered) - 1) // 2]


class Contest:
    """A plain loop and one or more speculative ones, each by its K, that take turns.

    Iterate over a round's loops through `steps` and `plain_steps`, and `keep` the round once all of them went to their end.
    """

    def __init__(self, ks: Sequence[int]) -> None:
        self.plain = Lane()
        self.speculative = {k: Lane() for k in ks}
        self.rounds = 0
        self._cores = Cores()
        self._begun = time.monotonic()

    def steps(self, run: Iterator[Step], k: int) -> Iterator[Step]:
        """Pass on a speculative run's steps and note their times."""
        lane = self.speculative[k]
        lane.begin()
        for step in self._timed(run):
            lane.add(step["ms"]["step"], self._cores.lap(), step["ms"])
            lane.tokens = step["totals"]["tokens"]
            yield step

    def plain_steps(self, run: Iterator[int], ms: Sequence[float]) -> Iterator[int]:
        """Do the same for a plain loop, whose tokens are there after `ms` milliseconds each, a list that grows with them."""
        self.plain.begin()
        for token in self._timed(run):
            self.plain.add(ms[-1] - (ms[-2] if len(ms) > 1 else 0.0), self._cores.lap())
            self.plain.tokens = len(ms)
            yield token

    def keep(self) -> None:
        """Keep the round whose loops have just gone to their ends."""
        for lane in self._lanes():
            lane.keep()
        self.rounds += 1

    def is_over(self) -> bool:
        """Whether no further round is needed: enough are there, and they agree or the time is up."""
        if self.rounds < FEWEST:
            return False
        if self.rounds >= MOST or time.monotonic() - self._begun > BUDGET_S or not self._is_steady():
            return True
        fewest = min(lane.fewest_quiet() for lane in self._lanes())
        return fewest >= QUIET and all(self.ratio(k).width <= NARROW for k in self.speculative)

    def ratio(self, k: int) -> Spread:
        """Return how many times as fast the loop with K drafts was, per token: the rounds' median and the middle of them."""
        lane = self.speculative[k]
        return spread_of([
            (slow / self.plain.tokens) / (fast / lane.tokens)
            for slow, fast in zip(self.plain.totals(), lane.totals(), strict=True)
        ])  # fmt: skip

    def timing(self, k: int) -> RaceTiming:
        """Return what a trace keeps of the race with K drafts, of one round or more."""
        lanes = (self.plain, self.speculative[k])
        laps = [lap for lane in lanes for each in lane.rounds for _, lap in each]
        waited = share_waited(laps)
        ratio = self.ratio(k) if self._is_steady() else Spread(0.0, 0.0, 0.0)
        return {
            "rounds": self.rounds,
            "low": figures(ratio.low),
            "high": figures(ratio.high),
            "waited": figures(waited),
            "disturbed": self._disturbed(lanes, ratio, waited),
        }

    def _disturbed(self, lanes: Sequence[Lane], ratio: Spread, waited: float) -> str | None:
        """Return why nothing may be concluded from a ratio: passes that were never undisturbed, or rounds that differ."""
        if not self._is_steady():
            return UNSTEADY
        if self.rounds < FEWEST:
            return f"only {self.rounds} of {FEWEST} rounds were run"
        if min(lane.fewest_quiet() for lane in lanes) == 0:
            return f"other work kept the computing from the cores for {waited:.0%} of the time"
        if ratio.is_wide:
            return f"from round to round it was {ratio.low:.2f}× to {ratio.high:.2f}×"
        return None

    def _is_steady(self) -> bool:
        return all(lane.is_steady for lane in self._lanes())

    def _lanes(self) -> list[Lane]:
        return [self.plain, *self.speculative.values()]

    def _timed(self, run: Iterator[Each]) -> Iterator[Each]:
        """Iterate with a lap begun right before each pass: what its reader does between two is not of the race."""
        while True:
            self._cores.begin()
            each = next(run, None)
            if each is None:
                return
            yield each


def settled(data: TraceData, token_ids: Sequence[int], contest: Contest) -> TraceData:
    """Return a run with the times of a race that it was in: of every pass those of the median round, and the ratio's spread.

    `token_ids` are the plain loop's. Where the rounds were not alike, the first one's times stay.
    """
    lane, timing = contest.speculative[data["settings"]["k"]], contest.timing(data["settings"]["k"])
    if timing["disturbed"] == UNSTEADY:
        first = [sum(ms for ms, _ in contest.plain.rounds[0])]
        return {**data, "baseline": {**baseline_of(token_ids, first), "timing": timing}}
    steps: list[Step] = [{**step, "ms": lane.parts_of(number)} for number, step in enumerate(data["steps"])]
    baseline = baseline_of(token_ids, [sum(contest.plain.ms())])
    return {**data, "steps": steps, "baseline": {**baseline, "timing": timing}}


def race(pair: Pair, prompt: str | Sequence[int], **options: Unpack[Options]) -> Trace:
    """Run both loops in turns until their ratio is known well enough, and return the run with what that gave.

    Takes what `start` takes but a baseline. The trace's `baseline` has the plain loop's times and tokens and, in `timing`, the
    rounds' spread; its steps have the times of the same rounds. At least three rounds, so it takes three times what both
    loops take.
    """
    asked = RunOptions(**options)
    contest = Contest([asked.k])
    while not contest.is_over():
        run = begin(pair, prompt, asked)
        plain = begin_plain(pair.target, prompt, asked)
        for _ in contest.steps(run, asked.k):
            pass
        for _ in contest.plain_steps(plain, plain.ms):
            pass
        contest.keep()
    timed = Trace(settled(run.trace.data, plain.token_ids, contest))
    timed.name_tokens(pair.target.pieces)
    return timed
