"""A run of speculative decoding, step by step.

A run knows nothing of files, pages or printing. Each step may be computed in another thread: `inference_mode` covers
the one function that computes it and never spans a pause between steps.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Unpack
from uuid import uuid4

import torch

from specviz.decoding import recording
from specviz.decoding.coins import Coins
from specviz.decoding.drafters import drafter_of
from specviz.decoding.options import Options, RunOptions, check_room, encode
from specviz.decoding.rules import Rules
from specviz.decoding.sampling import Sampling
from specviz.decoding.step import Terms, Verdict, speculate
from specviz.models.devices import RAN_OUT, memory_errors
from specviz.models.pairs import Pair
from specviz.record.shape import (
    KReason,
    Outcome,
    Step,
    StepMs,
    Stop,
    Totals,
    new_record,
    overrides_from,
    overrides_of,
)
from specviz.record.trace import Trace

NOTHING_YET: Totals = {"tokens": 0, "target_passes": 0, "draft_passes": 0}

# --- the run ----------------------------------------------------------------------------------------------------------


class Run:
    """A run in progress: iterate over it for one step's record at a time; `trace` is valid at any moment.

    Holds the text so far and both models' places in it. `stop()` ends it before its next step.
    """

    def __init__(self, pair: Pair, trace: Trace, rules: Rules, already: Sequence[int] = ()) -> None:
        settings, weights = trace.data["settings"], trace.data["weights"]
        self.trace = trace
        self._pair = pair
        sampling = Sampling(settings["temperature"], settings["top_k"], settings["top_p"])
        coins = Coins(settings["seed"], overrides_of(settings))
        self._terms = Terms(coins, sampling, frozenset(settings["end_ids"]), rules)
        self._k, self._max_new_tokens = settings["k"], settings["max_new_tokens"]
        self._prompt_length = len(trace.data["prompt"]["ids"])
        self._sequence = [*trace.data["prompt"]["ids"], *already]
        self._target = pair.target.cursor()
        self._drafter = drafter_of(pair)
        self._stopped = self._finished = False
        self._waits_count = all(  # a thread that waits for a GPU is at work
            side is None or side["device"] == "cpu" for side in (weights["target"], weights["draft"])
        )
        check_room(self._sequence, self._target.limit, self._drafter.limit, self._prompt_length)
        self._prefill()

    @torch.inference_mode()
    def _prefill(self) -> None:
        known = self._sequence[:-1]
        if known:
            self._target.extend(known, 0)
            self._drafter.prefill(known)
        self.trace.data["prefill_ms"] = {
            "target": recording.figures(self._target.take_ms()),
            "draft": recording.figures(self._drafter.take_ms()),
        }

    def stop(self) -> None:
        """End the run before its next step; what there is stays, and the trace says `stopped`."""
        self._stopped = True

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        """Compute one step and return its record; raises SpecVizError where a model gives no finite logits."""
        if self._finished or self._stopped:
            raise StopIteration
        try:
            return self._step()
        except Exception:
            self._finished = True
            self.trace.data["stop"] = "error"
            raise

    @memory_errors(RAN_OUT)
    @torch.inference_mode()
    def _step(self) -> Step:
        begin, own = time.perf_counter(), time.thread_time()
        steps = self.trace.data["steps"]
        number = len(steps) + 1
        allowed, limits = self._draft_length()
        verdict = speculate(
            self._target,
            self._drafter,
            self._sequence,
            allowed,
            number,
            self._terms,
        )
        drafted = len(verdict.proposal.draws)
        outcome = recording.record(verdict, number, _reason(self._k, drafted, limits), self._terms.rules)
        self._sequence += verdict.emitted
        steps.append(self._accounted(outcome, verdict, begin, own))
        return steps[-1]

    def _draft_length(self) -> tuple[int, dict[KReason, int]]:
        """Return how many tokens may be drafted now, and what each limit would allow."""
        length = len(self._sequence)
        emitted = length - self._prompt_length
        limits: dict[KReason, int] = {
            "length": self._max_new_tokens - emitted - 1,
            "context": min(self._target.limit - length - 1, self._drafter.limit - length),
        }
        return max(0, min(self._k, *limits.values())), limits

    def _accounted(self, outcome: Outcome, verdict: Verdict, begin: float, own: float) -> Step:
        """Return a step with its totals and times, and add to the trace what it added to the text.

        `begin` and `own` are what the clock and this thread's own CPU time were when it began, in seconds.
        """
        data = self.trace.data
        before = data["steps"][-1]["totals"] if data["steps"] else NOTHING_YET
        totals: Totals = {
            "tokens": before["tokens"] + len(verdict.emitted),
            "target_passes": before["target_passes"] + 1,
            "draft_passes": before["draft_passes"] + outcome["k"] * self._drafter.passes_per_token,
        }
        data["token_ids"] += verdict.emitted
        self.trace.name_tokens(self._pair.target.pieces, outcome)
        stop = self._why_stop()
        if stop:
            self._finished = True
            data["stop"] = stop
        draft, verify = self._drafter.take_ms(), self._target.take_ms()
        whole = (time.perf_counter() - begin) * 1e3
        ms: StepMs = {
            "draft": recording.figures(draft),
            "verify": recording.figures(verify),
            "rest": recording.figures(max(0.0, whole - draft - verify)),
            "step": recording.figures(whole),
        }
        if self._waits_count:
            ms["waited"] = recording.figures(max(0.0, whole - (time.thread_time() - own) * 1e3))
        return {**outcome, "totals": totals, "ms": ms}

    def _why_stop(self) -> Stop | None:
        if self._sequence[-1] in self._terms.end_ids:
            return "end"
        if len(self._sequence) - self._prompt_length >= self._max_new_tokens:
            return "length"
        return "context" if len(self._sequence) >= self._target.limit else None


def _reason(k: int, drafted: int, limits: Mapping[KReason, int]) -> KReason | None:
    """Return why fewer than K tokens were drafted: the first limit that binds, or that no more were proposed."""
    if drafted == k:
        return None
    return next((name for name, allowed in limits.items() if max(0, allowed) == drafted), "proposals")


# --- the public face --------------------------------------------------------------------------------------------------


def start(pair: Pair, prompt: str | Sequence[int], **options: Unpack[Options]) -> Run:
    """Prepare a run of `prompt` (text, or token ids) and prefill both models; iterate over it step by step.

    Options: k (0 to `bounds.MAX_K`), max_new_tokens, sampling, seed (0 to 2^53 - 1), chat (None: the template iff there is one),
    label, overrides {(step, position, purpose): u}, rules, costs (`measure_costs`), baseline (`autoregress`).
    Raises SpecVizError for a blank prompt, one that is too long, or an option out of range.
    """
    return begin(pair, prompt, RunOptions(**options))


def begin(pair: Pair, prompt: str | Sequence[int], options: RunOptions) -> Run:
    """Prepare what `start` does, from options that were checked before."""
    sampling, rules = options.sampling, options.rules
    ids, text, chat = encode(pair.target, prompt, options.chat)
    trace = Trace(
        new_record(
            run_id=uuid4().hex[:12],
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            settings={
                "label": options.label,
                "pair": pair.name,
                "draft": {"kind": pair.draft_kind, "name": pair.draft_name},
                "k": options.k,
                "temperature": sampling.temperature,
                "top_k": sampling.top_k,
                "top_p": sampling.top_p,
                "seed": options.seed,
                "max_new_tokens": options.max_new_tokens,
                "chat": chat,
                "end_ids": sorted(pair.target.end_ids),
                "top_m": recording.TOP_M,
                "fault": rules.name,
                "overrides": overrides_from(options.overrides),
            },
            weights=pair.weights(),
            machine=pair.machine(),
            prompt={"text": text, "ids": ids},
            costs=options.costs,
            baseline=options.baseline,
        )
    )
    trace.name_tokens(pair.target.pieces)
    return Run(pair, trace, rules)


def decode(pair: Pair, prompt: str | Sequence[int], **options: Unpack[Options]) -> Trace:
    """Run `prompt` to its end and return the trace; takes what `start` takes.

    >>> from specviz import load_pair
    >>> trace = decode(load_pair("toy"), "1 15 42", k=4, max_new_tokens=8)
    >>> len(trace.token_ids), trace.data["stop"]
    (8, 'length')
    """
    run = start(pair, prompt, **options)
    for _ in run:
        pass
    return run.trace
