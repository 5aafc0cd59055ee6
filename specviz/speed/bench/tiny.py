"""A pair so small that what is measured is mostly the engines themselves."""

from __future__ import annotations

import torch

from specviz.models.loaded import wrap
from specviz.models.pairs import Pair

VOCAB = 1000


def tiny_pair(device: str = "cpu") -> Pair:
    """Return a random target of two layers, 64 wide, with its own first layer as the draft; float32, 1,000 ids.

    The embedding and the head are the target's too. The numbers' spread is such that about 0.7 of the drafts are accepted.
    """
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        initializer_range=0.1,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        target = LlamaForCausalLM(config)
    draft = LlamaForCausalLM(LlamaConfig.from_dict(config.to_dict() | {"num_hidden_layers": 1}))
    draft.load_state_dict(target.state_dict(), strict=False)
    source = "random, no files"
    return Pair(
        "tiny",
        wrap(target.to(device), name="tiny", source=source),
        wrap(draft.to(device), name="tiny-draft", source=source),
        "model",
    )
