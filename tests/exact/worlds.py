"""Tiny real models of every kind that a draft may have, and an independent account of what ought to come out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from specviz.decoding.sampling import Sampling
from specviz.exactness.worlds import enlarged, tiny_model, with_seed
from specviz.models.loaded import LoadedModel, wrap
from specviz.models.pairs import Pair

PROMPT = [0, 1, 0, 1]  # its end stands in it before, so that prompt lookup has something to propose
TARGET, DRAFT = 2, 3


def _trimmed_at_its_output(vocab: int) -> LoadedModel:
    """A draft that reads the target's ids and answers over all but one of them, in an order of its own."""
    draft = tiny_model(vocab, DRAFT).model
    ids = torch.arange(vocab).roll(1)[: vocab - 1]
    draft.lm_head = with_seed(DRAFT, lambda: torch.nn.Linear(8, len(ids), bias=False).double())
    with torch.no_grad():
        draft.lm_head.weight.mul_(4.0)
    return wrap(draft, name="tiny-trimmed", id_map=ids)


def _trimmed_at_both_ends(vocab: int) -> LoadedModel:
    return wrap(
        tiny_model(vocab - 1, DRAFT).model,
        name="tiny-trimmed-twice",
        id_map=torch.arange(vocab).flip(0)[: vocab - 1],
    )


MODELS: dict[str, Callable[[int], LoadedModel]] = {
    "equal": lambda vocab: tiny_model(vocab, DRAFT),
    "smaller": lambda vocab: tiny_model(vocab - 1, DRAFT),
    "larger": lambda vocab: tiny_model(vocab + 2, DRAFT),
    "trimmed": _trimmed_at_its_output,
    "trimmed twice": _trimmed_at_both_ends,
}
DRAFTS = (*MODELS, "self", "lookup", "noise")


@cache
def pair_with(draft: str, vocab: int) -> Pair:
    """A tiny target whose last id ends a text, with a draft of the named kind."""
    target = tiny_model(vocab, TARGET, end_id=vocab - 1)
    if draft in MODELS:
        return Pair("tiny", target, MODELS[draft](vocab), "model")
    return Pair("tiny", target, target if draft == "self" else None, draft)


def tiny_llama(vocab: int, seed: int, end_id: int | None = None) -> LoadedModel:
    """A Llama of two layers in float64, with rotary positions and grouped heads."""
    config = LlamaConfig(
        vocab_size=vocab,
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32,
        bos_token_id=None,
        eos_token_id=end_id,
    )
    model = with_seed(seed, lambda: LlamaForCausalLM(config).double())
    return wrap(enlarged(model, 12.0), name=f"tiny-llama-{seed}")


def reference_warp(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Temperature, top-k and top-p as one would write them down, without regard for speed: float64 [V]."""
    law = np.zeros(len(logits))
    if sampling.temperature == 0:
        law[int(np.argmax(logits))] = 1.0
        return law
    weights = np.exp((logits - logits.max()) / sampling.temperature)
    order = sorted(range(len(weights)), key=lambda token: (-weights[token], token))
    if sampling.top_k:
        least = weights[order[min(sampling.top_k, len(order)) - 1]]
        order = [token for token in order if weights[token] >= least]
    whole = sum(weights[token] for token in order)
    mass = 0.0
    for token in order:
        law[token] = weights[token]
        mass += weights[token] / whole
        if mass >= sampling.top_p:
            break
    return law / law.sum()


def own_law(
    model: LoadedModel, prompt: list[int], sampling: Sampling, tokens: int
) -> dict[tuple[int, ...], float]:
    """The plain law of whole texts of a model: a full forward without a cache for every prefix."""
    law: dict[tuple[int, ...], float] = {}

    def grow(text: tuple[int, ...], weight: float) -> None:
        if len(text) == tokens or (text and text[-1] in model.end_ids):
            law[text] = law.get(text, 0.0) + weight
            return
        for token, p in enumerate(reference_warp(_raw(model, (*prompt, *text)), sampling)):
            if p > 0:
                grow((*text, token), weight * p)

    grow((), 1.0)
    return law


@cache
def _raw(model: LoadedModel, ids: tuple[int, ...]) -> np.ndarray:
    with torch.inference_mode():
        return model.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].double().numpy()
