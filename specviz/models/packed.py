"""A Llama-like decoder's forward on a CPU with packed matrices: the same model in about half the time.

Decoding on a CPU waits for the weights to come from memory, and then for a few hundred small operations. A matrix that
is packed once, for as few rows as a verification has, is read much faster; with the query, key and value matrices as
one, the gate and up matrices as one, and a cache that is written in place, a forward also takes fewer operations. The
packed copy stands beside the model's own weights: the model stays what `transformers` made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from specviz.models.cursors import Stopwatch, check_fits
from specviz.models.devices import RAN_OUT, memory_errors

MODEL_TYPES = ("llama", "qwen2", "qwen3")
STATIC_ROPE = ("default", "linear", "llama3")  # the others change their frequencies with the text's length
DTYPES = (torch.float32, torch.bfloat16)
MOST_BYTES = 4 * 2**30  # the copy doubles a model's memory
ROWS = 8  # what the packing has in mind; any number works
FIRST_CAPACITY = 256


def can_pack(model: Any, body: Any) -> bool:
    """Whether `model`, whose decoder is `body`, is one of those that this file computes: on a CPU, small, Llama-like."""
    config: Any = getattr(body, "config", None)
    if getattr(config, "model_type", None) not in MODEL_TYPES or not _has_packed_products():
        return False
    weights = list(model.parameters())
    return (
        {each.device.type for each in weights} == {"cpu"}
        and {each.dtype for each in weights} in [{dtype} for dtype in DTYPES]
        and sum(each.numel() * each.element_size() for each in weights) <= MOST_BYTES
        and config.hidden_act == "silu"
        and set(getattr(config, "layer_types", None) or {"full_attention"}) == {"full_attention"}
        and body.rotary_emb.rope_type in STATIC_ROPE
    )


def _has_packed_products() -> bool:
    """Whether this build of torch multiplies by packed matrices; they are no part of its public face."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


@dataclass(frozen=True)
class Matrix:
    """A packed matrix [out, in] and its bias [out]."""

    packed: Tensor
    bias: Tensor | None

    def __call__(self, rows: Tensor) -> Tensor:
        """Return rows [R, in] times the matrix: [R, out]."""
        return torch.ops.mkldnn._linear_pointwise(rows, self.packed, self.bias, "none", [], "")


def _matrix(*linears: Any) -> Matrix:
    """Put matrices that read the same rows under each other, and pack them as one."""
    weight = torch.cat([each.weight for each in linears])
    bias = None if linears[0].bias is None else torch.cat([each.bias for each in linears])
    return Matrix(torch.ops.mkldnn._reorder_linear_weight(weight, ROWS), bias)


@dataclass(frozen=True)
class Norm:
    """A root-mean-square norm over the last dimension."""

    weight: Tensor
    epsilon: float

    def __call__(self, rows: Tensor) -> Tensor:
        """Return rows [..., n] of mean square 1, times the weight [n]."""
        return functional.rms_norm(rows, self.weight.shape, self.weight, self.epsilon)


def _norm(module: Any) -> Norm:
    return Norm(module.weight, module.variance_epsilon)


@dataclass(frozen=True)
class Layer:
    """One decoder layer; `of_heads` are the norms of queries and keys, where a model has them."""

    before_attention: Norm
    qkv: Matrix
    of_heads: tuple[Norm, Norm] | None
    out: Matrix
    before_mlp: Norm
    gate_up: Matrix
    down: Matrix


def _layer(module: Any) -> Layer:
    attention, mlp = module.self_attn, module.mlp
    norms = [getattr(attention, name, None) for name in ("q_norm", "k_norm")]
    return Layer(
        _norm(module.input_layernorm),
        _matrix(attention.q_proj, attention.k_proj, attention.v_proj),
        (_norm(norms[0]), _norm(norms[1])) if all(norms) else None,
        _matrix(attention.o_proj),
        _norm(module.post_attention_layernorm),
        _matrix(mlp.gate_proj, mlp.up_proj),
        _matrix(mlp.down_proj),
    )


