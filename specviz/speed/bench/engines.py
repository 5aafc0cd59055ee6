"""The loops that are measured against each other: ours, `transformers`' own, and the models' forwards alone.

Every run returns how many tokens came in how many milliseconds of decoding. Reading the prompt is timed nowhere: our clock
starts when both models have read it, that of `transformers` when its first pass (which reads it) has given its tokens,
which are then not counted either.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from specviz.decoding.plain import autoregress
from specviz.decoding.run import start
from specviz.decoding.sampling import Sampling
from specviz.models.cursors import Cursor
from specviz.models.loaded import LoadedModel
from specviz.models.pairs import Pair
from specviz.record.metrics import SHORTEST_MEASURED
from specviz.record.shape import Step
from specviz.record.trace import Trace


@dataclass(frozen=True)
class Workload:
    """What every loop does alike: the sampling, and at most so many new tokens a prompt."""

    sampling: Sampling
    tokens: int
    seed: int


@dataclass(frozen=True)
class Timed:
    """One loop on one prompt: `tokens` in `ms` of decoding, in `passes` of the target; a trace where it was ours."""

    tokens: int
    ms: float
    passes: int
    trace: Trace | None = None

    @property
    def speed(self) -> float | None:
        """Tokens per second; None for a text that ended too early to be timed."""
        return self.tokens / self.ms * 1e3 if self.tokens >= SHORTEST_MEASURED else None

    @property
    def steps(self) -> list[Step]:
        """The trace's steps; none where the loop is not our speculative one."""
        return [] if self.trace is None else self.trace.data["steps"]

    @property
    def acceptance(self) -> float | None:
        """Accepted / examined drafts; None where none was examined."""
        return None if self.trace is None else self.trace.metrics["acceptance_examined"]

    @property
    def overlap(self) -> float | None:
        """The mean of sum(min(p, q)) where a draft was examined: what acceptance tends to, with less chance in it."""
        return None if self.trace is None else self.trace.metrics["overlap_mean"]

    @property
    def overhead(self) -> float:
        """The share of the time that was spent outside the models' forwards."""
        return 1 - sum(step["ms"]["draft"] + step["ms"]["verify"] for step in self.steps) / self.ms


# --- ours -------------------------------------------------------------------------------------------------------------


def plain_loop(target: LoadedModel, prompt: Sequence[int], work: Workload) -> Timed:
    """Time our plain loop, one target pass a token."""
    run = autoregress(target, prompt, max_new_tokens=work.tokens, sampling=work.sampling, seed=work.seed)
    return Timed(run["tokens"], run["ms"], run["tokens"])


def speculative_loop(pair: Pair, k: int, prompt: Sequence[int], work: Workload) -> Timed:
    """Time our speculative loop with its trace, by the wall-clock around all its steps."""
    run = start(pair, prompt, k=k, max_new_tokens=work.tokens, sampling=work.sampling, seed=work.seed)
    begin = time.perf_counter()
    for _ in run:
        pass
    ms = (time.perf_counter() - begin) * 1e3
    return Timed(len(run.trace.token_ids), ms, len(run.trace.data["steps"]), run.trace)


# --- the forwards alone -----------------------------------------------------------------------------------------------


class Recorder:
    """A cursor that also writes down what it was asked for, as (its number, call, arguments), on a tape."""

    def __init__(self, cursor: Cursor, number: int, tape: list[tuple[int, str, tuple[Any, ...]]]) -> None:
        self._cursor, self._number, self._tape = cursor, number, tape
        self.limit, self.vocab = cursor.limit, cursor.vocab

    @property
    def length(self) -> int:
        return self._cursor.length

    def extend(self, ids: Sequence[int], rows: int) -> Tensor:
        self._tape.append((self._number, "extend", (list(ids), rows)))
        return self._cursor.extend(ids, rows)

    def rollback(self, length: int) -> None:
        self._tape.append((self._number, "rollback", (length,)))
        self._cursor.rollback(length)

    def take_ms(self) -> float:
        return self._cursor.take_ms()


