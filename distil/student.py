"""The student: a few decoder layers cut from the target, the target's frozen embedding, an output head over the used ids."""

from __future__ import annotations

import copy

import torch
from torch import nn


class Student(nn.Module):
    """Reads target ids, answers in head ids. `table` is the target's embedding matrix, neither trained nor saved."""

    def __init__(self, body: nn.Module, head: nn.Linear, table: torch.Tensor):
        super().__init__()
        self.body, self.head = body, head
        self.register_buffer("table", table, persistent=False)

    def forward(self, ids: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
        """Logits [n, H] at the n true places of `where` [rows, length]; rows are padded on the right.

        Padding needs no mask: attention is causal, so nothing that counts ever looks at it."""
        hidden = self.body(
            inputs_embeds=nn.functional.embedding(ids, self.table), use_cache=False
        ).last_hidden_state
        return self.head(hidden[where])


def student_config(target_config, layers: int):
    """The target's configuration with so many layers and no embedding of its own."""
    config = copy.deepcopy(target_config)
    config.num_hidden_layers = layers
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:layers]
    config.vocab_size = 1  # the body's own table, which nothing reads
    config.bos_token_id = config.eos_token_id = config.pad_token_id = None
    return config


def cut_student(target, layers: list[int], id_map: torch.Tensor) -> Student:
    """A student that begins as the given layers, the final norm and the head rows `id_map` [H] of `target`, in float32.

    For every family whose decoder is called model, with layers and a norm (Llama, Qwen, Mistral, ...)."""
    if not hasattr(getattr(target, "model", None), "layers"):
        raise SystemExit(
            f"{type(target).__name__} is built differently: its layers can't be cut out by distil.student."
        )
    config = student_config(target.config, len(layers))
    body = type(target.model)(config).float()
    body.embed_tokens = nn.Identity()
    for new, old in enumerate(layers):
        body.layers[new].load_state_dict(target.model.layers[old].float().state_dict())
    body.norm.load_state_dict(target.model.norm.float().state_dict())
    head = nn.Linear(config.hidden_size, len(id_map), bias=False)
    head.weight.data.copy_(target.get_output_embeddings().weight[id_map].float())
    return Student(body, head, target.get_input_embeddings().weight.detach().float().clone())
