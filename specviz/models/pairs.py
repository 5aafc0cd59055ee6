"""A loaded pair of a target and what drafts for it, from the catalogue or from any two local folders."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import torch

from specviz.errors import SpecVizError
from specviz.models import fetching, trimmed, weights
from specviz.models.catalogue import (
    CATALOGUE,
    DEFAULT_PAIR,
    DRAFT_KINDS,
    OWN_DRAFT,
    DraftKind,
    folder_source,
    has_own_draft,
    is_trimmed,
    target_sources,
)
from specviz.models.devices import DTYPES, machine, memory_errors, resolve
from specviz.models.fetching import Source
from specviz.models.loaded import LoadedModel, load_model, wrap
from specviz.models.packed import PackedCursor
from specviz.models.toy import DEFAULT_AGREEMENT, toy_model


class Facts(TypedDict):
    """What a trace says about a model's weights: `record.shape.SideWeights`, which mypy compares with it."""

    source: str | None
    sha256: str | None
    dtype: str
    device: str
    cache: NotRequired[str]


class PairFacts(TypedDict):
    """The same for both sides; the draft's are None where no model drafts."""

    target: Facts
    draft: Facts | None


@dataclass(frozen=True)
class Pair:
    """A loaded target with something that drafts for it: kind model, lookup, self or noise."""

    name: str
    target: LoadedModel
    draft: LoadedModel | None
    draft_kind: DraftKind

    @property
    def tokenizer(self) -> Any:
        """The target's `transformers` tokenizer."""
        return self.target.tokenizer

    @property
    def draft_name(self) -> str:
        """The draft model's name, else the kind of draft."""
        return self.draft.name if self.draft is not None else self.draft_kind

    def weights(self) -> PairFacts:
        """Return what a trace says about the weights: for each side its source, hash, dtype, device and cache."""
        return {"target": _facts(self.target), "draft": None if self.draft is None else _facts(self.draft)}

    def machine(self) -> str:
        """Return the machine in words, for a trace."""
        return machine(self.target.device)


def _facts(model: LoadedModel) -> Facts:
    return {
        "source": model.source,
        "sha256": model.sha256,
        "dtype": model.dtype,
        "cache": model.cache,
        "device": model.spread,
    }


def load_pair(
    name: str = DEFAULT_PAIR,
    draft: str | None = None,
    *,
    device: str | None = None,
    draft_device: str | None = None,
    dtype: str | None = None,
    agreement: float = DEFAULT_AGREEMENT,
    progress: Callable[[str], None] | None = None,
) -> Pair:
    """Load a pair of the catalogue, or a folder as the target.

    `draft` is "model" (the pair's own), "lookup", "self", "noise" or a folder; by default the pair's own, or lookup
    where it has none. `device` and `dtype` are chosen unless given; the draft sits on the target's device unless
    `draft_device` says otherwise; `agreement` is the toy's. With `progress`, weights that are not here are fetched;
    without it they are never. Raises SpecVizError where anything is missing or unfit.
    """
    chosen, kind = resolve(device, dtype)
    if draft_device is not None:
        resolve(draft_device, dtype)
    if name == "toy":  # on the CPU in float64, wherever it was asked for
        return with_draft(Pair("toy", toy_model(), None, "lookup"), draft, agreement=agreement)
    sources = target_sources(name)
    target = _load(name, sources, chosen, kind, progress)
    pair = Pair(name if name in CATALOGUE else target.name, target, None, "lookup")
    return with_draft(pair, draft, device=draft_device, dtype=dtype, progress=progress)


def with_draft(
    pair: Pair,
    draft: str | None,
    *,
    device: str | None = None,
    dtype: str | None = None,
    agreement: float = DEFAULT_AGREEMENT,
    progress: Callable[[str], None] | None = None,
) -> Pair:
    """Return the pair with another draft and the same loaded target; `draft` as in `load_pair`.

    Without a device and a dtype, a draft model takes its target's; on another device, the dtype that is native there.
    """
    kind = draft or ("model" if has_own_draft(pair.name) else "lookup")
    if kind == "model":
        own = _own_draft(pair, device, dtype, agreement, progress)
        return dataclasses.replace(pair, draft=own, draft_kind="model")
    if kind in DRAFT_KINDS:
        return dataclasses.replace(pair, draft=pair.target if kind == "self" else None, draft_kind=kind)
    if not Path(kind).is_dir():
        raise SpecVizError(
            f"There is no draft {kind!r}: choose {', '.join(DRAFT_KINDS)}, or a folder with a model in it."
        )
    return dataclasses.replace(
        pair, draft=_draft_from_folder(pair, Path(kind), device, dtype), draft_kind="model"
    )


MOST_WIDENED = 4 * 2**30  # bytes that a copy in float32 may take beside the pair


