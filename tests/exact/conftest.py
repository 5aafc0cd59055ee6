"""Adds up what the enumerations found and prints it at the end of the run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from specviz.exactness import Enumeration, total_variation


@dataclass
class Tally:
    """How many laws were enumerated, over how many paths, the largest difference, and the seconds it took."""

    laws: int = 0
    paths: int = 0
    largest: float = 0.0
    seconds: float = 0.0
    began: float = field(default_factory=time.perf_counter)

    def compare(self, found: Enumeration, own: dict[tuple[int, ...], float]) -> float:
        """Return the total variation between an enumerated law and the target's own, and count it."""
        off = total_variation(found.law, own)
        self.laws, self.paths = self.laws + 1, self.paths + found.paths
        self.largest = max(self.largest, off)
        return off


TALLY = Tally()


@pytest.fixture
def tally() -> Iterator[Tally]:
    began = time.perf_counter()
    yield TALLY
    TALLY.seconds += time.perf_counter() - began


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TALLY.laws:
        terminalreporter.write_line(
            f"exactness: {TALLY.laws} laws enumerated over {TALLY.paths:,} paths, largest total variation "
            f"{TALLY.largest:.2g}, {TALLY.seconds:.0f} s"
        )
