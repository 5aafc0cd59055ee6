"""A world of 100 tokens that needs no weights.

The target's logits are normal numbers that depend on the last two tokens, so it does look at its context; the draft's
are a mixture of those and of other normal numbers. `agreement` is the weight of the target's: at 1 the draft is the
target, at 0 it knows nothing of it. A token's text is its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from specviz.bounds import real
from specviz.errors import SpecVizError
from specviz.models.cursors import Stopwatch
from specviz.models.loaded import LoadedModel

VOCAB = 100
LIMIT = 4096
SPREAD = 2.5
DEFAULT_AGREEMENT = 0.9
_TARGET, _OTHER = 1, 2


@lru_cache(maxsize=20_000)
def _normals(world: int, before: int, last: int) -> np.ndarray:
    generator = np.random.Generator(np.random.Philox(key=world, counter=[0, before + 1, last, 0]))
    return generator.standard_normal(VOCAB)


def toy_logits(before: int, last: int, agreement: float) -> np.ndarray:
    """Return the logits [100] after the tokens `before` (-1 where there is none) and `last`."""
    own, other = _normals(_TARGET, before, last), _normals(_OTHER, before, last)
    return SPREAD * (agreement * own + np.sqrt(1 - agreement**2) * other)


class ToyCursor:
    """A place in a text of the toy world; agreement 1 is the target."""

    limit, vocab = LIMIT, VOCAB

    def __init__(self, agreement: float) -> None:
        self._agreement = agreement
        self._read: list[int] = []
        self._watch = Stopwatch(torch.device("cpu"))

    @property
    def length(self) -> int:
        """How many tokens were read."""
        return len(self._read)

    def extend(self, ids: Sequence[int], rows: int) -> Tensor:
        """Read `ids` and return the logits [rows, 100] after each of the last `rows` of them, in float64."""
        with self._watch:
            return self._logits(ids, rows)

    def _logits(self, ids: Sequence[int], rows: int) -> Tensor:
        self._read.extend(ids)
        padded = [-1, *self._read]
        spots = range(len(padded) - rows, len(padded))
        logits = [toy_logits(padded[spot - 1], padded[spot], self._agreement) for spot in spots]
        return torch.from_numpy(np.stack(logits)) if logits else torch.empty(0, VOCAB, dtype=torch.float64)

    def rollback(self, length: int) -> None:
        """Forget everything after the first `length` tokens."""
        del self._read[length:]

    def take_ms(self) -> float:
        """Return the milliseconds spent on logits since the last call."""
        return self._watch.take_ms()


class ToyTokenizer:
    """Reads prompts of token ids, as in "1 15 42", and writes a token as its number with a space before it."""

    def __call__(self, prompt: str) -> dict[str, list[int]]:
        """Return {"input_ids": ids}; raises SpecVizError for anything but ids from 0 to 99."""
        ids = []
        for word in prompt.replace(",", " ").split():
            if not (word.isascii() and word.isdigit() and int(word) < VOCAB):
                raise SpecVizError(
                    f"The toy's prompt is token ids from 0 to {VOCAB - 1}, as in 1 15 42; {word[:40]!r} is none."
                )
            ids.append(int(word))
        return {"input_ids": ids}

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token."""
        return f" {token}".encode()


def check_agreement(agreement: object) -> float:
    """Return how much the draft agrees with the target if it is a number from 0 to 1, else raise SpecVizError."""
    return real("The toy's agreement", agreement, 0, 1)


def agreement_of(name: str) -> float:
    """Return the agreement of a toy draft by its name, as `toy_model` gives it; raises SpecVizError for another name."""
    if name == "toy":
        return 1.0
    try:
        return check_agreement(float(name.removeprefix("toy-")))
    except ValueError:
        raise SpecVizError(f"There is no draft {name[:40]!r} of the toy.") from None


def toy_model(agreement: float = 1.0) -> LoadedModel:
    """Return the toy's target (agreement 1) or a draft for it; raises SpecVizError for an agreement out of [0, 1]."""
    agreement = check_agreement(agreement)
    tokenizer = ToyTokenizer()
    return LoadedModel(
        name="toy" if agreement == 1 else f"toy-{agreement:g}",
        source="computed, no weights",
        sha256=None,
        dtype="float64",
        device="cpu",
        limit=LIMIT,
        vocab=VOCAB,
        end_ids=frozenset(),
        tokenizer=tokenizer,
        model=None,
        cursor=lambda: ToyCursor(agreement),
        pieces=tokenizer.piece,
    )
