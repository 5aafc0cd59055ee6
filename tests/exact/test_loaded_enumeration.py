"""The law of whole texts with models as they come from disk: sharded, padded, with an id space of their own, spread out.

Real checkpoints in the catalogue's formats, through the real loaders, in float64; every path is walked.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from accelerate import dispatch_model
from safetensors.torch import save_file
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PretrainedConfig,
    Qwen2Config,
    Qwen3Config,
)

from specviz import load_pair
from specviz.decoding.sampling import Sampling
from specviz.exactness.enumeration import enumerate_runs
from specviz.exactness.worlds import enlarged, tiny_model, with_seed
from specviz.models.loaded import wrap
from specviz.models.pairs import Pair
from specviz.models.trimmed import DESCRIPTION, FORMAT, MAP
from specviz.models.weights import sha256_of
from tests.exact.tally import Tally
from tests.exact.test_enumeration import ROUNDING
from tests.exact.worlds import PROMPT, own_law
from tests.models.test_loading import tokenizer

CONFIGS: dict[str, type[PretrainedConfig]] = {
    "llama": LlamaConfig,
    "qwen2": Qwen2Config,
    "qwen3": Qwen3Config,
}
WORDS = ["w", "0", "1"]


def saved(
    folder: Path, kind: str, vocab: int, seed: int, shard: str = "5GB", end_id: int | None = None
) -> str:
    """Save a tiny random checkpoint of a family over three tokens, padded to `vocab`, in shards of at most that size."""
    config = CONFIGS[kind](
        vocab_size=vocab, hidden_size=8, intermediate_size=16, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=2, max_position_embeddings=32, bos_token_id=None, eos_token_id=end_id,
        tie_word_embeddings=kind == "qwen3",
    )  # fmt: skip
    model = with_seed(seed, lambda: AutoModelForCausalLM.from_config(config).double())
    enlarged(model, 12.0).save_pretrained(folder, max_shard_size=shard)  # type: ignore[operator]
    tokenizer(WORDS).save_pretrained(folder)
    return str(folder)


def trimmed_draft(folder: Path, width: int, serves: str, ids: list[int]) -> str:
    """Write a distilled draft's folder: one layer, and a head over `ids` in that order."""
    config = {"model_type": "llama", "hidden_size": width, "intermediate_size": 8, "num_hidden_layers": 1}
    config |= {
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 4,
        "max_position_embeddings": 32,
    }
    shape = LlamaConfig(
        **{name: value for name, value in config.items() if name != "model_type"}, vocab_size=len(ids)
    )
    model = enlarged(with_seed(5, lambda: LlamaForCausalLM(shape)), 12.0)
    folder.mkdir()
    layers = {
        name: tensor for name, tensor in model.model.state_dict().items() if name != "embed_tokens.weight"
    }
    save_file(layers, folder / "layers.safetensors")
    save_file({"head.weight": model.lm_head.weight.detach()}, folder / "head.safetensors")
    save_file({"id_map": torch.tensor(ids, dtype=torch.int32)}, folder / MAP)
    files = {name: sha256_of(folder / name) for name in ("layers.safetensors", "head.safetensors", MAP)}
    text = {
        "format": FORMAT,
        "name": "tiny-draft",
        "config": config,
        "serves": [{"name": serves}],
        "files": files,
    }
    (folder / DESCRIPTION).write_text(json.dumps(text))
    return str(folder)


def exact(tally: Tally, pair: Pair, sampling: Sampling, k: int = 2, tokens: int = 3) -> int:
    """Walk every path of a pair, compare with the target's own law, and return how many paths there were."""
    found = enumerate_runs(pair, PROMPT, k=k, max_new_tokens=tokens, sampling=sampling)
    assert sum(found.law.values()) == pytest.approx(1, abs=ROUNDING)
    assert tally.compare(found, own_law(pair.target, PROMPT, sampling, tokens)) <= ROUNDING
    return found.paths


@pytest.mark.parametrize(
    ("kind", "padded", "sampling"),
    [
        ("llama", (4, 5), Sampling(1.0)),
        ("llama", (5, 4), Sampling(0.7, 2, 0.8)),
        ("qwen2", (4, 3), Sampling(1.3)),
        ("qwen3", (4, 5), Sampling(0.8, 3)),
    ],
    ids=str,
)
def test_a_sharded_target_with_a_draft_padded_otherwise(
    tally: Tally, tmp_path: Path, kind: str, padded: tuple[int, int], sampling: Sampling
) -> None:
    """Three tokens, padded to different sizes: what is padding can be drawn, and the last of it ends a text here."""
    target = saved(tmp_path / "t", kind, padded[0], 1, shard="2KB", end_id=padded[0] - 1)
    assert len(list((tmp_path / "t").glob("*.safetensors"))) > 1
    pair = load_pair(target, saved(tmp_path / "d", kind, padded[1], 2), device="cpu", dtype="float64")
    assert (pair.target.vocab, pair.draft and pair.draft.vocab) == padded
    assert exact(tally, pair, sampling) > 20


def test_a_padded_target_with_a_sharded_draft_that_is_padded_further(tally: Tally, tmp_path: Path) -> None:
    pair = load_pair(
        saved(tmp_path / "t", "qwen2", 4, 3, end_id=3),
        saved(tmp_path / "d", "qwen2", 5, 4, shard="2KB"),
        device="cpu",
        dtype="float64",
    )
    assert exact(tally, pair, Sampling(1.0)) > 20


@pytest.mark.parametrize("ids", [[3, 0], [1]], ids=str)
def test_an_id_mapped_draft_from_its_folder_on_a_sharded_and_padded_target(
    tally: Tally, tmp_path: Path, ids: list[int]
) -> None:
    target = saved(tmp_path / "t", "llama", 4, 1, shard="2KB", end_id=3)
    pair = load_pair(target, trimmed_draft(tmp_path / "d", 8, "t", ids), device="cpu", dtype="float64")
    assert pair.draft is not None and pair.draft.vocab == len(ids)
    assert exact(tally, pair, Sampling(1.0)) > 20


@pytest.mark.parametrize("side", ["target", "draft"])
def test_a_model_spread_over_several_places(tally: Tally, tmp_path: Path, side: str) -> None:
    """As `device_map="auto"` leaves it, the disk in another card's place."""
    pair = load_pair(
        saved(tmp_path / "t", "llama", 3, 1, end_id=2),
        saved(tmp_path / "d", "llama", 3, 2),
        device="cpu",
        dtype="float64",
    )
    places = {
        "model.embed_tokens": "disk",
        "model.layers.0": "cpu",
        "model.layers.1": "disk",
        "model.norm": "cpu",
    }
    places |= {"model.rotary_emb": "cpu", "lm_head": "disk"}
    model = getattr(pair, side).model
    spread = wrap(
        dispatch_model(model, places, main_device="cpu", offload_dir=str(tmp_path / "o")), name="spread"
    )
    whole = tiny_model(3, 3)
    target, draft = (spread, whole) if side == "target" else (whole, spread)
    assert exact(tally, Pair("spread", target, draft, "model"), Sampling(1.0), k=1) > 10
