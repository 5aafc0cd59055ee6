"""What memory and arithmetic allow: peaks of machines, and upper bounds from weights, caches and a fixed cost a pass."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from specviz.errors import SpecVizError
from specviz.theory import expected_tokens, first_where

BITS_A_BYTE = 8
OPERATIONS_A_WEIGHT = 2  # a multiplication and an addition, for each row
KEY_AND_VALUE = 2


@dataclass(frozen=True)
class Machine:
    """What reads weights and multiplies: bytes a second from memory, operations a second, and where the figures are from.

    `memory` is its size in bytes, None where nobody said; `eight_bit` how many times as many 8-bit products it makes as
    16-bit ones; `overhead_s` the seconds that each pass of a model takes on top: starting kernels, choosing tokens.
    """

    name: str
    bytes_per_s: float
    flops: float
    source: str
    memory: float | None = None
    eight_bit: float = 1.0
    overhead_s: float = 0.0

    @property
    def balance(self) -> float:
        """Operations that fit into the time of reading one byte: the machine balance, FLOP/byte."""
        return self.flops / self.bytes_per_s


@dataclass(frozen=True)
class Model:
    """A model as memory sees it: parameters, bits of each, the share of them that one token uses (1 unless MoE), and the
    bytes that one token of the text takes in its KV cache.
    """

    parameters: float
    bits: float
    active: float = 1.0
    cache: float = 0.0

    @property
    def bytes(self) -> float:
        """The size of all weights."""
        return self.parameters * self.bits / BITS_A_BYTE


GB = 1e9
# Peaks for dense 16-bit matrix products: where a datasheet gives the figure with sparsity, half of it. All of these make
# twice as many products of 8 bits, FP8 or (A100) INT8.
MACHINES = (
    Machine("NVIDIA A100 80 GB SXM", 2.039e12, 312e12, "NVIDIA A100 datasheet: 80 GB, 2,039 GB/s, 312 TFLOPS BF16", 80 * GB, 2),
    Machine("NVIDIA H100 SXM", 3.35e12, 989e12, "NVIDIA H100 datasheet: 80 GB, 3.35 TB/s, 1,979 TFLOPS BF16 with sparsity", 80 * GB, 2),
    Machine("NVIDIA H200 SXM", 4.8e12, 989e12, "NVIDIA H200 datasheet: 141 GB, 4.8 TB/s, 1,979 TFLOPS BF16 with sparsity", 141 * GB, 2),
    Machine("NVIDIA B200", 8.0e12, 2250e12, "NVIDIA DGX B200 datasheet: 8 GPUs with 1,440 GB and 64 TB/s (as HGX boards listed at 7.7 TB/s each), 4.5 PFLOPS BF16 with sparsity", 180 * GB, 2),
    Machine("AMD Instinct MI300X", 5.3e12, 1307e12, "AMD Instinct MI300X datasheet: 192 GB, 5.3 TB/s, 1,307 TFLOPS BF16", 192 * GB, 2),
    Machine("NVIDIA GeForce RTX 4090", 1.008e12, 165e12, "NVIDIA Ada architecture paper: 24 GB, 1,008 GB/s, 165 TFLOPS FP16 with FP32 accumulation", 24 * GB, 2),
    Machine("NVIDIA L4", 0.3e12, 121e12, "NVIDIA L4 datasheet: 24 GB, 300 GB/s, 242 TFLOPS BF16 with sparsity", 24 * GB, 2),
)  # fmt: skip


def cache_bytes(layers: int, heads: int, width: int, bits: float = 16) -> float:
    """Return the bytes of KV cache for one token: a key and a value for each layer and each of its key-value heads.

    All four stand in a model's config.json: num_hidden_layers, num_key_value_heads, head_dim; `bits` those of a number.
    """
    return KEY_AND_VALUE * layers * heads * width * bits / BITS_A_BYTE


# Llama 3.1, from Meta's config.json: 80 and 32 layers, 8 key-value heads of 128 numbers.
CACHE_70B = cache_bytes(80, 8, 128)
CACHE_8B = cache_bytes(32, 8, 128)


def bytes_read(model: Model, rows: float, cached: float = 0) -> float:
    """Return the bytes that a pass over `rows` rows reads: weights, and the cache of `cached` tokens, of all texts together.

    A dense model reads all weights once, however many rows. In a mixture of experts each row picks its share evenly and
    by itself, so R rows miss a weight with chance (1 - active)^R. A text's cache is read once for all its rows.
    """
    return model.bytes * (1 - (1 - model.active) ** rows) + model.cache * cached


def operations(model: Model, rows: float) -> float:
    """Return the operations of a pass over `rows` rows: 2 for each weight that a row uses. Attention's are left out."""
    return OPERATIONS_A_WEIGHT * model.parameters * model.active * rows


