"""Two worlds that are small enough to enumerate: a table over three tokens, and real `transformers` models.

The table is the example that the project's exact figures are given for: the next token depends on the last one alone,
the first on nothing (its rows are `START`). The models have random weights, float64, and everything else that a big one
has: attention, a key-value cache, an end token, a longest text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from specviz.models.loaded import LoadedModel, wrap
from specviz.models.pairs import Pair
from specviz.models.tokens import token_pieces

START = -1
Table = dict[int, list[float]]

P: Table = {START: [0.5, 0.3, 0.2], 0: [0.6, 0.3, 0.1], 1: [0.2, 0.5, 0.3], 2: [0.1, 0.2, 0.7]}
Q: Table = {START: [0.2, 0.5, 0.3], 0: [0.3, 0.3, 0.4], 1: [0.5, 0.25, 0.25], 2: [0.3, 0.4, 0.3]}
FOUR: Table = {last: [0.35, 0.3, 0.2, 0.15] for last in (START, 0, 1, 2, 3)}
FOUR_DRAFT: Table = {last: [0.15, 0.15, 0.4, 0.3] for last in (START, 0, 1, 2, 3)}
PROMPT = [0]


class TableCursor:
    """A place in a text whose next token depends on the last one; the rows after the one-token prompt are `START`."""

    limit = 4096

    def __init__(self, table: Table) -> None:
        self._logits = {last: torch.tensor(row, dtype=torch.float64).log() for last, row in table.items()}
        self.vocab = len(table[START])
        self._read: list[int] = []

    @property
    def length(self) -> int:
        """How many tokens were read."""
        return len(self._read)

    def extend(self, ids: Sequence[int], rows: int) -> Tensor:
        """Read `ids` and return the logits [rows, V] after each of the last `rows` of them."""
        self._read += ids
        spots = range(len(self._read) - rows, len(self._read))
        logits = [self._logits[self._read[spot] if spot else START] for spot in spots]
        return torch.stack(logits) if logits else torch.empty(0, self.vocab, dtype=torch.float64)

    def rollback(self, length: int) -> None:
        """Forget everything after the first `length` tokens."""
        del self._read[length:]

    def take_ms(self) -> float:
        """Return 0: looking up a row takes no time worth a figure."""
        return 0.0


def table_model(table: Table, name: str) -> LoadedModel:
    """Return a model that reads its laws from a table {last token, or START: probabilities [V]}."""
    return LoadedModel(
        name=name,
        source="a table",
        sha256=None,
        dtype="float64",
        device="cpu",
        limit=TableCursor.limit,
        vocab=len(table[START]),
        end_ids=frozenset(),
        tokenizer=None,
        model=None,
        cursor=lambda: TableCursor(table),
        pieces=token_pieces(None),
    )


def table_pair(p: Table, q: Table) -> Pair:
    """Return the pair of a target and a draft that are tables over the same tokens."""
    return Pair("table", table_model(p, "table-p"), table_model(q, "table-q"), "model")


def tiny_model(vocab: int, seed: int, *, end_id: int | None = None, limit: int = 32) -> LoadedModel:
    """Return a GPT-2 of one layer in float64 over `vocab` tokens, its random weights large enough to have an opinion.

    Torch's own random state is left as it was.
    """
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=vocab,
        n_positions=limit,
        n_embd=8,
        n_layer=1,
        n_head=2,
        bos_token_id=None,
        eos_token_id=end_id,
    )
    model = with_seed(seed, lambda: GPT2LMHeadModel(config).double())
    return wrap(enlarged(model, 12.0), name=f"tiny-{vocab}-{seed}")


def with_seed(seed: int, build: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    """Return what `build` makes with torch's random numbers from `seed`, and leave their state as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


def enlarged(model: torch.nn.Module, factor: float) -> torch.nn.Module:
    """Multiply a model's matrices in place: freshly made ones are so small that every law is nearly uniform."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(factor)
    return model


def fixture_pair() -> Pair:
    """Return the pair of the three-token tables."""
    return table_pair(P, Q)


def tiny_pair(vocab: int = 3) -> Pair:
    """Return a pair of tiny models over the same tokens; the last one ends a text."""
    return Pair(
        "tiny", tiny_model(vocab, 2, end_id=vocab - 1), tiny_model(vocab, 3, end_id=vocab - 1), "model"
    )
