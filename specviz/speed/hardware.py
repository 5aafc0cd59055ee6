"""What memory and arithmetic allow: peaks of machines, and upper bounds from weights alone."""

from __future__ import annotations

from dataclasses import dataclass

from specviz.errors import SpecVizError
from specviz.theory import expected_tokens, first_where

BITS_A_BYTE = 8
OPERATIONS_A_WEIGHT = 2  # a multiplication and an addition, for each row


@dataclass(frozen=True)
class Machine:
    """What reads weights and multiplies: bytes a second from memory, operations a second, and where the figures are from."""

    name: str
    bytes_per_s: float
    flops: float
    source: str

    @property
    def balance(self) -> float:
        """Operations that fit into the time of reading one byte: the machine balance, FLOP/byte."""
        return self.flops / self.bytes_per_s


@dataclass(frozen=True)
class Model:
    """A model as memory sees it: parameters, bits of each, and the share of them that one token uses (1 unless MoE)."""

    parameters: float
    bits: float
    active: float = 1.0

    @property
    def bytes(self) -> float:
        """The size of all weights."""
        return self.parameters * self.bits / BITS_A_BYTE


# Peaks for dense 16-bit matrix products: where a datasheet gives the figure with sparsity, half of it.
MACHINES = (
    Machine("NVIDIA A100 80 GB SXM", 2.039e12, 312e12, "NVIDIA A100 datasheet: 2,039 GB/s, 312 TFLOPS BF16"),
    Machine("NVIDIA H100 SXM", 3.35e12, 989e12, "NVIDIA H100 datasheet: 3.35 TB/s, 1,979 TFLOPS BF16 with sparsity"),
    Machine("NVIDIA H200 SXM", 4.8e12, 989e12, "NVIDIA H200 datasheet: 4.8 TB/s, 1,979 TFLOPS BF16 with sparsity"),
    Machine("NVIDIA B200", 8.0e12, 2250e12, "NVIDIA Blackwell datasheet: up to 8 TB/s, 4.5 PFLOPS BF16 with sparsity"),
    Machine("AMD Instinct MI300X", 5.3e12, 1307e12, "AMD Instinct MI300X datasheet: 5.3 TB/s, 1,307 TFLOPS BF16"),
    Machine("NVIDIA GeForce RTX 4090", 1.008e12, 165e12, "NVIDIA Ada architecture paper: 1,008 GB/s, 165 TFLOPS FP16 with FP32 accumulation"),
    Machine("NVIDIA L4", 0.3e12, 121e12, "NVIDIA L4 datasheet: 300 GB/s, 242 TFLOPS BF16 with sparsity"),
)  # fmt: skip


def bytes_read(model: Model, rows: float) -> float:
    """Return the bytes of weights that a pass over `rows` rows reads.

    A dense model reads all of them once, however many rows. In a mixture of experts each row picks its share evenly and
    by itself, so R rows miss a weight with chance (1 - active)^R.
    """
    return model.bytes * (1 - (1 - model.active) ** rows)


def operations(model: Model, rows: float) -> float:
    """Return the operations of a pass over `rows` rows: 2 for each weight that a row uses."""
    return OPERATIONS_A_WEIGHT * model.parameters * model.active * rows


def intensity(model: Model, rows: float) -> float:
    """Return the operations for each byte that a pass over `rows` rows reads, FLOP/byte."""
    return operations(model, rows) / bytes_read(model, rows)


def pass_seconds(machine: Machine, model: Model, rows: float) -> float:
    """Return the least time of a pass: reading and arithmetic overlap, the longer one counts. Caches are left out."""
    return max(bytes_read(model, rows) / machine.bytes_per_s, operations(model, rows) / machine.flops)


def free_rows(machine: Machine, model: Model) -> float:
    """Return the number of rows from which on arithmetic takes longer than reading: where further rows cost time.

    For a dense model balance x bits / 16: H100 at 16 bits, 295 rows. In a mixture of experts rows cost reading before
    that; this is still where arithmetic takes over. At least 1.
    """
    if intensity(model, 1) >= machine.balance:
        return 1.0
    most = machine.balance * model.bits / BITS_A_BYTE / OPERATIONS_A_WEIGHT / model.active
    return first_where(lambda rows: intensity(model, rows) >= machine.balance, 1.0, most)


def plain_tokens_per_s(machine: Machine, target: Model, batch: int = 1) -> float:
    """Return the most tokens a second without speculation, all `batch` sequences together."""
    return batch / pass_seconds(machine, target, batch)


def speculative_tokens_per_s(
    machine: Machine, target: Model, draft: Model, alpha: float, k: int, batch: int = 1
) -> float:
    """Return the most tokens a second with K drafts a step, all `batch` sequences together.

    A step is K draft passes over `batch` rows and one target pass over batch x (K + 1) rows.
    """
    seconds = k * pass_seconds(machine, draft, batch) + pass_seconds(machine, target, batch * (k + 1))
    return batch * expected_tokens(alpha, k) / seconds


def bytes_moved(target: Model, draft: Model, alpha: float, k: int, tokens: int) -> tuple[float, float]:
    """Return the bytes of weights read for `tokens` tokens of one sequence, by the target and by the draft.

    K = 0 is plain decoding: the target's weights once a token, the draft's never.
    """
    passes = tokens / expected_tokens(alpha, k)
    return passes * bytes_read(target, k + 1), passes * k * bytes_read(draft, 1)


def machine_from(name: str, gigabytes_per_s: float, teraflops: float, source: str) -> Machine:
    """Return a machine from the units that people write; raises SpecVizError where one is not above 0."""
    if not (gigabytes_per_s > 0 and teraflops > 0):
        raise SpecVizError("A machine's bandwidth and peak must be above 0.")
    return Machine(name, gigabytes_per_s * 1e9, teraflops * 1e12, source)
