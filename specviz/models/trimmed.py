"""A distilled draft with a trimmed vocabulary: a few decoder layers that read the target's embedding and answer over the
ids of their own short output head.

A draft folder holds `draft.json` (what it is, which targets it serves, the SHA-256 of every other file), the layers and
the head as safetensors, and `id_map.safetensors`: the target's id of each row of the head. The embedding isn't in it: it
is the target's, the very same tensor where both sit on one device and in one dtype, a copy otherwise.
"""

from __future__ import annotations

import copy
import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from specviz.errors import SpecVizError
from specviz.models.loaded import LoadedModel
from specviz.models.weights import sha256_of

DESCRIPTION = "draft.json"
MAP = "id_map.safetensors"
FORMAT = "specviz-trimmed-draft"


@dataclass(frozen=True)
class TrimmedOutput:
    """What a forward returns: `logits` [1, R, H] over the head's rows, and the cache that it added to."""

    logits: Tensor
    cache: Any


class TrimmedModel(nn.Module):
    """Reads the target's ids, answers over the H rows of its head; row h stands for the target's id `id_map[h]`.

    It is called as a `transformers` causal language model is, so a `ModelCursor` runs it like any other.
    """

    id_map: Tensor

    def __init__(self, body: Any, head: nn.Linear, id_map: Tensor) -> None:
        super().__init__()
        self.model: Any = body
        self.lm_head, self.config = head, body.config
        self.register_buffer("id_map", id_map)
        self._keyword = (
            "cache" if "cache" in inspect.signature(body.forward).parameters else "past_key_values"
        )

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.lm_head.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """What it computes in."""
        return self.lm_head.weight.dtype

    def get_input_embeddings(self) -> nn.Module:
        """The target's embedding."""
        return self.model.embed_tokens

    def forward(
        self, input_ids: Tensor, cache: Any = None, use_cache: bool = False, logits_to_keep: int = 0
    ) -> TrimmedOutput:
        """Read `input_ids` [1, n] after what `cache` holds; logits of the last `logits_to_keep` ids (0: of all)."""
        memory = {self._keyword: cache, "use_cache": use_cache}
        hidden = self.model(input_ids=input_ids, **memory).last_hidden_state
        return TrimmedOutput(self.lm_head(hidden[:, -logits_to_keep:]), cache)


def vocabulary_size(folder: str | Path) -> int:
    """Return how many of the target's tokens the draft in `folder` knows, from its map's header alone."""
    from safetensors import safe_open

    with safe_open(Path(folder) / MAP, "pt") as tensors:
        return int(tensors.get_slice("id_map").get_shape()[0])


def known_ids(folder: str | Path) -> frozenset[int]:
    """Return which of the target's tokens the draft in `folder` knows."""
    from safetensors import safe_open

    with safe_open(Path(folder) / MAP, "pt") as tensors:
        return frozenset(tensors.get_tensor("id_map").tolist())


def load_trimmed(folder: str | Path, target: LoadedModel, device: str | None = None) -> TrimmedModel:
    """Load the draft in `folder` for `target`, in the target's dtype, onto `device` (the target's by default).

    Raises SpecVizError, in one sentence, where the folder lacks its description or its map, a file is damaged, the draft
    doesn't serve this target or has another width, or the map names ids that the target hasn't.
    """
    folder = Path(folder)
    description = read_description(folder)
    tensors = _read_tensors(folder, description)
    _check_serves(description, target)
    table = target.model.get_input_embeddings()
    _check_width(description, target, table)
    id_map = _checked_map(tensors.pop("id_map", None), target)
    # "cuda" and "cuda:0" are one place
    place, dtype = torch.empty(0, device=device or target.device).device, table.weight.dtype
    body, head = _build(description, tensors, len(id_map))
    body.config.eos_token_id = target.model.config.eos_token_id
    _move(body, place, dtype)
    # on another device the target's table is of no use to the draft's lookups
    body.embed_tokens = table if table.weight.device == place else copy.deepcopy(table).to(place)
    model = TrimmedModel(body, head.to(place, dtype), id_map.to(place))
    return model.eval().requires_grad_(False)