def intensity(model: Model, rows: float, cached: float = 0) -> float:
    """Return the operations for each byte that a pass over `rows` rows reads, FLOP/byte."""
    return operations(model, rows) / bytes_read(model, rows, cached)


def pass_seconds(machine: Machine, model: Model, rows: float, cached: float = 0) -> float:
    """Return the least time of a pass: reading and arithmetic overlap, the longer one counts; the overhead comes on top."""
    reading = bytes_read(model, rows, cached) / machine.bytes_per_s
    return max(reading, operations(model, rows) / machine.flops) + machine.overhead_s


def free_rows(machine: Machine, model: Model, cached: float = 0) -> float:
    """Return the number of rows from which on arithmetic takes longer than reading: where further rows cost time.

    For a dense model without a cache balance x bits / 16: H100 at 16 bits, 295 rows. In a mixture of experts rows cost
    reading before that; this is still where arithmetic takes over. At least 1.
    """
    if intensity(model, 1, cached) >= machine.balance:
        return 1.0
    everything = bytes_read(model, float("inf"), cached)
    most = machine.balance * everything / (OPERATIONS_A_WEIGHT * model.parameters * model.active)
    return first_where(lambda rows: intensity(model, rows, cached) >= machine.balance, 1.0, most)


def plain_tokens_per_s(machine: Machine, target: Model, batch: int = 1, context: float = 0) -> float:
    """Return the most tokens a second without speculation, all `batch` texts of `context` tokens together."""
    return batch / pass_seconds(machine, target, batch, batch * context)


def speculative_tokens_per_s(
    machine: Machine, target: Model, draft: Model, alpha: float, k: int, batch: int = 1, context: float = 0
) -> float:
    """Return the most tokens a second with K drafts a step, all `batch` texts of `context` tokens together.

    A step is K draft passes over `batch` rows and one target pass over batch x (K + 1) rows.
    """
    cached = batch * context
    drafting = k * pass_seconds(machine, draft, batch, cached)
    seconds = drafting + pass_seconds(machine, target, batch * (k + 1), cached)
    return batch * expected_tokens(alpha, k) / seconds


def gain(
    machine: Machine, target: Model, draft: Model, alpha: float, k: int, batch: int = 1, context: float = 0
) -> float:
    """Return the bound with K drafts a step / the bound without; K = 0 is plain decoding."""
    ours = speculative_tokens_per_s(machine, target, draft, alpha, k, batch, context)
    return ours / plain_tokens_per_s(machine, target, batch, context)


def draft_cost(machine: Machine, target: Model, draft: Model, batch: int = 1, context: float = 0) -> float:
    """Return c: the time of a draft pass in units of a target pass, one row for each of `batch` texts."""
    cached = batch * context
    return pass_seconds(machine, draft, batch, cached) / pass_seconds(machine, target, batch, cached)


def bytes_moved(
    target: Model, draft: Model, alpha: float, k: int, tokens: int, context: float = 0
) -> tuple[float, float]:
    """Return the bytes read for `tokens` tokens of one text of `context` tokens, by the target and by the draft.

    K = 0 is plain decoding: the target's weights once a token, the draft's never.
    """
    passes = tokens / expected_tokens(alpha, k)
    return passes * bytes_read(target, k + 1, context), passes * k * bytes_read(draft, 1, context)


def bytes_held(models: tuple[Model, ...], batch: int = 1, context: float = 0) -> float:
    """Return the memory that models take: all their weights, and a KV cache in each for every text of the batch."""
    return sum(model.bytes + batch * context * model.cache for model in models)


def machines_needed(memory: float, held: float) -> int:
    """Return how many machines of a memory size hold some bytes; they could be more, for each needs working memory too."""
    return ceil(held / memory)


def machine_from(
    name: str,
    gigabytes_per_s: float,
    teraflops: float,
    source: str,
    gigabytes: float | None = None,
    overhead_ms: float = 0.0,
) -> Machine:
    """Return a machine from the units that people write; raises SpecVizError where one is not above 0 (overhead: below 0)."""
    if not (gigabytes_per_s > 0 and teraflops > 0 and (gigabytes is None or gigabytes > 0)):
        raise SpecVizError("A machine's bandwidth, peak and memory must be above 0.")
    if not overhead_ms >= 0:
        raise SpecVizError("A pass's overhead must not be below 0.")
    memory = None if gigabytes is None else gigabytes * GB
    return Machine(name, gigabytes_per_s * GB, teraflops * 1e12, source, memory, overhead_s=overhead_ms / 1e3)