class Tape:
    """The forwards and rollbacks of one run of a pair, to be done again with nothing between them."""

    def __init__(self, pair: Pair) -> None:
        self._calls: list[tuple[int, str, tuple[Any, ...]]] = []
        self._models = [pair.target] if pair.draft is None else [pair.target, pair.draft]
        target, *draft = [self._recording(model, number) for number, model in enumerate(self._models)]
        self.pair = replace(pair, target=target, draft=draft[0] if draft else None)

    def _recording(self, model: LoadedModel, number: int) -> LoadedModel:
        return replace(model, cursor=lambda: Recorder(model.cursor(), number, self._calls))

    @torch.inference_mode()
    def replay(self) -> float:
        """Do them again on fresh caches and return the milliseconds without the prefill."""
        cursors = [model.cursor() for model in self._models]
        calls = [(getattr(cursors[number], call), arguments) for number, call, arguments in self._calls]
        reads = [call == "extend" and arguments[1] == 0 for _, call, arguments in self._calls]
        prefills = reads.index(False)
        for call, arguments in calls[:prefills]:
            call(*arguments)
        self._synchronize()
        begin = time.perf_counter()
        for call, arguments in calls[prefills:]:
            call(*arguments)
        self._synchronize()
        return (time.perf_counter() - begin) * 1e3

    def _synchronize(self) -> None:
        for model in self._models:
            if model.device.startswith("cuda"):
                torch.cuda.synchronize(model.device)


# --- transformers' own ------------------------------------------------------------------------------------------------


class Clock:
    """A streamer: `transformers` hands it the prompt, and then what each target pass added to the text."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.times: list[float] = []

    def put(self, ids: Tensor) -> None:
        self.times.append(time.perf_counter())
        self.tokens.append(ids.numel())

    def end(self) -> None:
        """Called when the text is complete."""

    def timed(self) -> Timed:
        """Return what came after the first pass, which read the prompt."""
        return Timed(sum(self.tokens[2:]), (self.times[-1] - self.times[1]) * 1e3, len(self.tokens) - 2)


def plain_generate(target: LoadedModel, prompt: Sequence[int], work: Workload) -> Timed:
    """Time `generate` of `transformers` without an assistant."""
    return _generate(target, prompt, work, {})


def assisted_generate(
    target: LoadedModel, draft: LoadedModel, k: int, prompt: Sequence[int], work: Workload
) -> Timed:
    """Time `generate` with the draft as its assistant: K tokens a round, whatever its confidence in them."""
    from transformers import GenerationConfig

    assistant = copy.copy(draft.model)  # the same weights, settings of its own
    assistant.generation_config = GenerationConfig(
        num_assistant_tokens=k, num_assistant_tokens_schedule="constant", assistant_confidence_threshold=0.0
    )
    return _generate(target, prompt, work, {"assistant_model": assistant})


def _generate(target: LoadedModel, prompt: Sequence[int], work: Workload, options: dict[str, Any]) -> Timed:
    from transformers import GenerationConfig

    sampling = work.sampling
    chance = {"temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p}
    config = GenerationConfig(
        max_new_tokens=work.tokens,
        eos_token_id=sorted(target.end_ids) or None,
        pad_token_id=0,
        do_sample=not sampling.greedy,
        **({} if sampling.greedy else chance),
    )
    ids = torch.tensor([list(prompt)], device=target.device)
    clock = Clock()
    torch.manual_seed(work.seed)
    with _own_settings_off(target.model):
        target.model.generate(
            ids, attention_mask=torch.ones_like(ids), generation_config=config, streamer=clock, **options
        )
    return clock.timed()


@contextmanager
def _own_settings_off(model: Any) -> Iterator[None]:
    """Take away the model's own generation settings: `generate` fills gaps from them (a repetition penalty, say)."""
    from transformers import GenerationConfig

    kept, model.generation_config = model.generation_config, GenerationConfig()
    try:
        yield
    finally:
        model.generation_config = kept
