"""At temperature 0 the text has to be the target's own greedy text, token by token; where it is not, why.

With K + 1 rows in a pass a model rounds differently than with one, so two logits that are all but equal can change
places. A first difference is such a near-tie if the two tokens' logits lie within 2 units in the last place of the
model's dtype (in float32: within 0.001); anything else would be an error of the algorithm.

>>> from specviz import load_pair
>>> found = check_greedy(load_pair("toy"), "1 15 42", k=4, max_new_tokens=12)
>>> found.equal, len(found.plain)
(True, 12)
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from specviz.decoding.options import RunOptions
from specviz.decoding.plain import begin_plain
from specviz.decoding.rules import ACCEPTED
from specviz.decoding.run import begin
from specviz.decoding.sampling import Sampling
from specviz.models.cursors import Cursor
from specviz.models.pairs import Pair
from specviz.record.shape import known
from specviz.record.trace import Trace

GREEDY = Sampling(temperature=0.0)
NEAR = 2  # units in the last place
NEAR_IN_FLOAT32 = 1e-3


@dataclass(frozen=True)
class Contest:
    """Two tokens where the texts part, and the target's logits of both: with one row, and with the step's K + 1 rows.

    `ours` is the speculative text's token and `plain` the other one; `one_row` and `many_rows` are their logits in this
    order, `allowed` is how far apart the logits of a near-tie may lie.
    """

    index: int
    ours: int
    plain: int
    rows: int
    one_row: tuple[float, float]
    many_rows: tuple[float, float]
    allowed: float

    @property
    def near_tie(self) -> bool:
        """Whether rounding explains the difference: in one of the two passes the logits are as close as allowed."""
        return min(abs(a - b) for a, b in (self.one_row, self.many_rows)) <= self.allowed


@dataclass(frozen=True)
class GreedyCheck:
    """A speculative run at temperature 0, its baseline being the plain loop, and where the two texts part if they do."""

    trace: Trace
    contest: Contest | None

    @property
    def plain(self) -> list[int]:
        """The target's own greedy text, as ids."""
        return list(known(self.trace.data["baseline"])["token_ids"])

    @property
    def equal(self) -> bool:
        """Whether both texts are the same, token by token."""
        return self.trace.token_ids == self.plain


class Progress(NamedTuple):
    """How many tokens of at most how many are there, of the target alone or of the run with the draft."""

    with_draft: bool
    tokens: int
    most: int


def check_greedy(
    pair: Pair, prompt: str | Sequence[int], *, k: int, max_new_tokens: int, chat: bool | None = None
) -> GreedyCheck:
    """Run a prompt at temperature 0 with the draft and without it, and compare the two texts.

    Raises SpecVizError for what `decode` refuses.
    """
    going = checking(pair, prompt, k=k, max_new_tokens=max_new_tokens, chat=chat)
    while True:
        try:
            next(going)
        except StopIteration as end:
            return end.value


def checking(
    pair: Pair, prompt: str | Sequence[int], *, k: int, max_new_tokens: int, chat: bool | None = None
) -> Generator[Progress, None, GreedyCheck]:
    """Do what `check_greedy` does, yield how far it is, and return what was found."""
    options = RunOptions(k=k, max_new_tokens=max_new_tokens, sampling=GREEDY, chat=chat)
    plain = begin_plain(pair.target, prompt, options)
    for _ in plain:
        yield Progress(False, len(plain.token_ids), max_new_tokens)
    run = begin(pair, prompt, replace(options, baseline=plain.baseline))
    for step in run:
        yield Progress(True, step["totals"]["tokens"], max_new_tokens)
    both = enumerate(zip(run.trace.token_ids, plain.token_ids, strict=False))
    parted = next((index for index, (ours, other) in both if ours != other), None)
    return GreedyCheck(run.trace, None if parted is None else contest_at(pair, run.trace, parted))


def contest_at(pair: Pair, trace: Trace, index: int) -> Contest:
    """Return what the target's logits say of output token `index` (from 0), where a run and its baseline differ."""
    ours, plain = trace.token_ids[index], known(trace.data["baseline"])["token_ids"][index]
    one, (many, rows) = _plain_logits(pair, trace, index), _step_logits(pair, trace, index)
    one_row, many_rows = ((float(row[ours]), float(row[plain])) for row in (one, many))
    return Contest(
        index, ours, plain, rows, one_row, many_rows, _allowed(pair.target.dtype, max(map(abs, one_row)))
    )


@torch.inference_mode()
def _plain_logits(pair: Pair, trace: Trace, index: int) -> Tensor:
    """Return the logits [V] of output token `index`, one row after the other as the plain loop reads them."""
    cursor, prompt = _after_prompt(pair, trace)
    for token in [prompt[-1], *trace.token_ids[:index]]:
        logits = cursor.extend([token], 1)[0]
    return logits


@torch.inference_mode()
def _step_logits(pair: Pair, trace: Trace, index: int) -> tuple[Tensor, int]:
    """Return the logits [V] of output token `index` and of how many rows they are one, step by step as the run reads them."""
    cursor, prompt = _after_prompt(pair, trace)
    text, emitted = [*prompt, *trace.token_ids], 0
    for step in trace.data["steps"]:
        drafts = [draft["id"] for draft in step["drafts"]]
        begin = len(prompt) + emitted
        logits = cursor.extend([*text[cursor.length : begin], *drafts], len(drafts) + 1)
        if step["totals"]["tokens"] > index:
            break
        accepted = sum(draft["state"] == ACCEPTED for draft in step["drafts"])
        emitted = step["totals"]["tokens"]
        cursor.rollback(begin + accepted)
    return logits[index - emitted], len(drafts) + 1


def _after_prompt(pair: Pair, trace: Trace) -> tuple[Cursor, list[int]]:
    """Return a cursor that has read the prompt but its last token, as a run's prefill leaves it, and the prompt's ids."""
    cursor, prompt = pair.target.cursor(), trace.data["prompt"]["ids"]
    if len(prompt) > 1:
        cursor.extend(prompt[:-1], 0)
    return cursor, prompt


def _allowed(dtype: str, magnitude: float) -> float:
    if dtype in ("float32", "float64"):
        return NEAR_IN_FLOAT32
    return NEAR * torch.finfo(getattr(torch, dtype)).eps * 2.0 ** math.floor(math.log2(max(magnitude, 1e-6)))
