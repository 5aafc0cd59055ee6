"""The plain loop that a run is compared with: one target pass a token, the same warp and the same draws."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Unpack

import torch

from specviz.decoding import recording
from specviz.decoding.coins import Coins
from specviz.decoding.drafters import UNLIMITED
from specviz.decoding.options import Options, RunOptions, check_room, encode
from specviz.decoding.sampling import Sampling, cumulative, draw, warp
from specviz.models.cursors import Cursor
from specviz.models.loaded import LoadedModel
from specviz.record.shape import Baseline


def autoregress(target: LoadedModel, prompt: str | Sequence[int], **options: Unpack[Options]) -> Baseline:
    """Run the plain loop, one target pass a token, with the same warp, caches and draws as `decode`.

    Token i is drawn with the uniform at (i, 1, final). Takes max_new_tokens, sampling, seed, chat and overrides of
    `start`; returns {tokens, ms, token_ids}, ms being the loop's milliseconds without the prefill.
    """
    run = start_plain(target, prompt, **options)
    for _ in run:
        pass
    return run.baseline


def start_plain(target: LoadedModel, prompt: str | Sequence[int], **options: Unpack[Options]) -> PlainRun:
    """Prepare what `autoregress` runs and prefill the target, to be iterated token by token."""
    return begin_plain(target, prompt, RunOptions(**options))


def begin_plain(target: LoadedModel, prompt: str | Sequence[int], options: RunOptions) -> PlainRun:
    """Prepare what `start_plain` does, from options that were checked before."""
    ids, _, _ = encode(target, prompt, options.chat)
    coins = Coins(options.seed, options.overrides)
    cursor = target.cursor()
    check_room(ids, cursor.limit, UNLIMITED, len(ids))
    return PlainRun(cursor, ids, options.sampling, coins, options.max_new_tokens, target.end_ids)


class PlainRun:
    """The plain loop in progress: iterate over it for one token's id at a time; `stop()` ends it before the next.

    `token_ids` is what it has written, and `ms` says for each of these when it was there: the milliseconds of the loop
    so far, neither the prefill nor what happened between two tokens in them.
    """

    def __init__(
        self,
        cursor: Cursor,
        prompt: list[int],
        sampling: Sampling,
        coins: Coins,
        longest: int,
        end_ids: frozenset[int],
    ) -> None:
        self.token_ids: list[int] = []
        self.ms: list[float] = []
        self._cursor, self._prompt, self._sampling, self._coins = cursor, prompt, sampling, coins
        self._longest, self._end_ids = min(longest, cursor.limit - len(prompt)), end_ids
        self._finished = False
        self._prefill()

    @torch.inference_mode()
    def _prefill(self) -> None:
        if len(self._prompt) > 1:
            self._cursor.extend(self._prompt[:-1], 0)

    def stop(self) -> None:
        """End the loop before its next token; what there is stays."""
        self._finished = True

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        """Compute one token and return its id; raises SpecVizError where the model gives no finite logits."""
        if self._finished or len(self.token_ids) >= self._longest:
            raise StopIteration
        begin = time.perf_counter()
        self.token_ids.append(self._draw())
        self._finished = self._finished or self.token_ids[-1] in self._end_ids
        self.ms.append((self.ms[-1] if self.ms else 0.0) + (time.perf_counter() - begin) * 1e3)
        return self.token_ids[-1]

    @torch.inference_mode()
    def _draw(self) -> int:
        sequence = self._prompt + self.token_ids
        p = warp(self._cursor.extend(sequence[self._cursor.length :], 1)[0], self._sampling)
        return draw(cumulative(p), self._coins.u(len(self.token_ids) + 1, 1, "final")).id

    @property
    def baseline(self) -> Baseline:
        """What a trace keeps of the loop, so far."""
        return baseline_of(self.token_ids, self.ms)


def baseline_of(token_ids: Sequence[int], ms: Sequence[float]) -> Baseline:
    """Return what a trace keeps of a plain loop that wrote these tokens, each `ms` milliseconds after its begin."""
    whole = recording.figures(ms[-1]) if ms else 0.0
    return {"tokens": len(token_ids), "ms": whole, "token_ids": list(token_ids)}
