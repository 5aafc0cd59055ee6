"""Whether the threads that compute had the processor's cores to themselves.

Noise comes in bursts, and a burst only ever makes a timing longer. Linux counts for every thread how long it was ready
to run and had no core (`/proc/PID/task/TID/schedstat`, the second number, nanoseconds); that is nearly nothing on a quiet machine
and as long as the delay on a busy one. It also tells of other runs of this process. Elsewhere a thread's own CPU time
against the clock says the same, of the calling thread alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

TASKS = Path("/proc/self/task")
COMPUTES = 0.1  # a thread that ran for this share of a lap takes part in the computing
SHORTEST_MS = 5.0  # shorter laps say nothing about who computes
USUAL_MS, USUAL_SHARE = 0.5, 0.02  # waits that a quiet machine has too: waking up, the clock's own interrupt


class Lap(NamedTuple):
    """A stretch of time: how long it was, and how long threads that compute waited for a core in it, in milliseconds."""

    ms: float
    waited_ms: float

    @property
    def is_quiet(self) -> bool:
        """Whether nothing kept the computing from the cores but what a quiet machine has too."""
        return self.waited_ms <= USUAL_MS + USUAL_SHARE * self.ms


def share_waited(laps: Sequence[Lap]) -> float:
    """Return which share of some laps, from 0 to 1, the computing waited; threads that wait at once count as one at most."""
    whole_ms = sum(lap.ms for lap in laps)
    return min(1.0, sum(lap.waited_ms for lap in laps) / whole_ms) if whole_ms else 0.0


class Cores:
    """Tells, lap by lap, how long the computing waited for a core; begin a lap in the thread that will compute."""

    def __init__(self) -> None:
        self._computing: set[str] = set()
        self.begin()

    def begin(self) -> None:
        """Begin a lap here."""
        self._threads = _times()
        self._began, self._own = time.perf_counter(), time.thread_time()

    def lap(self) -> Lap:
        """Return the lap that ends here, and begin the next one."""
        ms = (time.perf_counter() - self._began) * 1e3
        off_ms = max(0.0, ms - (time.thread_time() - self._own) * 1e3)
        before, self._threads = self._threads, _times()
        waited_ms = 0.0
        for thread, (ran, waited) in self._threads.items():
            ran_before, waited_before = before.get(thread, (ran, waited))
            if ms >= SHORTEST_MS and ran - ran_before >= COMPUTES * ms:
                self._computing.add(thread)
            if thread in self._computing:
                waited_ms += waited - waited_before
        self._began, self._own = time.perf_counter(), time.thread_time()
        return Lap(ms, waited_ms if self._threads else off_ms)


def _times() -> dict[str, tuple[float, float]]:
    """Return, for every thread of this process, its milliseconds on a core and waiting for one; empty where nobody tells."""
    found = {}
    try:
        threads = os.listdir(TASKS)
    except OSError:
        return {}
    for thread in threads:
        try:
            ran, waited, _ = (TASKS / thread / "schedstat").read_text(encoding="ascii").split()
        except (OSError, ValueError):  # it ended meanwhile, or this kernel does not count
            continue
        found[thread] = int(ran) / 1e6, int(waited) / 1e6
    return found
