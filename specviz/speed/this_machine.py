"""What this machine's memory and arithmetic do, measured in this process with the products that a model is made of."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from specviz.errors import SpecVizError
from specviz.models.cursors import Stopwatch
from specviz.models.devices import machine as machine_name
from specviz.models.devices import resolve
from specviz.speed.cores import Cores
from specviz.speed.hardware import OPERATIONS_A_WEIGHT, Machine
from specviz.timing import Spread, spread_of

READ_BYTES = {"cpu": 256 << 20, "cuda": 2 << 30, "mps": 512 << 20}  # far more than a cache holds
SIDE = {"cpu": 2048, "cuda": 8192, "mps": 4096}
COLUMNS = 4096
REPEATS = 9
FEWEST, LONGEST_S = 3, 4.0  # quiet ones that there must be, and how long to wait for more


def measure_this_machine() -> Machine:
    """Measure the device and dtype in which this process runs its models unless told otherwise."""
    return measure_machine(*resolve(None, None))


@torch.inference_mode()
def measure_machine(device: str, dtype: torch.dtype) -> Machine:
    """Measure how fast a device reads weights and how fast it multiplies, in a dtype; medians of nine, a few seconds.

    Reading: a large matrix times one vector, as in decoding one token. Multiplying: two large square matrices. Raises
    SpecVizError where other work had the cores, or the timings scatter: nothing follows from such a peak.
    """
    place = torch.device(device)
    size = torch.empty((), dtype=dtype).element_size()
    wide = torch.ones(READ_BYTES[place.type] // size // COLUMNS, COLUMNS, dtype=dtype, device=place)
    one_row = torch.ones(COLUMNS, dtype=dtype, device=place)
    read_s = _quiet_s(place, lambda: wide @ one_row)
    side = SIDE[place.type]
    square = torch.ones(side, side, dtype=dtype, device=place)
    multiply_s = _quiet_s(place, lambda: square @ square)
    name = str(dtype).removeprefix("torch.")
    scatter = max(read_s.width, multiply_s.width)
    return Machine(
        "this machine",
        wide.numel() * size / read_s.median,
        OPERATIONS_A_WEIGHT * side**3 / multiply_s.median,
        f"measured in this process, {name}, {REPEATS} times, within {scatter:.0%}: {machine_name(device)}",
    )


def _quiet_s(device: torch.device, work: Callable[[], object]) -> Spread:
    """Return the seconds that some work takes, of the times at which the cores were its own."""
    watch, cores, times, begun = Stopwatch(device), Cores(), list[float](), time.monotonic()
    with watch:
        work()  # warms up
    watch.take_ms()
    while len(times) < REPEATS and time.monotonic() - begun < LONGEST_S:
        cores.begin()
        with watch:
            work()
        ms, lap = watch.take_ms(), cores.lap()
        if lap.is_quiet:
            times.append(ms / 1e3)
    if len(times) < FEWEST or spread_of(times).is_wide:
        raise SpecVizError(
            "This machine was busy with other work while it was measured, so nothing can be said of it: try again when it is quiet."
        )
    return spread_of(times)
