"""One speculative step, thrown a hundred thousand times at once: the same rules on arrays, and no model is asked.

The enumeration gives a law to the last digit; this shows what one would see of it, beside what chance alone does to a
sample of that size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from specviz.bounds import whole
from specviz.decoding.coins import PURPOSES, Address
from specviz.decoding.rules import EXACT, RESIDUAL, Rules
from specviz.decoding.sampling import Draw, Sampling, cumulative
from specviz.exactness import faults
from specviz.exactness.enumeration import NextLaw, Text, accepted_below
from specviz.exactness.worlds import START, Table

MOST_TRIALS = 1_000_000
SURPRISE = 1e-3
SAMPLERS = 20_000  # right samplers whose samples show what chance does
BAND_SEED = 999  # not a throw's own: the band must not depend on what it judges
STEP_AFTER = 2  # the throws themselves read the numbers of step 1
ROUNDING = 1e-12
NOTHING = -1
SMALL_CODES = 4_000_000  # numbers up to this are counted, larger ones sorted

Ints = np.ndarray
Floats = np.ndarray


@dataclass(frozen=True)
class Rows:
    """Logits of the target and the draft, [R, V] each, and which row stands at a position after which token.

    `at(position, before)` takes the position from 1 and the tokens [N] before it (NOTHING at the first), and returns
    indices [N] into the rows.
    """

    target: Tensor
    draft: Tensor
    at: Callable[[int, Ints], Ints]


def rows_of_run(target: Tensor, draft: Tensor) -> Rows:
    """Return the rows of one step of a real run, k + 1 of the target and of the draft: row i at position i.

    They are taken as given whatever is drafted before them; where the draft has no row k + 1, repeat one, no right rule
    reads it. A law instead of logits is given by its logarithm, with temperature 1.
    """
    return Rows(target, draft, lambda position, before: np.full(len(before), position - 1))


def rows_of_tables(p: Table, q: Table) -> Rows:
    """Return the rows of a table's world, where the last token alone decides."""
    order = [START, *(last for last in p if last != START)]
    target, draft = (
        torch.tensor([table[last] for last in order], dtype=torch.float64).log() for table in (p, q)
    )
    return Rows(target, draft, lambda position, before: before + 1)


@dataclass(frozen=True)
class Sample:
    """Texts thrown: tokens [N, n], n being at most k + 1, NOTHING after the end of a shorter text."""

    tokens: Ints

    def first(self, vocab: int) -> Floats:
        """Return the share [V] of each token among the first ones."""
        return np.bincount(self.tokens[:, 0], minlength=vocab) / len(self.tokens)

    def counts(self) -> dict[Text, int]:
        """Return how often each text was thrown."""
        texts, which = _distinct(self.tokens)
        counts = np.bincount(which).tolist()
        return {
            tuple(token for token in text if token != NOTHING): count
            for text, count in zip(texts.tolist(), counts, strict=True)
        }

    def law(self) -> dict[Text, float]:
        """Return the share of each text."""
        return {text: count / len(self.tokens) for text, count in self.counts().items()}

    def gone_on(self, next_law: NextLaw, tokens: int, seed: int) -> dict[Text, float]:
        """Return the share of each text of `tokens` tokens, where the target draws what is missing to the texts thrown.

        Drawn, and not multiplied by its law as `continued` does: only then are these N throws of a whole text, which is what
        chance's band is about.
        """
        generator = np.random.default_rng([seed, STEP_AFTER])
        whole: Counter[Text] = Counter()
        growing = list(self.counts().items())
        while growing:
            text, count = growing.pop()
            if len(text) >= tokens:
                whole[text[:tokens]] += count
                continue
            law = np.array(next_law(text))
            drawn = generator.multinomial(count, law / law.sum()).tolist()
            growing += [((*text, token), times) for token, times in enumerate(drawn) if times]
        return {text: count / len(self.tokens) for text, count in whole.items()}


