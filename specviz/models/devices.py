"""Where models compute: the devices and dtypes that are here, how much memory they have, and the machine in words."""

from __future__ import annotations

import gc
import os
import platform
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from specviz.errors import OutOfMemory, SpecVizError

RAN_OUT = "The device ran out of memory in the middle of the run: shorten the prompt, or pick a smaller pair or another device."


def best_device() -> str:
    """Return "cuda", "mps" or "cpu": the fastest that is here."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def best_dtype(device: str) -> torch.dtype:
    """Return bfloat16 where the device computes in it natively, float32 elsewhere."""
    kind = torch.device(device).type
    if kind == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    if kind == "cpu" and _cpu_flags() & {"avx512_bf16", "amx_bf16", "bf16"}:
        return torch.bfloat16
    return torch.float32


def _cpu_flags() -> set[str]:
    info = Path("/proc/cpuinfo")
    match = re.search(r"^(?:flags|Features)\s*:(.*)$", info.read_text(), re.M) if info.exists() else None
    return set(match.group(1).split()) if match else set()


DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}


def resolve(device: str | None, dtype: str | None) -> tuple[str, torch.dtype]:
    """Return the device and dtype to use, chosen or as given; raises SpecVizError for one that is not here."""
    device = device or best_device()
    try:
        place = torch.device(device)
    except RuntimeError:
        raise SpecVizError(f"There is no device called {device!r}: use cpu, cuda, cuda:0 or mps.") from None
    here = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not here.get(place.type, False):
        raise SpecVizError(f"The device {device!r} is not available here: use {best_device()}.")
    if place.type == "cuda" and (place.index or 0) >= torch.cuda.device_count():
        cards = ", ".join(f"cuda:{index}" for index in range(torch.cuda.device_count()))
        raise SpecVizError(f"The device {device!r} is not available here: use {cards}.")
    if dtype is not None and dtype not in DTYPES:
        raise SpecVizError(f"The dtype must be one of {', '.join(DTYPES)}, not {dtype!r}.")
    return device, DTYPES[dtype] if dtype else best_dtype(device)


def device_of(model: Any) -> torch.device:
    """Return where a model takes its ids and leaves its logits; layers that are elsewhere are seen to by its hooks."""
    place = getattr(getattr(model, "_hf_hook", None), "execution_device", None)
    return next(model.parameters()).device if place is None else torch.device(place)


# --- memory -----------------------------------------------------------------------------------------------------------

ROOM = 0.8  # how much of a card's free memory weights may fill; caches, logits and the draft need the rest


def must_spread(size: int, device: str) -> bool:
    """Whether weights of `size` bytes are too large for the GPU that was chosen; one named by number is taken as meant."""
    place = torch.device(device)
    return (
        place.type == "cuda"
        and place.index is None
        and size > ROOM * free_memory(torch.cuda.current_device())
    )


def free_memory(card: int) -> int:
    """Return the bytes that are free on a GPU, those included that torch keeps for reuse."""
    reusable = torch.cuda.memory_reserved(card) - torch.cuda.memory_allocated(card)
    return torch.cuda.mem_get_info(card)[0] + reusable


def memory_by_place() -> dict[int | str, int]:
    """Return how many bytes of weights each GPU and the machine's own memory may take: {0: ..., "cpu": ...}."""
    from accelerate.utils import get_max_memory

    cards: dict[int | str, int] = {
        card: int(ROOM * free_memory(card)) for card in range(torch.cuda.device_count())
    }
    return cards | {"cpu": get_max_memory()["cpu"]}


@contextmanager
def memory_errors(sentence: str) -> Iterator[None]:
    """Turn the refusal of a device that has no memory left into `OutOfMemory`; let go of what the block held there."""
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        traceback.clear_frames(error.__traceback__)
        error.__traceback__ = (
            None  # a frame that is empty still holds its function, and that may hold the model
        )
        release_memory()
        raise OutOfMemory(sentence) from None


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error means a full memory; on a CPU and on mps only its text says so."""
    words = ("out of memory", "can't allocate memory", "not enough memory")
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and any(word in str(error) for word in words)
    )


def release_memory() -> None:
    """Give memory that no tensor uses any more back to the devices."""
    gc.collect()
    torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()


@lru_cache
def machine(device: str) -> str:
    """Return the processor or GPU that a device is, its number of threads, and the torch version."""
    if device.startswith("cuda"):
        return f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}"
    threads = torch.get_num_threads()
    counted = "1 thread" if threads == 1 else f"{threads} threads"
    return f"{_processor()}, {os.cpu_count()} cores, {counted}, torch {torch.__version__}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
