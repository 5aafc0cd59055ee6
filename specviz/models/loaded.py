"""A loaded model as a run sees it: its tokenizer, dtype, device and hash, and fresh cursors; and loading one from a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from specviz.errors import OutOfMemory, SpecVizError, first_line
from specviz.models import weights
from specviz.models.cursors import Cursor, ModelCursor, recomputes
from specviz.models.devices import device_of, is_out_of_memory, memory_by_place, memory_errors, must_spread
from specviz.models.packed import PackedCursor, PackedModel, can_pack
from specviz.models.tokens import token_pieces


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
    def spread(self) -> str:
        """The device, or all of them with a plus sign where the layers are spread over several."""
        layers = getattr(self.model, "hf_device_map", None) or {}
        names = {f"cuda:{place}" if isinstance(place, int) else str(place) for place in layers.values()}
        return "+".join(sorted(names)) if len(names) > 1 else self.device

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
        device=str(device_of(model)),
        limit=limit,
        vocab=vocab,
        end_ids=_end_ids(model),
        tokenizer=tokenizer,
        model=model,
        cursor=_cursor_maker(model, limit, vocab),
        pieces=token_pieces(tokenizer),
        id_map=id_map,
        cache="recompute" if recomputes(model) else "rollback",
    )


def _cursor_maker(model: Any, limit: int, vocab: int) -> Callable[[], Cursor]:
    """Return what makes a model's cursors: packed where that is possible, else through the model's own forward."""
    body, head = (getattr(model, name, None) for name in ("model", "lm_head"))
    if not can_pack(model, body):
        return lambda: ModelCursor(model, limit, vocab)
    packed = PackedModel(body, head)
    return lambda: PackedCursor(packed, limit, vocab)


def _end_ids(model: Any) -> frozenset[int]:
    declared: set[int] = set()
    for config in (getattr(model, "generation_config", None), model.config):
        ids = getattr(config, "eos_token_id", None)
        if ids is not None:
            declared |= set(ids) if isinstance(ids, list | tuple) else {ids}
    return frozenset(declared)


def load_model(
    folder: Path, *, name: str, source: str, sha256: str | None, device: str, dtype: torch.dtype
) -> LoadedModel:
    """Load a folder of safetensors with its tokenizer onto a device; raises SpecVizError where it can't be read.

    A model that is larger than the GPU is spread over all of them and the machine's own memory. Raises OutOfMemory
    where that does not do either.
    """
    full = f"{name} does not fit into the memory of {device}: pick a smaller pair or another device."
    with memory_errors(full):
        model, info = _read(folder, name, device, dtype)
    if "disk" in (getattr(model, "hf_device_map", None) or {}).values():
        raise OutOfMemory(full)
    if info["missing_keys"]:  # they would have been filled with random numbers
        lacking = f"{len(info['missing_keys'])} tensors, {min(info['missing_keys'])} among them"
        raise SpecVizError(
            f"{name} could not be loaded from {folder}: its weights lack {lacking}; fetch the model again."
        )
    return wrap(model, _read_tokenizer(folder), name=name, source=source, sha256=sha256)


def _read(folder: Path, name: str, device: str, dtype: torch.dtype) -> tuple[Any, dict[str, Any]]:
    """Return the model and what `transformers` says about its loading: {missing_keys, ...}."""
    from transformers import AutoModelForCausalLM

    where: dict[str, Any] = {}
    if must_spread(weights.count_numbers(folder) * dtype.itemsize, device):
        where = {"device_map": "auto", "max_memory": memory_by_place()}
    try:
        model, info = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, output_loading_info=True, **where
        )
        return model if where else model.to(device), info
    except Exception as error:  # the loaders raise whatever their format's reader raises
        if is_out_of_memory(error):
            raise
        raise SpecVizError(f"{name} could not be loaded from {folder}: {first_line(error)}") from error


def _read_tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder)
    except Exception as error:
        raise SpecVizError(f"The tokenizer in {folder} could not be read: {first_line(error)}") from error