def throw(rows: Rows, k: int, sampling: Sampling, *, trials: int, seed: int, rules: Rules = EXACT) -> Sample:
    """Throw one step of k drafts `trials` times (1 to a million) and return what each put out, 1 to k + 1 tokens.

    Raises SpecVizError for a number of trials out of range.
    """
    check_trials(trials)
    step = _Step(rows, sampling, rules, trials, seed)
    drafts, kept = step.draft(k)
    accepted = step.verify(drafts, kept)
    return Sample(step.finish(drafts, kept, accepted))


def check_trials(trials: object) -> int:
    """Return a number of trials if it is whole and from 1 to a million, else raise SpecVizError."""
    return whole("The number of trials", trials, 1, MOST_TRIALS)


class _Step:
    """The laws and random numbers of N steps that are thrown together."""

    def __init__(self, rows: Rows, sampling: Sampling, rules: Rules, trials: int, seed: int) -> None:
        self.rows, self.rules, self.trials, self.seed = rows, rules, trials, seed
        self.p = rules.target_law(rows.target, sampling)
        self.drawn, self.q = rules.draft_law(rows.draft, sampling)
        self._thrown: dict[Address, Floats] = {}

    def u(self, position: int, purpose: str) -> Floats:
        """Return the uniforms [N] that a decision reads: two decisions that share an address share them."""
        address = self.rules.address(1, position, purpose)
        if address not in self._thrown:
            key = [self.seed, address[0], address[1], PURPOSES.index(address[2])]
            self._thrown[address] = np.random.default_rng(key).random(self.trials)
        return self._thrown[address]

    def before(self, drafts: Ints, position: int) -> Ints:
        """Return the drafts [N] before a position."""
        return drafts[:, position - 2] if position > 1 else np.full(self.trials, NOTHING)

    def draft(self, k: int) -> tuple[Ints, Ints]:
        """Return k drafts [N, k] and how many of each are kept for verification [N]."""
        drafts, rows = np.full((2, self.trials, k), NOTHING)
        for position in range(1, k + 1):
            u = self.u(position, "draft")
            rows[:, position - 1] = self.rows.at(position, self.before(drafts, position))
            for row, where in _groups(rows[:, position - 1]):
                ends = cumulative(self.drawn[row]).numpy()
                drafts[where, position - 1] = np.searchsorted(ends, u[where], side="right")
        return drafts, self._kept(rows, drafts)

    def _kept(self, rows: Ints, drafts: Ints) -> Ints:
        """Return how many drafts are kept [N], asking the rules once for each different set of them."""
        if self.rules.kept is EXACT.kept:
            return np.full(self.trials, drafts.shape[1])
        vocab = self.p.shape[-1]
        sets, inverse = _distinct(rows * vocab + drafts)
        ends = {row: cumulative(self.drawn[row]).tolist() for row in np.unique(rows).tolist()}

        def drawn(row: int, token: int) -> Draw:
            return Draw(token, ends[row][token - 1] if token else 0.0, ends[row][token])

        kept = [self.rules.kept([drawn(*divmod(cell, vocab)) for cell in cells]) for cells in sets.tolist()]
        return np.array(kept)[inverse]

    def verify(self, drafts: Ints, kept: Ints) -> Ints:
        """Return how many drafts are accepted [N], coins being thrown from left to right until one rejects."""
        accepted = np.zeros(self.trials, dtype=int)
        for position in range(1, drafts.shape[1] + 1):
            alive = (accepted == position - 1) & (position <= kept)
            row, x = self.rows.at(position, self.before(drafts, position)), drafts[:, position - 1]
            accepted[alive & (self.u(position, "accept") < self._bounds(row, x))] += 1
        return accepted

    def _bounds(self, row: Ints, x: Ints) -> Floats:
        """Return below which u the rules accept [N], asking them once for each different token in each row."""
        cells, inverse = np.unique(row * self.p.shape[-1] + x, return_inverse=True)
        p, q = (law.flatten()[torch.from_numpy(cells)].tolist() for law in (self.p, self.q))
        return np.array([accepted_below(self.rules, *both) for both in zip(p, q, strict=True)])[inverse]

    def finish(self, drafts: Ints, kept: Ints, accepted: Ints) -> Ints:
        """Return the tokens put out [N, k + 1]: the accepted drafts and what the rules draw after them."""
        k = drafts.shape[1]
        out = np.full((self.trials, k + 1), NOTHING)
        out[:, :k] = np.where(np.arange(k) < accepted[:, None], drafts, NOTHING)
        for case, where in _groups(accepted * (k + 1) + kept):
            passed, verified = divmod(case, k + 1)
            for index, kind in enumerate(self.rules.finals(passed, verified, False)):
                u = self.u(passed + 1 + index, "final")[where]
                spot = passed if kind == RESIDUAL else verified
                row = self.rows.at(spot + 1, self.before(drafts, spot + 1))[where]
                rejected = drafts[where, passed] if kind == RESIDUAL else np.full(len(where), NOTHING)
                out[where, passed + index] = self._final(kind, row, rejected, u, verified < k)
        return out

    def _final(self, kind: str, row: Ints, rejected: Ints, u: Floats, unverified: bool) -> Ints:
        """Draw final tokens [n] of one kind, together for those that have the same law."""
        only_p_and_q = self.rules.residual is not faults.without_rejected
        keys = row * (self.p.shape[-1] + 1) + (0 if kind != RESIDUAL or only_p_and_q else rejected + 1)
        tokens = np.empty(len(row), dtype=int)
        for _, where in _groups(keys):
            p, q = self.p[row[where[0]]], self.q[row[where[0]]]
            if kind == RESIDUAL:
                law, _ = self.rules.residual(p, q, int(rejected[where[0]]))
            else:
                law = self.rules.bonus_law(p, q if unverified else None)
            tokens[where] = np.searchsorted(cumulative(law).numpy(), u[where], side="right")
        return tokens