def in_float32(pair: Pair) -> Pair:
    """Return the pair with a copy of its target in float32: the same weights, finer sums. The draft stays as it is.

    Raises SpecVizError where the copy would be too large, or the target is spread over several devices.
    """
    target = pair.target
    if target.model is None or target.dtype in ("float32", "float64"):
        return pair
    copies = (
        2 if isinstance(target.cursor(), PackedCursor) else 1
    )  # a packed copy of the copy, as `wrap` makes one
    size = 4 * copies * sum(parameter.numel() for parameter in target.model.parameters())
    if size > MOST_WIDENED or target.spread != target.device:
        raise SpecVizError(
            f"A copy of {target.name} in float32 takes {fetching.size_text(size)}, too much to keep beside it here: load the pair "
            f"in float32 on a machine with room for it."
        )
    with memory_errors(f"There is no memory for a copy of {target.name} in float32: pick a smaller pair."):
        wide = wrap(
            copy.deepcopy(target.model).float(),
            target.tokenizer,
            name=target.name,
            source=target.source,
            sha256=target.sha256,
        )
    return dataclasses.replace(pair, target=wide, draft=wide if pair.draft_kind == "self" else pair.draft)


def _load(
    pair: str,
    sources: tuple[Source, ...],
    device: str,
    dtype: torch.dtype,
    progress: Callable[[str], None] | None = None,
) -> LoadedModel:
    """Load the first source that is here; with `progress`, fetch the first one where none is. `pair` needs it."""
    here = [(source, folder) for source in sources if (folder := fetching.locate(source)) is not None]
    if here:
        source, folder = here[0]
    elif progress is not None:
        source = sources[0]
        folder = fetching.fetch(source, progress)
    else:
        raise SpecVizError(
            f"The weights of {sources[0].name} ({fetching.size_text(sources[0].size)}) are not here: fetch them with "
            f"python -m specviz fetch {pair}."
        )
    weights.check(folder)
    label = f"{source.label} ({source.package or source.repo})" if source.kind != "folder" else source.label
    return load_model(
        folder, name=source.name, source=label, sha256=weights.fingerprint(folder), device=device, dtype=dtype
    )


def _own_draft(
    pair: Pair,
    device: str | None,
    dtype: str | None,
    agreement: float,
    progress: Callable[[str], None] | None,
) -> LoadedModel:
    if pair.name == "toy":
        return toy_model(agreement)
    if not has_own_draft(pair.name):
        raise SpecVizError(
            f"The pair {pair.name} has no draft model of its own: choose lookup, self or noise as its draft."
        )
    if pair.name == DEFAULT_PAIR:
        if not is_trimmed(OWN_DRAFT):
            raise SpecVizError(
                f"This installation of SpecViz lacks {pair.name}'s own draft ({OWN_DRAFT}): install it again, or choose "
                "lookup, self or noise as the draft."
            )
        return _draft_from_folder(pair, OWN_DRAFT, device, dtype)
    draft = _load(pair.name, CATALOGUE[pair.name].draft, *_place(pair.target, device, dtype), progress)
    check_same_tokens(pair.target, draft)
    return draft


def _place(target: LoadedModel, device: str | None, dtype: str | None) -> tuple[str, torch.dtype]:
    """Return a draft's device and dtype: its target's, unless others were asked for."""
    if device is not None:
        return resolve(device, dtype)
    return target.device, DTYPES[dtype or target.dtype]


def _draft_from_folder(pair: Pair, folder: Path, device: str | None, dtype: str | None) -> LoadedModel:
    if is_trimmed(folder):
        return _load_trimmed(pair.target, folder, device)
    draft = _load(pair.name, (folder_source(folder),), *_place(pair.target, device, dtype))
    check_same_tokens(pair.target, draft)
    return draft


def _load_trimmed(target: LoadedModel, folder: Path, device: str | None) -> LoadedModel:
    model = trimmed.load_trimmed(folder, target, device)
    name, sha256 = trimmed.read_description(folder)["name"], trimmed.fingerprint(folder)
    return wrap(
        model,
        target.tokenizer,
        name=name,
        source=f"distilled for {target.name}",
        sha256=sha256,
        id_map=model.id_map,
    )


def check_same_tokens(target: LoadedModel, draft: LoadedModel) -> None:
    """Raise SpecVizError where the same id is not the same text for both: p / q would compare apples with pears.

    A vocabulary that is padded differently, or that lacks some of the other's ids, is no difference.
    """
    if target.tokenizer is None or draft.tokenizer is None:
        return
    ours, theirs = target.tokenizer.get_vocab(), draft.tokenizer.get_vocab()
    if ours == theirs:
        return
    here, there = ({id_: text for text, id_ in vocab.items()} for vocab in (ours, theirs))
    clash = next((id_ for id_ in sorted(here.keys() & there.keys()) if here[id_] != there[id_]), None)
    if clash is not None:
        raise SpecVizError(
            f"{draft.name} does not share {target.name}'s tokenizer (id {clash} is {there[clash]!r} there and "
            f"{here[clash]!r} here), so p and q would be about different texts: pick a draft of the same model family, or "
            "lookup."
        )
