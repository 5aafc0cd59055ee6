"""What can propose tokens: a model, the target itself, a look-up in the text so far, or noise.

Exactness does not depend on the draft. Whatever proposes has to say which law each proposal was drawn from, and that
row is what the target tests it with: a proposal that involves no chance has a one-hot law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from specviz.models import Cursor, LoadedModel
from specviz.sampling import Draw, cumulative, draw

Law = Callable[[Tensor], tuple[Tensor, Tensor]]

UNLIMITED = 10**9


class Proposal(NamedTuple):
    """k drafted tokens with, for each, its draw and its rows over the target's vocabulary V.

    `uniforms` drew them, `laws` are the laws that the drafts are tested with (q), `ends` where each token's interval ends in the law that
    they were drawn from, `logits` the model's own (None where no model drafted); each a list of k rows [V].
    """

    uniforms: list[float]
    draws: list[Draw]
    laws: list[Tensor]
    ends: list[Tensor]
    logits: list[Tensor] | None

    @property
    def ids(self) -> list[int]:
        """The k drafted ids, in the target's vocabulary."""
        return [drawn.id for drawn in self.draws]


class Drafter:
    """Proposes up to k tokens that might follow a text; this base remembers nothing and has no forwards."""

    limit = UNLIMITED
    passes_per_token = 0

    def prefill(self, ids: Sequence[int]) -> None:
        """Read the prompt but its last token."""

    def propose(
        self, sequence: Sequence[int], k: int, uniforms: Callable[[int], float], law: Law
    ) -> Proposal:
        """Return at most k drafts that follow `sequence`; uniforms(i) in [0, 1) draws the i-th, from 1.

        `law` turns a row of logits into the law drawn from and the law tested with. Raises SpecVizError where the
        logits are not finite.
        """
        raise NotImplementedError

    def rollback(self, length: int) -> None:
        """Forget everything after the first `length` tokens."""

    def take_ms(self) -> float:
        """Return the milliseconds spent in forwards since the last call."""
        return 0.0


class ModelDrafter(Drafter):
    """A draft model: draws each token from its own law, given the text and the drafts before it."""

    passes_per_token = 1

    def __init__(self, draft: LoadedModel, vocab: int, device: torch.device) -> None:
        self._cursor: Cursor = draft.cursor()
        self._vocab, self._device = vocab, device
        self.limit = self._cursor.limit
        self._id_map = None if draft.id_map is None else draft.id_map.to(device)
        self._feed = input_ids(draft)

    def prefill(self, ids: Sequence[int]) -> None:
        if ids:
            self._cursor.extend([self._feed(token) for token in ids], 0)

    def propose(
        self, sequence: Sequence[int], k: int, uniforms: Callable[[int], float], law: Law
    ) -> Proposal:
        model_logits: list[Tensor] = []
        proposal = Proposal([], [], [], [], model_logits)
        unread = list(sequence[self._cursor.length :]) if k else []
        for position in range(1, k + 1):
            logits = self._cursor.extend([self._feed(token) for token in unread], 1)[0].to(self._device)
            logits = logits[: self._vocab]  # tokens that the target does not have can't be proposed
            drawn_from, tested_with = law(logits)
            placed = self._place(drawn_from, 0.0)
            ends = cumulative(placed)
            u = uniforms(position)
            drawn = draw(ends, u)
            proposal.uniforms.append(u)
            proposal.draws.append(drawn)
            proposal.ends.append(ends)
            proposal.laws.append(placed if tested_with is drawn_from else self._place(tested_with, 0.0))
            model_logits.append(self._place(logits, -torch.inf))
            unread = [drawn.id]
        return proposal

    def _place(self, row: Tensor, elsewhere: float) -> Tensor:
        """Put a row over the draft's vocabulary on the target's ids [V]."""
        if self._id_map is None and len(row) == self._vocab:
            return row
        placed = row.new_full((self._vocab,), elsewhere)
        ids = (
            torch.arange(len(row), device=row.device) if self._id_map is None else self._id_map.to(row.device)
        )
        placed[ids] = row
        return placed

    def rollback(self, length: int) -> None:
        self._cursor.rollback(length)

    def take_ms(self) -> float:
        return self._cursor.take_ms()


def input_ids(draft: LoadedModel) -> Callable[[int], int]:
    """Return a function from a target's id to the id that the draft reads for it.

    An id without an input row is read as the draft's end token: a function of the id alone, so the law stays one.
    """
    inputs = draft.vocab if draft.model is None else draft.model.get_input_embeddings().weight.shape[0]
    unknown = min((token for token in draft.end_ids if token < inputs), default=0)
    if draft.id_map is not None and inputs == len(draft.id_map):  # trimmed at its input too
        known = {token: row for row, token in enumerate(draft.id_map.tolist())}
        unknown = known.get(min(draft.end_ids, default=-1), 0)
        return lambda token: known.get(token, unknown)
    return lambda token: token if token < inputs else unknown


class OneHotDrafter(Drafter):
    """Proposes without chance: each law is one-hot on the proposed token."""

    def __init__(self, vocab: int, device: torch.device) -> None:
        self._vocab, self._device = vocab, device

    def choose(self, sequence: Sequence[int], k: int) -> list[int]:
        """Return at most k ids that might follow."""
        raise NotImplementedError

    def propose(
        self, sequence: Sequence[int], k: int, uniforms: Callable[[int], float], law: Law
    ) -> Proposal:
        proposal = Proposal([], [], [], [], None)
        for position, token in enumerate(self.choose(sequence, k), start=1):
            one_hot = torch.zeros(self._vocab, dtype=torch.float64, device=self._device)
            one_hot[token] = 1.0
            ends = cumulative(one_hot)
            proposal.uniforms.append(uniforms(position))
            proposal.draws.append(draw(ends, proposal.uniforms[-1]))
            proposal.laws.append(one_hot)
            proposal.ends.append(ends)
        return proposal


class LookupDrafter(OneHotDrafter):
    """Prompt lookup: copies what followed the latest earlier occurrence of the last 3, 2 or 1 tokens, longest first.

    Source: the idea of A. Saxena's prompt lookup decoding; as one-hot laws it is exact at every temperature.
    """

    longest = 3

    def choose(self, sequence: Sequence[int], k: int) -> list[int]:
        sequence = list(sequence)
        for size in range(min(self.longest, len(sequence) - 1), 0, -1):
            tail = sequence[-size:]
            for start in range(len(sequence) - size - 1, -1, -1):
                if sequence[start : start + size] == tail:
                    return sequence[start + size : start + size + k]
        return []


class NoiseDrafter(Drafter):
    """Proposes every token of the vocabulary with the same probability, at every temperature: the worst honest draft."""

    def __init__(self, vocab: int, device: torch.device) -> None:
        self._law = torch.full((vocab,), 1 / vocab, dtype=torch.float64, device=device)
        self._ends = cumulative(self._law)

    def propose(
        self, sequence: Sequence[int], k: int, uniforms: Callable[[int], float], law: Law
    ) -> Proposal:
        thrown = [uniforms(position) for position in range(1, k + 1)]
        draws = [draw(self._ends, u) for u in thrown]
        return Proposal(thrown, draws, [self._law] * k, [self._ends] * k, None)
