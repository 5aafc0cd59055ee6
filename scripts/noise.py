"""Bursts of work on every core, to run tests beside: what passes alone may fail where the machine is busy by fits.

    python -m scripts.noise --seconds 600 &
    python -m pytest -q tests/browser
    kill %1

Each core is busy and idle in turn, for 0.05 to 1.5 seconds each, at random; the same seed gives the same bursts.
It ends by itself after --seconds, and at once at Ctrl-C or when it is told to (SIGTERM). It needs nothing but Python.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import time

BUSY_S = (0.05, 1.5)
IDLE_S = (0.05, 1.5)


def bursts(seconds: float, seed: str) -> None:
    """Work and rest in turn until the time is over, or until the process that asked for it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    draw, parent, end = random.Random(seed), os.getppid(), time.monotonic() + seconds
    while time.monotonic() < end and os.getppid() == parent:
        _work(min(end, time.monotonic() + draw.uniform(*BUSY_S)))
        time.sleep(max(0.0, min(draw.uniform(*IDLE_S), end - time.monotonic())))


def _work(until: float) -> None:
    number = 1
    while time.monotonic() < until:
        for _ in range(10_000):
            number = number * 1_103_515_245 + 12_345 & 0x7FFFFFFF


def main() -> int:
    """Make noise on every core; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.noise", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="when to stop (600)")
    parser.add_argument("--seed", type=int, default=0, help="which bursts (0)")
    asked = parser.parse_args()
    for told in (
        signal.SIGTERM,
        signal.SIGINT,
    ):  # SIGINT too: a shell's background jobs start with it ignored
        signal.signal(told, lambda *_: sys.exit(0))
    cores = [
        multiprocessing.Process(target=bursts, args=(asked.seconds, f"{asked.seed}:{core}"), daemon=True)
        for core in range(os.cpu_count() or 1)
    ]
    for core in cores:
        core.start()
    try:
        for core in cores:
            core.join()
    finally:
        for core in cores:
            core.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
