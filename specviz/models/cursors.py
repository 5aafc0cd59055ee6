"""Cursors: a model's place in one run, with what it remembers of the text (its key-value cache)."""

from __future__ import annotations

import inspect
import time
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from specviz.errors import SpecVizError
from specviz.models.devices import RAN_OUT, device_of, memory_errors


class Cursor(Protocol):
    """A model's place in one run: how many tokens it has read, and what it remembers of them."""

    limit: int
    vocab: int

    @property
    def length(self) -> int:
        """How many tokens were read."""

    def extend(self, ids: Sequence[int], rows: int) -> Tensor:
        """Read `ids` and return the logits [rows, vocab] after each of the last `rows` of them."""

    def rollback(self, length: int) -> None:
        """Forget everything after the first `length` tokens; does nothing where no more were read."""

    def take_ms(self) -> float:
        """Return the milliseconds spent in forwards since the last call."""


def check_fits(length: int, limit: int) -> None:
    """Raise SpecVizError where a text of `length` tokens is longer than a model can read."""
    if length > limit:
        raise SpecVizError(f"The text is longer than the {limit} tokens that the model can read.")


class Stopwatch:
    """Adds up the time of a device's work: by the clock on a CPU, by events on a GPU, whose work is asynchronous."""

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        self._mps = device.type == "mps"
        self._device = device
        self._ms = 0.0
        self._events: list[tuple[Any, Any]] = []

    def __enter__(self) -> None:
        if self._cuda:
            with torch.cuda.device(self._device):
                self._begin = torch.cuda.Event(enable_timing=True)
                self._begin.record()
        else:
            self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        if self._cuda:
            with torch.cuda.device(self._device):
                end = torch.cuda.Event(enable_timing=True)
                end.record()
            self._events.append((self._begin, end))
            return
        if self._mps:
            torch.mps.synchronize()
        self._ms += (time.perf_counter() - self._start) * 1e3

    def take_ms(self) -> float:
        """Return the milliseconds since the last call, waiting for the device where it still works."""
        for begin, end in self._events:
            end.synchronize()
            self._ms += begin.elapsed_time(end)
        self._events.clear()
        ms, self._ms = self._ms, 0.0
        return ms


class ModelCursor:
    """A `transformers` causal language model's place in one run, with a key-value cache that can be cut back.

    A plain `DynamicCache()` gives sliding-window models full layers too, so that a rejected draft can always be
    forgotten. Where a model's memory can't be cut (a recurrent state), every pass recomputes the whole text: exact, and
    slower; `recomputes` says so.
    """

    def __init__(self, model: Any, limit: int, vocab: int) -> None:
        self.model, self.limit, self.vocab = model, limit, vocab
        self.length = 0
        self.recomputes = recomputes(model)
        self._device = device_of(model)
        self._watch = Stopwatch(self._device)
        self._read: list[int] = []
        self._cache: Any = None
        self._keyword = "cache" if "cache" in _parameters(model) else "past_key_values"

    @memory_errors(RAN_OUT)
    @torch.inference_mode()
    def extend(self, ids: Sequence[int], rows: int) -> Tensor:
        """Read `ids` (at least one) and return the logits [rows, vocab] after each of the last `rows` of them."""
        check_fits(self.length + len(ids), self.limit)
        self._read.extend(ids)
        self.length += len(ids)
        with self._watch:
            # 0 would mean "the logits of every row": a prefill asks for one and drops it.
            return self._forward(list(ids), max(rows, 1))[-rows:] if rows else self._forward(list(ids), 1)[:0]

    def _forward(self, ids: list[int], rows: int) -> Tensor:
        if self.recomputes:
            ids, memory = self._read, {"use_cache": False}
        else:
            if self._cache is None:
                from transformers import DynamicCache

                self._cache = DynamicCache()
            memory = {self._keyword: self._cache, "use_cache": True}
        batch = torch.tensor([ids], device=self._device)
        return self.model(input_ids=batch, logits_to_keep=rows, **memory).logits[0]

    def rollback(self, length: int) -> None:
        """Forget everything after the first `length` tokens; does nothing where no more were read."""
        surplus = self.length - length
        if surplus <= 0:
            return
        del self._read[length:]
        if not self.recomputes:
            self._cache.crop(-surplus)  # a negative count removes that many tokens
            if self._cache.get_seq_length() != length:
                raise SpecVizError(
                    "The model's cache could not be cut back; please report which model this is."
                )
        self.length = length

    def take_ms(self) -> float:
        """Return the milliseconds spent in forwards since the last call."""
        return self._watch.take_ms()


def _parameters(model: Any) -> frozenset[str]:
    return frozenset(inspect.signature(model.forward).parameters)


def recomputes(model: Any) -> bool:
    """Whether the model's memory can't be cut back, so that every pass has to read the whole text again."""
    return bool(getattr(model, "_is_stateful", False)) or not {"cache", "past_key_values"} & _parameters(
        model
    )
