"""What can propose tokens: a model, the target itself, a look-up in the text so far, or noise.

Exactness does not depend on the draft. Whatever proposes has to say which law each proposal was drawn from, and that
row is what the target tests it with: a proposal that involves no chance has a one-hot law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from specviz.decoding.sampling import Draw, cumulative, draw
from specviz.models.cursors import Cursor
from specviz.models.loaded import LoadedModel
from specviz.models.pairs import Pair

Law = Callable[[Tensor], tuple[Tensor, Tensor]]

UNLIMITED = 10**9


class Places(NamedTuple):
    """Where a draft's H tokens stand among the target's V: ascending `ids` [H], and each target id's row [V], -1 for none.

    `order` [H] brings the draft's own rows into that order, None where they are in it.
    """

    ids: Tensor
    rows: Tensor
    order: Tensor | None

    def spread(self, law: Tensor) -> Tensor:
        """Put a law [H] on the target's ids [V], where the others have no mass."""
        return law.new_zeros(len(self.rows)).index_copy_(0, self.ids, law)


class Proposal(NamedTuple):
    """k drafted tokens with, for each, its draw, and its law and draw over the draft's own H tokens.

    `uniforms` drew them; `tested` [H] are the laws that the drafts are tested with, `q` the probability that each gives
    to its draft. `ends` [H] are where each token's interval ends in the law that it was drawn from, `logits` [H] the
    draft model's own, None where no model drafted; `places` says which tokens those are, None where they are the
    target's own ids.
    """

    uniforms: list[float]
    draws: list[Draw]
    tested: list[Tensor]
    q: list[float]
    ends: list[Tensor]
    logits: list[Tensor] | None = None
    places: Places | None = None

    @property
    def ids(self) -> list[int]:
        """The k drafted ids, in the target's vocabulary."""
        return [drawn.id for drawn in self.draws]

    def law(self, index: int) -> Tensor:
        """Return the law [V] that draft `index` is tested with, over the target's ids (q)."""
        own = self.tested[index]
        return own if self.places is None else self.places.spread(own)


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
        self._places = places(draft.id_map, self._cursor.vocab, vocab, device)
        self._feed = input_ids(draft)

    def prefill(self, ids: Sequence[int]) -> None:
        if ids:
            self._cursor.extend([self._feed(token) for token in ids], 0)

    def propose(
        self, sequence: Sequence[int], k: int, uniforms: Callable[[int], float], law: Law
    ) -> Proposal:
        model_logits: list[Tensor] = []
        proposal = Proposal([], [], [], [], [], model_logits, self._places)
        unread = list(sequence[self._cursor.length :]) if k else []
        for position in range(1, k + 1):
            logits = self._cursor.extend([self._feed(token) for token in unread], 1)[0].to(self._device)
            logits = self._in_order(logits)
            drawn_from, tested_with = law(logits)
            ends = cumulative(drawn_from)  # the target's other ids have no interval
            u = uniforms(position)
            drawn = draw(ends, u)
            proposal.uniforms.append(u)
            proposal.q.append(float(tested_with[drawn.id]))
            if self._places is not None:
                drawn = drawn._replace(id=int(self._places.ids[drawn.id]))
            proposal.draws.append(drawn)
            proposal.ends.append(ends)
            proposal.tested.append(tested_with)
            model_logits.append(logits)
            unread = [drawn.id]
        return proposal

    def _in_order(self, logits: Tensor) -> Tensor:
        """Bring logits into the order of the target's ids; tokens that the target does not have can't be proposed."""
        if self._places is not None and self._places.order is not None:
            return logits[self._places.order]
        return logits[: self._vocab]

    def rollback(self, length: int) -> None:
        self._cursor.rollback(length)

    def take_ms(self) -> float:
        return self._cursor.take_ms()


def places(id_map: Tensor | None, size: int, vocab: int, device: torch.device) -> Places | None:
    """Return where a draft's `size` tokens stand among the target's `vocab`; None where they are the same."""
    if id_map is None and size >= vocab:
        return None
    ids, order = (torch.arange(size) if id_map is None else id_map.long()).to(device).sort()
    rows = torch.full((vocab,), -1, device=device)
    rows[ids] = torch.arange(len(ids), device=device)
    return Places(ids, rows, None if bool((order.diff() > 0).all()) else order)


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
        proposal = Proposal([], [], [], [], [])
        for position, token in enumerate(self.choose(sequence, k), start=1):
            one_hot = torch.zeros(self._vocab, dtype=torch.float64, device=self._device)
            one_hot[token] = 1.0
            ends = torch.zeros_like(one_hot)
            ends[token:] = 1.0
            proposal.uniforms.append(uniforms(position))
            proposal.draws.append(draw(ends, proposal.uniforms[-1]))
            proposal.tested.append(one_hot)
            proposal.q.append(1.0)
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
        return Proposal(thrown, draws, [self._law] * k, [float(self._law[0])] * k, [self._ends] * k)


def drafter_of(pair: Pair) -> Drafter:
    """Return a fresh drafter for one run of a pair."""
    device = torch.device("cpu" if pair.target.device.startswith("mps") else pair.target.device)
    if pair.draft_kind == "lookup":
        return LookupDrafter(pair.target.vocab, device)
    if pair.draft_kind == "noise":
        return NoiseDrafter(pair.target.vocab, device)
    return ModelDrafter(pair.draft or pair.target, pair.target.vocab, device)