def _distinct(table: Ints) -> tuple[Ints, Ints]:
    """Return the different rows [M, n] of a table [N, n] and which of them each row is [N].

    Column by column each row becomes one number, which is sorted several times faster than whole rows are.
    """
    code = np.zeros(len(table), dtype=int)
    for column in table.T:
        low, high = int(column.min()), int(column.max())
        code = code * (high - low + 1) + (column - low)
        if int(code.max()) > SMALL_CODES:
            code = np.unique(code, return_inverse=True)[1].reshape(-1)
    which = (np.cumsum(np.bincount(code) > 0) - 1)[code]
    first = np.empty(int(which.max()) + 1, dtype=int)
    first[which[::-1]] = np.arange(len(table))[::-1]
    return table[first], which


def _groups(keys: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each different key with the places [n] where it stands."""
    order = np.argsort(keys, kind="stable")
    different, begins = np.unique(keys[order], return_index=True)
    yield from zip(different.tolist(), np.split(order, begins[1:]), strict=True)


# --- what chance alone does -------------------------------------------------------------------------------------------


def distance(shares: Floats, law: Floats) -> float:
    """Return the total variation of a sample's shares [V] from a law [V]."""
    return float(np.abs(shares - law).sum() / 2)


def chance_band(law: Floats, trials: int) -> tuple[float, float]:
    """Return between which total variations 999 of 1000 samples of a right sampler lie, of this law [C] and this size.

    Found by drawing SAMPLERS such samples: half of what is left out lies below the band, half above. It takes a fifth of a
    second for a hundred cells, and is meant for no more than a few hundred.
    """
    return _band(np.asarray(law, dtype=float).tobytes(), check_trials(trials))


@lru_cache(maxsize=64)
def _band(law: bytes, trials: int) -> tuple[float, float]:
    cells = np.frombuffer(law)
    drawn = np.random.default_rng(BAND_SEED).multinomial(trials, cells / cells.sum(), size=SAMPLERS)
    seen = np.abs(drawn / trials - cells).sum(axis=1) / 2
    low, high = np.quantile(seen, [SURPRISE / 2, 1 - SURPRISE / 2]).tolist()
    return max(0.0, low - ROUNDING), high + ROUNDING
