"""Adds up what the enumerations found, over all the processes of a run, and prints it at its end."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import pytest

from specviz.exactness.enumeration import Enumeration, total_variation


@dataclass
class Tally:
    """How many laws were enumerated, over how many paths, the largest difference, and the seconds it took."""

    laws: int = 0
    paths: int = 0
    largest: float = 0.0
    seconds: float = 0.0

    def compare(self, found: Enumeration, own: dict[tuple[int, ...], float]) -> float:
        """Return the total variation between an enumerated law and the target's own, and count it."""
        off = total_variation(found.law, own)
        self.add(1, found.paths, off, 0.0)
        return off

    def add(self, laws: int, paths: int, largest: float, seconds: float) -> None:
        """Count what somebody else has found."""
        self.laws, self.paths, self.seconds = self.laws + laws, self.paths + paths, self.seconds + seconds
        self.largest = max(self.largest, largest)


TALLY = Tally()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand this process's tally to the one that prints."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tally"] = asdict(TALLY)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the tally of a process that has ended."""
    TALLY.add(**getattr(node, "workeroutput", {}).get("tally", {}) or asdict(Tally()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was found."""
    if TALLY.laws:
        terminalreporter.write_line(
            f"exactness: {TALLY.laws} laws enumerated over {TALLY.paths:,} paths, largest total variation "
            f"{TALLY.largest:.2g}, {TALLY.seconds:.0f} s"
        )
