"""ZeroGPU: a Space whose GPU is lent for one function at a time, and that function runs in a forked process.

There the default pair is loaded before the page is served, in the main thread, which is how `spaces` gets at its
weights; what a run computes comes back as plain data, step by step. The toy, and pairs loaded later, run in this process
on the CPU. Where `spaces` is not installed, or there is no ZeroGPU, everything here passes calls on as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from typing import Any

import gradio as gr

from specviz.decoding import branch, plain
from specviz.decoding import run as decoding
from specviz.decoding.options import RunOptions
from specviz.decoding.plain import PlainRun, baseline_of
from specviz.decoding.run import Run
from specviz.errors import SpecVizError
from specviz.models.devices import best_device
from specviz.models.pairs import Pair, with_draft
from specviz.record.shape import Baseline, Step, TraceData
from specviz.record.trace import Trace

try:
    import spaces
except ImportError:
    spaces = None

ACTIVE = spaces is not None and os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")
SECONDS = (
    30  # what a run of the most tokens that the page allows may take; asking for more costs a visitor's quota
)

News = tuple[str, Any]
Work = Callable[..., Iterator[News]]

_lent: dict[str, Pair] = {}


def lend(pair: Pair) -> None:
    """Let a loaded pair's runs go to the GPU; has to happen before the page is served."""
    _lent[pair.name] = pair


def is_lent(pair: Pair) -> bool:
    """Whether a pair computes on the lent GPU."""
    return pair.name in _lent


def device_for(name: str, first: str) -> str | None:
    """Return where a pair is to be loaded: on ZeroGPU, the first one on its GPU and the others on the CPU."""
    if not ACTIVE:
        return None
    return "cuda:0" if name == first and best_device() == "cuda" else "cpu"


# --- in the forked process --------------------------------------------------------------------------------------------


def _compute(work: Work, name: str, draft: str, arguments: tuple[Any, ...]) -> Iterator[News]:
    """Yield what `work` yields for a lent pair, and where it is refused, the sentence: an error would lose its text."""
    pair = _lent[name]
    try:
        if draft != pair.draft_kind:
            pair = with_draft(pair, draft)
        yield from work(pair, *arguments)
    except SpecVizError as error:
        yield "refused", str(error)


on_gpu = spaces.GPU(duration=SECONDS)(_compute) if ACTIVE else _compute


def _run_steps(pair: Pair, prompt: str, options: RunOptions) -> Iterator[News]:
    yield from _steps(decoding.begin(pair, prompt, options))


def _branch_steps(pair: Pair, parent: TraceData, change: dict[str, Any]) -> Iterator[News]:
    yield from _steps(branch.start_branch(pair, Trace(parent), **change))


def _steps(run: Run) -> Iterator[News]:
    """Yield a run's trace as it begins, then what each step adds to it."""
    data = run.trace.data
    yield "begun", data
    named, written = set(data["tokens"]), len(data["token_ids"])
    for step in run:
        tokens = {token: text for token, text in data["tokens"].items() if token not in named}
        added = {
            "step": step,
            "tokens": tokens,
            "token_ids": data["token_ids"][written:],
            "stop": data["stop"],
        }
        yield "step", added
        named, written = named | set(tokens), len(data["token_ids"])


def _plain_tokens(pair: Pair, prompt: str, options: RunOptions) -> Iterator[News]:
    run = plain.begin_plain(pair.target, prompt, options)
    for token in run:
        yield "token", (token, run.ms[-1])


# --- in the page's process --------------------------------------------------------------------------------------------


def begin(pair: Pair, prompt: str, options: RunOptions) -> Run | LentRun:
    """Prepare a run as `specviz.start` does, on the lent GPU where that is the pair's place."""
    if not is_lent(pair):
        return decoding.begin(pair, prompt, options)
    return LentRun(_ask(_run_steps, pair, prompt, options))


def decode(pair: Pair, prompt: str, options: RunOptions) -> Trace:
    """Run a prompt to its end as `specviz.decode` does, on the lent GPU where that is the pair's place."""
    run = begin(pair, prompt, options)
    for _ in run:
        pass
    return run.trace


def start_branch(pair: Pair, parent: Trace, **change: Any) -> Run | LentRun:
    """Prepare a branch as `decoding.start_branch` does, on the lent GPU where that is the pair's place."""
    if not is_lent(pair):
        return branch.start_branch(pair, parent, **change)
    return LentRun(_ask(_branch_steps, pair, parent.data, change))


def begin_plain(pair: Pair, prompt: str, options: RunOptions) -> PlainRun | LentPlainRun:
    """Prepare the plain loop as `begin_plain` of `decoding.plain` does, on the lent GPU where that is the pair's place."""
    if not is_lent(pair):
        return plain.begin_plain(pair.target, prompt, options)
    return LentPlainRun(_ask(_plain_tokens, pair, prompt, options))


def _ask(work: Work, pair: Pair, *arguments: Any) -> Generator[News]:
    """Pass on what comes from the GPU's process; raises SpecVizError for what it, or the lender, refused."""
    try:
        for kind, news in on_gpu(work, pair.name, pair.draft_kind, arguments):
            if kind == "refused":
                raise SpecVizError(news)
            yield kind, news
    except gr.Error as error:  # no GPU is free, or the visitor's quota is used up
        raise SpecVizError(
            f"The Space's GPU could not be used: {' '.join(str(error.message).split())}"
        ) from None


class LentRun:
    """A run in another process, with the face of a `Run`: iterate over its steps; `trace` is valid at any moment."""

    def __init__(self, news: Generator[News]) -> None:
        self._news = news
        self._stopped = False
        _, data = next(news)
        self.trace = Trace(data)

    def stop(self) -> None:
        """End the run before its next step; what there is stays, and the trace says `stopped`."""
        self._stopped = True

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        """Wait for one step and return its record; raises SpecVizError where the run is refused."""
        if self._stopped:
            self._news.close()
            raise StopIteration
        data = self.trace.data
        try:
            _, added = next(self._news)
        except SpecVizError:
            data["stop"] = "error"
            raise
        data["steps"].append(added["step"])
        data["tokens"] |= added["tokens"]
        data["token_ids"] += added["token_ids"]
        data["stop"] = added["stop"]
        return added["step"]


class LentPlainRun:
    """The plain loop in another process, with the face of a `PlainRun`: iterate over its tokens."""

    def __init__(self, news: Generator[News]) -> None:
        self._news = news
        self._stopped = False
        self.token_ids: list[int] = []
        self.ms: list[float] = []

    def stop(self) -> None:
        """End the loop before its next token; what there is stays."""
        self._stopped = True

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        """Wait for one token and return its id; raises SpecVizError where the loop is refused."""
        if self._stopped:
            self._news.close()
            raise StopIteration
        _, (token, ms) = next(self._news)
        self.token_ids.append(token)
        self.ms.append(ms)
        return token

    @property
    def baseline(self) -> Baseline:
        """What a trace keeps of the loop, so far."""
        return baseline_of(self.token_ids, self.ms)