class PackedModel:
    """A decoder's packed layers and head; its embedding and its rotary frequencies are the model's own."""

    @torch.no_grad()
    def __init__(self, body: Any, head: Any) -> None:
        config = body.config
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.head_dim = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.embedding, self._rotary = body.embed_tokens, body.rotary_emb
        self.layers = [_layer(module) for module in body.layers]
        self._norm, self._head = _norm(body.norm), _matrix(head)

    def read(self, ids: Sequence[int], rows: int, memory: Memory) -> Tensor:
        """Read `ids` after what `memory` holds, add them to it, and return the logits [rows, V] after the last `rows`."""
        before, count = memory.length, len(ids)
        keys, values = memory.room_for(count)
        hidden = self.embedding(torch.tensor(ids))
        turn, mask = self._turn(hidden, before), self._mask(hidden, before)
        for layer, its_keys, its_values in zip(self.layers, keys, values, strict=True):
            q, k, v = self._split(layer, layer.qkv(layer.before_attention(hidden)), turn)
            its_keys[:, before:] = k
            its_values[:, before:] = v
            mixed = functional.scaled_dot_product_attention(q[None], its_keys[None], its_values[None], mask)
            hidden = hidden + layer.out(self._join(mixed, count))
            gate, up = layer.gate_up(layer.before_mlp(hidden)).chunk(2, -1)
            hidden = hidden + layer.down(functional.silu(gate).mul_(up))
        memory.length += count
        return self._head(self._norm(hidden[count - rows :]))

    def _split(self, layer: Layer, qkv: Tensor, turn: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries [G, group * R, d], keys [G, R, d] and values [G, R, d] of G key heads, rotary embedding applied.

        The queries that share a key head stand under each other, so that no key is ever copied for them.
        """
        count, rotated = len(qkv), self.heads + self.kv_heads
        by_head = qkv.view(count, rotated + self.kv_heads, self.head_dim)
        qk = by_head[:, :rotated]
        if layer.of_heads is not None:
            q_norm, k_norm = layer.of_heads
            qk = torch.cat([q_norm(qk[:, : self.heads]), k_norm(qk[:, self.heads :])], 1)
        cos, sin = turn
        qk = torch.addcmul(qk * cos, qk.roll(self.head_dim // 2, -1), sin).transpose(0, 1)
        q = qk[: self.heads].reshape(self.kv_heads, -1, self.head_dim)
        return q, qk[self.heads :], by_head[:, rotated:].transpose(0, 1)

    def _join(self, mixed: Tensor, count: int) -> Tensor:
        """Return what the heads saw, [1, G, group * R, d], as rows [R, heads * d]."""
        return mixed.reshape(self.heads, count, self.head_dim).transpose(0, 1).reshape(count, -1)

    def _turn(self, hidden: Tensor, before: int) -> tuple[Tensor, Tensor]:
        """Return the rotary embedding's cos and sin [R, 1, d] after `before` tokens, sin signed for a swap of halves."""
        cos, sin = self._rotary(hidden, torch.arange(before, before + len(hidden))[None])
        half = self.head_dim // 2
        return cos[0, :, None], torch.cat([-sin[0, :, None, :half], sin[0, :, None, half:]], -1)

    def _mask(self, hidden: Tensor, before: int) -> Tensor | None:
        """Return what hides later tokens from R rows that follow `before` ones, [group * R, before + R]; one row has none."""
        count = len(hidden)
        if count == 1:
            return None
        hides = hidden.new_full((count, before + count), -torch.inf).triu_(before + 1)
        return hides.repeat(self.heads // self.kv_heads, 1)


class Memory:
    """The keys and values of the text read so far, [layers, G, capacity, d] each; only the first `length` count."""

    def __init__(self, model: PackedModel) -> None:
        self.length = 0
        shape = (len(model.layers), model.kv_heads, 0, model.head_dim)
        dtype = model.embedding.weight.dtype
        self._keys, self._values = torch.empty(shape, dtype=dtype), torch.empty(shape, dtype=dtype)

    def room_for(self, count: int) -> tuple[Tensor, Tensor]:
        """Return keys and values cut to the text and `count` tokens more, which are to be written there."""
        whole = self.length + count
        if whole > self._keys.shape[2]:
            capacity = max(FIRST_CAPACITY, 2 * whole)
            self._keys, self._values = (self._grown(old, capacity) for old in (self._keys, self._values))
        return self._keys[:, :, :whole], self._values[:, :, :whole]

    def _grown(self, old: Tensor, capacity: int) -> Tensor:
        new = old.new_empty(*old.shape[:2], capacity, old.shape[3])
        new[:, :, : self.length] = old[:, :, : self.length]
        return new


class PackedCursor:
    """A packed model's place in one run."""

    def __init__(self, model: PackedModel, limit: int, vocab: int) -> None:
        self.limit, self.vocab = limit, vocab
        self._model, self._memory = model, Memory(model)
        self._watch = Stopwatch(torch.device("cpu"))

    @property
    def length(self) -> int:
        """How many tokens were read."""
        return self._memory.length

    @memory_errors(RAN_OUT)
    @torch.inference_mode()
    def extend(self, ids: Sequence[int], rows: int) -> Tensor:
        """Read `ids` (at least one) and return the logits [rows, vocab] after each of the last `rows` of them."""
        check_fits(self.length + len(ids), self.limit)
        with self._watch:
            return self._model.read(ids, rows, self._memory)

    def rollback(self, length: int) -> None:
        """Forget everything after the first `length` tokens; does nothing where no more were read."""
        self._memory.length = min(self._memory.length, length)

    def take_ms(self) -> float:
        """Return the milliseconds spent in forwards since the last call."""
        return self._watch.take_ms()