def read_description(folder: Path) -> dict[str, Any]:
    """Return a draft folder's `draft.json`; raises SpecVizError where there is none or it isn't one."""
    path = folder / DESCRIPTION
    try:
        description = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise SpecVizError(
            f"{folder} holds no {DESCRIPTION}, so it is not a trimmed draft's folder."
        ) from None
    except (OSError, ValueError):
        raise SpecVizError(f"{path} can't be read as JSON; get the draft's files again.") from None
    expected = {"format": str, "name": str, "config": dict, "serves": list, "files": dict}
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise SpecVizError(f"{path} doesn't describe a trimmed draft (its format should be {FORMAT!r}).")
    if not all(isinstance(description.get(key), kind) for key, kind in expected.items()):
        raise SpecVizError(f"{path} lacks one of {', '.join(expected)}; get the draft's files again.")
    return description


def fingerprint(folder: str | Path) -> str:
    """Return the SHA-256 of a draft's description, which holds those of all its files."""
    return sha256_of(Path(folder) / DESCRIPTION)


def _read_tensors(folder: Path, description: dict[str, Any]) -> dict[str, Tensor]:
    """Return all tensors of the folder by name, after comparing each file with its recorded hash."""
    from safetensors.torch import load_file

    if MAP not in description["files"] or not (folder / MAP).is_file():
        raise SpecVizError(
            f"{folder} lacks {MAP}, the target's ids of the draft's output: get the draft's files again."
        )
    tensors: dict[str, Tensor] = {}
    for name, recorded in description["files"].items():
        path = folder / Path(name).name  # a description can't point outside its folder
        if not path.is_file():
            raise SpecVizError(f"{folder} lacks {path.name}; get the draft's files again.")
        if sha256_of(path) != recorded:
            raise SpecVizError(
                f"{path} is damaged (its SHA-256 is not the recorded one); get the draft's files again."
            )
        tensors |= load_file(path)
    return tensors


def _check_serves(description: dict[str, Any], target: LoadedModel) -> None:
    """A target is served if its name or its weights' hash is listed.

    Either will do: a conversion by another version of a library has other bytes, a local copy another name.
    """
    for entry in description["serves"]:
        if entry.get("name") == target.name or (target.sha256 and entry.get("sha256") == target.sha256):
            return
    served = " and ".join(str(entry.get("name")) for entry in description["serves"])
    raise SpecVizError(
        f"The draft {description['name']} was made for {served}, not for {target.name}: choose another draft, or distil "
        "one for this target (distil/README.md)."
    )


def _check_width(description: dict[str, Any], target: LoadedModel, table: Any) -> None:
    ours, theirs = description["config"].get("hidden_size"), table.weight.shape[1]
    if ours != theirs:
        raise SpecVizError(
            f"The draft {description['name']} is {ours} wide and {target.name} is {theirs}, so it can't read its embedding: "
            "choose another draft."
        )


def _checked_map(id_map: Tensor | None, target: LoadedModel) -> Tensor:
    """Return the map as int64 [H]; each of the target's ids at most once, and none that the target hasn't."""
    if id_map is None or id_map.ndim != 1 or len(id_map) == 0 or id_map.is_floating_point():
        raise SpecVizError(f"{MAP} holds no list of ids under the name id_map: get the draft's files again.")
    ids = id_map.long()
    if int(ids.min()) < 0 or int(ids.max()) >= target.vocab:
        raise SpecVizError(
            f"The draft's map names id {int(ids.max())}, and {target.name} has only {target.vocab}: choose another draft."
        )
    if len(ids.unique()) != len(ids):
        raise SpecVizError(
            f"{MAP} names an id twice, so it can't be mapped back: get the draft's files again."
        )
    return ids


def _move(body: nn.Module, device: torch.device, dtype: torch.dtype) -> None:
    """Move a decoder, and round its parameters but not its rotary frequencies, which need their float32."""
    body.to(device)
    for parameter in body.parameters():
        parameter.data = parameter.data.to(dtype)


def _build(description: dict[str, Any], tensors: dict[str, Tensor], rows: int) -> tuple[Any, nn.Linear]:
    """Return the decoder layers, without an embedding, and the head of `rows` rows, filled with the folder's tensors."""
    from transformers import AutoConfig, AutoModel

    try:
        # one row for a table that is thrown away: the target's takes its place
        config = AutoConfig.for_model(
            **description["config"], vocab_size=1, bos_token_id=None, eos_token_id=None
        )
        body = AutoModel.from_config(config)
        body.embed_tokens = nn.Identity()
        head = nn.Linear(config.hidden_size, rows, bias=False)
        head.load_state_dict({"weight": tensors.pop("head.weight")})
        body.load_state_dict(tensors)
        config.vocab_size = rows
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise SpecVizError(
            f"The draft's files don't fit their description ({type(error).__name__}): get the draft's files again."
        ) from error
    return body, head
