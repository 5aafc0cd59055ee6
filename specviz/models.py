"""Models as a run sees them: a place in a text with its cache (a cursor), a dtype and a device."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from specviz.errors import SpecVizError
from specviz.tokens import token_pieces


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
        self._device = next(model.parameters()).device
        self._watch = Stopwatch(self._device)
        self._read: list[int] = []
        self._cache: Any = None
        self._keyword = "cache" if "cache" in _parameters(model) else "past_key_values"

    @torch.inference_mode()
    def extend(self, ids: Sequence[int], rows: int) -> Tensor:
        """Read `ids` (at least one) and return the logits [rows, vocab] after each of the last `rows` of them."""
        if self.length + len(ids) > self.limit:
            raise SpecVizError(f"The text is longer than the {self.limit} tokens that the model can read.")
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


@dataclass(frozen=True)
class LoadedModel:
    """A model that is ready to run, and what a trace has to say about it.

    `model` is the `transformers` object (None for the toy), `end_ids` are the ids that end a text, `limit` is the
    longest text in tokens, `vocab` the number of logits, `id_map` the target's ids of a trimmed draft's logits [vocab].
    """

    name: str
    source: str
    sha256: str | None
    dtype: str
    device: str
    limit: int
    vocab: int
    end_ids: frozenset[int]
    tokenizer: Any
    model: Any
    cursor: Callable[[], Cursor]
    pieces: Callable[[int], bytes]
    id_map: Tensor | None = None
    cache: str = "rollback"

    @property
    def has_template(self) -> bool:
        """Whether the model comes with a chat template."""
        return bool(getattr(self.tokenizer, "chat_template", None))

    def encode(self, prompt: str, chat: bool) -> list[int]:
        """Return the prompt's ids, through the chat template (which brings its own BOS) or as raw text."""
        if self.tokenizer is None:
            raise SpecVizError("This model has no tokenizer: give the prompt as a list of token ids.")
        if chat:
            if not self.has_template:
                raise SpecVizError(
                    f"{self.name} has no chat template: run it on raw text (--raw, or chat off)."
                )
            message = [{"role": "user", "content": prompt}]
            encoded = self.tokenizer.apply_chat_template(
                message, add_generation_prompt=True, return_dict=True
            )
            return list(encoded["input_ids"])
        return list(self.tokenizer(prompt)["input_ids"])

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids as one string; bytes that are no UTF-8 become U+FFFD."""
        return b"".join(map(self.pieces, ids)).decode("utf-8", errors="replace")


def wrap(
    model: Any,
    tokenizer: Any = None,
    *,
    name: str,
    source: str = "memory",
    sha256: str | None = None,
    id_map: Tensor | None = None,
) -> LoadedModel:
    """Make a `LoadedModel` of a `transformers` causal language model that is in memory already."""
    config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
    limit = (
        getattr(config, "max_position_embeddings", None) or 10**9
    )  # a recurrent model has no limit of its own
    vocab = len(id_map) if id_map is not None else config.vocab_size
    model.eval()
    parameter = next(model.parameters())
    return LoadedModel(
        name=name,
        source=source,
        sha256=sha256,
        dtype=str(parameter.dtype).removeprefix("torch."),
        device=str(parameter.device),
        limit=limit,
        vocab=vocab,
        end_ids=_end_ids(model),
        tokenizer=tokenizer,
        model=model,
        cursor=lambda: ModelCursor(model, limit, vocab),
        pieces=token_pieces(tokenizer),
        id_map=id_map,
        cache="recompute" if recomputes(model) else "rollback",
    )


def _end_ids(model: Any) -> frozenset[int]:
    declared: set[int] = set()
    for config in (getattr(model, "generation_config", None), model.config):
        ids = getattr(config, "eos_token_id", None)
        if ids is not None:
            declared |= set(ids) if isinstance(ids, list | tuple) else {ids}
    return frozenset(declared)


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
        kind = torch.device(device).type
    except RuntimeError:
        raise SpecVizError(f"There is no device called {device!r}: use cpu, cuda, cuda:0 or mps.") from None
    here = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not here.get(kind, False):
        raise SpecVizError(f"The device {device!r} is not available here: use {best_device()}.")
    index = torch.device(device).index
    if kind == "cuda" and index is not None and index >= torch.cuda.device_count():
        raise SpecVizError(
            f"The device {device!r} is not available: there are {torch.cuda.device_count()} GPUs."
        )
    if dtype is not None and dtype not in DTYPES:
        raise SpecVizError(f"The dtype must be one of {', '.join(DTYPES)}, not {dtype!r}.")
    return device, DTYPES[dtype] if dtype else best_dtype(device)


def load_model(
    folder: Path, *, name: str, source: str, sha256: str | None, device: str, dtype: torch.dtype
) -> LoadedModel:
    """Load a folder of safetensors with its tokenizer onto a device; raises SpecVizError where it can't be read."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        model, info = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, output_loading_info=True
        )
        model = model.to(device)
    except torch.OutOfMemoryError:
        raise SpecVizError(
            f"{name} does not fit into the memory of {device}: pick a smaller pair or another device."
        ) from None
    except Exception as error:  # the loaders raise whatever their format's reader raises
        raise SpecVizError(f"{name} could not be loaded from {folder}: {first_line(error)}") from error
    if info["missing_keys"]:  # they would have been filled with random numbers
        lacking = f"{len(info['missing_keys'])} tensors, {min(info['missing_keys'])} among them"
        raise SpecVizError(
            f"{name} could not be loaded from {folder}: its weights lack {lacking}; fetch the model again."
        )
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
    except Exception as error:
        raise SpecVizError(f"The tokenizer in {folder} could not be read: {first_line(error)}") from error
    return wrap(model, tokenizer, name=name, source=source, sha256=sha256)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or its type where it has none."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
