"""A trimmed draft with a head over the target's whole vocabulary, which `transformers` can run as an assistant too."""

from __future__ import annotations

import copy

import torch
from torch import nn

from specviz.models.loaded import LoadedModel, wrap


def with_full_head(draft: LoadedModel, target: LoadedModel) -> LoadedModel:
    """Return a trimmed draft (`id_map` set) as a `transformers` model whose logits are those of the target's V ids.

    An id that the trimmed head lacks has a row of zeros and a bias of minus infinity: the draft's law stays what it was,
    and a forward costs what one with a trained head of V rows costs. The layers and the embedding are shared.
    """
    from transformers import AutoModelForCausalLM

    trimmed = draft.model
    config = copy.deepcopy(trimmed.model.config)
    config.vocab_size, config.tie_word_embeddings = target.vocab, False
    with torch.device("meta"):  # its own body and head are thrown away
        model = AutoModelForCausalLM.from_config(config)
    setattr(model, model.base_model_prefix, trimmed.model)
    model.set_output_embeddings(_full(trimmed.lm_head, trimmed.id_map.long(), target.vocab))
    model.requires_grad_(False)
    return wrap(
        model, draft.tokenizer, name=f"{draft.name}, full head", source=draft.source, sha256=draft.sha256
    )


def _full(head: nn.Linear, ids: torch.Tensor, vocab: int) -> nn.Linear:
    weight = head.weight
    full = nn.Linear(weight.shape[1], vocab, device=weight.device, dtype=weight.dtype)
    with torch.no_grad():
        full.weight.zero_().index_copy_(0, ids, weight)
        assert full.bias is not None
        full.bias.fill_(-torch.inf).index_fill_(0, ids, 0.0)
    return full
