"""Tiny random models of real architectures, and the default pair, for all levels of tests."""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from specviz import Pair, load_pair
from specviz.errors import SpecVizError
from specviz.models.loaded import LoadedModel, wrap
from specviz.speed import contest, costs
from tests.exact.tally import (  # noqa: F401  hooks of the whole run
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)

torch.set_num_threads(1)  # tiny matrices gain nothing from a second thread, and waiting for it can cost a lot

SHARPEN = 8.0  # random weights give flat laws, which would let a wrong one pass


def tiny_model(
    kind: str, *, seed: int = 0, vocab: int = 97, dtype: torch.dtype = torch.float32, **settings: Any
) -> Any:
    """Return a random two-layer causal language model of a `transformers` architecture, its laws made uneven."""
    import transformers

    small: dict[str, Any] = {
        "vocab_size": vocab,
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
    }
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    heads = {"num_key_value_heads": 2, "max_position_embeddings": 128}
    configs = {
        "llama": ("LlamaConfig", size | heads),
        "qwen2": ("Qwen2Config", size | heads),
        "qwen3": ("Qwen3Config", size | heads | {"head_dim": 8}),
        "mistral": ("MistralConfig", size | heads | {"sliding_window": 8}),
        "gemma": ("GemmaConfig", size | heads | {"head_dim": 8}),
        "gpt_neox": ("GPTNeoXConfig", size | {"max_position_embeddings": 128}),
        "gpt2": ("GPT2Config", {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128}),
        "mamba": ("MambaConfig", {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}),
    }
    name, shape = configs[kind]
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(
        getattr(transformers, name)(**small | shape | settings)
    )
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.mul_(SHARPEN if parameter.shape[0] != vocab else 3.0)
    return model.to(dtype).eval()


def tiny(kind: str = "llama", **settings: Any) -> LoadedModel:
    """Return a tiny model, ready to run on token ids."""
    return wrap(tiny_model(kind, **settings), name=f"tiny-{kind}")


def tiny_pair(kind: str = "llama", draft: str = "model", **settings: Any) -> Pair:
    """Return a tiny target with a draft: another random model of the same kind, itself, lookup or noise."""
    target = tiny(kind, **settings)
    model = {"model": lambda: tiny(kind, **settings | {"seed": 1}), "self": lambda: target}.get(
        draft, lambda: None
    )()
    return Pair(f"tiny-{kind}", target, model, draft)


@pytest.fixture
def make_pair() -> Callable[..., Pair]:
    return tiny_pair


@pytest.fixture(scope="session")
def default_pair() -> Pair:
    """The default pair in float32, whose greedy text does not hang on how a matrix product was split."""
    try:
        return load_pair("smollm2-135m", "lookup", device="cpu", dtype="float32")
    except SpecVizError as error:
        pytest.fail(f"the default target is needed (make fetch): {error}")


@pytest.fixture(scope="session", autouse=True)
def measures_quickly() -> Iterator[None]:
    """Let measurements end with the fewest rounds: a test asks what becomes of them, not how well they are known."""
    kept = contest.BUDGET_S, costs.BUDGET_S
    contest.BUDGET_S, costs.BUDGET_S = 0.5, 0.5
    yield
    contest.BUDGET_S, costs.BUDGET_S = kept
