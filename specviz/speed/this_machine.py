"""What this machine's memory and arithmetic do, measured in this process with the products that a model is made of."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import torch

from specviz.models.cursors import Stopwatch
from specviz.models.devices import machine as machine_name
from specviz.models.devices import resolve
from specviz.speed.hardware import OPERATIONS_A_WEIGHT, Machine

READ_BYTES = {"cpu": 256 << 20, "cuda": 2 << 30, "mps": 512 << 20}  # far more than a cache holds
SIDE = {"cpu": 2048, "cuda": 8192, "mps": 4096}
COLUMNS = 4096
REPEATS = 5


def measure_this_machine() -> Machine:
    """Measure the device and dtype in which this process runs its models unless told otherwise."""
    return measure_machine(*resolve(None, None))


@torch.inference_mode()
def measure_machine(device: str, dtype: torch.dtype) -> Machine:
    """Measure how fast a device reads weights and how fast it multiplies, in a dtype; medians of five, a second or two.

    Reading: a large matrix times one vector, as in decoding one token. Multiplying: two large square matrices.
    """
    place = torch.device(device)
    size = torch.empty((), dtype=dtype).element_size()
    wide = torch.ones(READ_BYTES[place.type] // size // COLUMNS, COLUMNS, dtype=dtype, device=place)
    one_row = torch.ones(COLUMNS, dtype=dtype, device=place)
    read_s = _median_s(place, lambda: wide @ one_row)
    side = SIDE[place.type]
    square = torch.ones(side, side, dtype=dtype, device=place)
    multiply_s = _median_s(place, lambda: square @ square)
    name = str(dtype).removeprefix("torch.")
    return Machine(
        "this machine",
        wide.numel() * size / read_s,
        OPERATIONS_A_WEIGHT * side**3 / multiply_s,
        f"measured in this process, {name}: {machine_name(device)}",
    )


def _median_s(device: torch.device, work: Callable[[], object]) -> float:
    watch = Stopwatch(device)
    times = []
    for _ in range(REPEATS + 1):
        with watch:
            work()
        times.append(watch.take_ms() / 1e3)
    return statistics.median(times[1:])
