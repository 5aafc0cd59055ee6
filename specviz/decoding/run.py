"""A run of speculative decoding, step by step, and the plain loop that it is compared with.

A run knows nothing of files, pages or printing. Each step may be computed in another thread: `inference_mode` covers
the one function that computes it and never spans a pause between steps.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypedDict, Unpack
from uuid import uuid4

import torch

from specviz.decoding import recording
from specviz.decoding.coins import Address, Coins, check_overrides, check_seed
from specviz.decoding.drafters import UNLIMITED
from specviz.decoding.rules import EXACT, Rules
from specviz.decoding.sampling import Sampling, cumulative, draw, warp
from specviz.decoding.step import Verdict, speculate
from specviz.errors import SpecVizError
from specviz.models.cursors import Cursor
from specviz.models.devices import RAN_OUT, memory_errors
from specviz.models.loaded import LoadedModel
from specviz.models.pairs import Pair
from specviz.record.trace import Baseline, Costs, Trace, new_trace

MAX_K = 16
DEFAULT_K = 4
DEFAULT_TOKENS = 64
DEFAULT_SEED = 7


class Options(TypedDict, total=False):
    """What `start` and `decode` take by name, with the same defaults in Python, in the shell and on the page."""

    k: int
    max_new_tokens: int
    sampling: Sampling
    seed: int
    chat: bool | None
    label: str
    overrides: Mapping[Address, float]
    rules: Rules
    costs: Costs | None
    baseline: Baseline | None


# --- the run ----------------------------------------------------------------------------------------------------------


class Run:
    """A run in progress: iterate over it for one step's record at a time; `trace` is valid at any moment.

    Holds the text so far and both models' places in it. `stop()` ends it before its next step.
    """

    def __init__(self, pair: Pair, trace: Trace, rules: Rules, already: Sequence[int] = ()) -> None:
        settings = trace.data["settings"]
        self.trace = trace
        self._pair, self._rules = pair, rules
        self._sampling = Sampling(settings["temperature"], settings["top_k"], settings["top_p"])
        overrides = {(step, position, purpose): u for step, position, purpose, u in settings["overrides"]}
        self._coins = Coins(settings["seed"], overrides)
        self._k, self._max_new_tokens = settings["k"], settings["max_new_tokens"]
        self._end_ids = frozenset(settings["end_ids"])
        self._prompt_length = len(trace.data["prompt"]["ids"])
        self._sequence = [*trace.data["prompt"]["ids"], *already]
        self._target = pair.target.cursor()
        self._drafter = pair.drafter()
        self._stopped = self._finished = False
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

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
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
    def _step(self) -> dict[str, Any]:
        begin = time.perf_counter()
        steps = self.trace.data["steps"]
        number = len(steps) + 1
        allowed, limits = self._draft_length()
        verdict = speculate(
            self._target,
            self._drafter,
            self._sequence,
            allowed,
            number,
            self._coins,
            self._sampling,
            self._end_ids,
            self._rules,
        )
        drafted = len(verdict.proposal.draws)
        steps.append(recording.record(verdict, number, _reason(self._k, drafted, limits), self._rules))
        self._sequence += verdict.emitted
        self._account(steps, verdict, begin)
        return steps[-1]

    def _draft_length(self) -> tuple[int, dict[str, int]]:
        """Return how many tokens may be drafted now, and what each limit would allow."""
        length = len(self._sequence)
        emitted = length - self._prompt_length
        limits = {
            "length": self._max_new_tokens - emitted - 1,
            "context": min(self._target.limit - length - 1, self._drafter.limit - length),
        }
        return max(0, min(self._k, *limits.values())), limits

    def _account(self, steps: list[dict[str, Any]], verdict: Verdict, begin: float) -> None:
        """Add times and totals to the last step, and to the trace what it added to the text."""
        step, data = steps[-1], self.trace.data
        before = (
            steps[-2]["totals"] if len(steps) > 1 else {"tokens": 0, "target_passes": 0, "draft_passes": 0}
        )
        step["totals"] = {
            "tokens": before["tokens"] + len(verdict.emitted),
            "target_passes": before["target_passes"] + 1,
            "draft_passes": before["draft_passes"] + step["k"] * self._drafter.passes_per_token,
        }
        data["token_ids"] += verdict.emitted
        self.trace.name_tokens(self._pair.target.pieces, step)
        stop = self._why_stop()
        if stop:
            self._finished = True
            data["stop"] = stop
        draft, verify = self._drafter.take_ms(), self._target.take_ms()
        whole = (time.perf_counter() - begin) * 1e3
        times = {"draft": draft, "verify": verify, "rest": max(0.0, whole - draft - verify), "step": whole}
        step["ms"] = {name: recording.figures(ms) for name, ms in times.items()}

    def _why_stop(self) -> str | None:
        if self._sequence[-1] in self._end_ids:
            return "end"
        if len(self._sequence) - self._prompt_length >= self._max_new_tokens:
            return "length"
        return "context" if len(self._sequence) >= self._target.limit else None


def _reason(k: int, drafted: int, limits: Mapping[str, int]) -> str | None:
    """Return why fewer than K tokens were drafted: the first limit that binds, or that no more were proposed."""
    if drafted == k:
        return None
    return next((name for name, allowed in limits.items() if max(0, allowed) == drafted), "proposals")


def check_room(sequence: Sequence[int], target_limit: int, draft_limit: int, prompt_length: int) -> None:
    """Raise SpecVizError where a prompt does not leave room for one token in either model's context."""
    limit = min(target_limit, draft_limit)
    if prompt_length >= limit:
        which = "target" if target_limit <= draft_limit else "draft"
        raise SpecVizError(
            f"The prompt has {prompt_length} tokens, but the {which} model reads at most {limit}, the new ones included: "
            "shorten the prompt."
        )


# --- the public face --------------------------------------------------------------------------------------------------


def start(pair: Pair, prompt: str | Sequence[int], **options: Unpack[Options]) -> Run:
    """Prepare a run of `prompt` (text, or token ids) and prefill both models; iterate over it step by step.

    Options: k (0 to 16), max_new_tokens, sampling, seed (0 to 2^53 - 1), chat (None: the template iff there is one),
    label, overrides {(step, position, purpose): u}, rules, costs (`measure_costs`), baseline (`autoregress`).
    Raises SpecVizError for a blank prompt, one that is too long, or an option out of range.
    """
    sampling = options.get("sampling", Sampling())
    ids, text, chat = encode(pair.target, prompt, options.get("chat"))
    rules = options.get("rules", EXACT)
    overrides = check_overrides(options.get("overrides") or {})
    trace = new_trace(
        run_id=uuid4().hex[:12],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        settings={
            "label": options.get("label", ""),
            "pair": pair.name,
            "draft": {"kind": pair.draft_kind, "name": pair.draft_name},
            "k": check_k(options.get("k", DEFAULT_K)),
            "temperature": sampling.temperature,
            "top_k": sampling.top_k,
            "top_p": sampling.top_p,
            "seed": check_seed(options.get("seed", DEFAULT_SEED)),
            "max_new_tokens": check_length(options.get("max_new_tokens", DEFAULT_TOKENS)),
            "chat": chat,
            "end_ids": sorted(pair.target.end_ids),
            "top_m": recording.TOP_M,
            "fault": rules.name,
            "overrides": [[*address, u] for address, u in sorted(overrides.items())],
        },
        weights=pair.weights(),
        machine=pair.machine(),
        prompt={"text": text, "ids": ids},
        costs=options.get("costs"),
        baseline=options.get("baseline"),
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


def resume(pair: Pair, trace: Trace, *, step: int, position: int, purpose: str, u: float) -> Trace:
    """Branch off a trace: its earlier steps as they are, one random number replaced by u, and on from there.

    Raises SpecVizError where the pair's weights are not the trace's, or the address is not one of its.
    """
    run = start_branch(pair, trace, step=step, position=position, purpose=purpose, u=u)
    for _ in run:
        pass
    return run.trace


def start_branch(pair: Pair, trace: Trace, *, step: int, position: int, purpose: str, u: float) -> Run:
    """Prepare what `resume` runs, to be iterated step by step."""
    data = trace.data
    _check_branch(pair, trace, step, position, purpose)
    settings = data["settings"]
    overrides = {(s, i, name): value for s, i, name, value in settings["overrides"]} | {
        (step, position, purpose): u
    }
    kept = data["steps"][: step - 1]
    same_machine = data["machine"] == pair.machine()  # another one's timings say nothing of the steps to come
    emitted = kept[-1]["totals"]["tokens"] if kept else 0
    branch = new_trace(
        run_id=uuid4().hex[:12],
        parent=data["run_id"],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        settings=settings
        | {"overrides": [[*address, value] for address, value in sorted(check_overrides(overrides).items())]},
        weights=data["weights"],
        machine=pair.machine(),
        prompt=data["prompt"],
        costs=data["costs"] if same_machine else None,
        baseline=data["baseline"] if same_machine else None,
    )
    branch.data["steps"] = list(kept)
    branch.data["token_ids"] = data["token_ids"][:emitted]
    branch.name_tokens(pair.target.pieces, *kept)
    return Run(pair, branch, EXACT, branch.data["token_ids"])


def _check_branch(pair: Pair, trace: Trace, step: int, position: int, purpose: str) -> None:
    if not trace.has_distributions:
        raise SpecVizError(
            "This trace came from a CSV file, which does not hold enough to go on from: open its JSON file."
        )
    if trace.data["settings"]["fault"]:
        raise SpecVizError(
            "A run with a deliberate mistake can't be branched: run it again without the mistake."
        )
    settings = trace.data["settings"]
    ours_is = (pair.name, pair.draft_kind, pair.draft_name)
    if ours_is != (settings["pair"], settings["draft"]["kind"], settings["draft"]["name"]):
        raise SpecVizError(
            f"This trace was made with the pair {settings['pair']}: load that pair with the same draft first."
        )
    ours, theirs = pair.weights(), trace.data["weights"]
    for side in ("target", "draft"):
        for fact in ("sha256", "dtype"):
            mine, other = (ours[side] or {}).get(fact), (theirs[side] or {}).get(fact)
            if mine != other:
                raise SpecVizError(
                    f"The {side}'s {fact} is {mine} here but {other} in the trace: a branch needs the same."
                )
    steps = trace.data["steps"]
    if not 1 <= step <= len(steps):
        raise SpecVizError(
            f"The trace has the steps 1 to {len(steps)}, so a branch can't start at step {step}."
        )
    last = steps[step - 1]["k"] + (purpose == "final")
    if not 1 <= position <= last:
        raise SpecVizError(
            f"Step {step} has the positions 1 to {last} for purpose {purpose}, not {position}."
        )


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
    sampling = options.get("sampling", Sampling())
    ids, _, _ = encode(target, prompt, options.get("chat"))
    coins = Coins(check_seed(options.get("seed", DEFAULT_SEED)), options.get("overrides"))
    longest = check_length(options.get("max_new_tokens", DEFAULT_TOKENS))
    cursor = target.cursor()
    check_room(ids, cursor.limit, UNLIMITED, len(ids))
    return PlainRun(cursor, ids, sampling, coins, longest, target.end_ids)


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


# --- input ------------------------------------------------------------------------------------------------------------


def encode(
    target: LoadedModel, prompt: str | Sequence[int], chat: bool | None
) -> tuple[list[int], str, bool]:
    """Return a prompt's ids, its text and whether the chat template was used; raises SpecVizError for a bad one."""
    if isinstance(prompt, str):
        if not prompt.strip():
            raise SpecVizError("The prompt is empty: write a few words for the model to go on from.")
        wants_chat = target.has_template if chat is None else bool(chat)
        ids, text = target.encode(prompt, wants_chat), prompt
    else:
        wants_chat, ids = False, list(prompt)
        if any(
            isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < target.vocab
            for token in ids
        ):
            raise SpecVizError(f"Token ids of a prompt must be whole numbers from 0 to {target.vocab - 1}.")
        text = target.text(ids)
    if not ids:
        raise SpecVizError("The prompt has no tokens: write a few words for the model to go on from.")
    return ids, text, wants_chat


def _whole(name: str, value: object, low: int, high: int | None) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or value < low
        or (high is not None and value > high)
    ):
        bounds = f"from {low} to {high}" if high is not None else f"of at least {low}"
        raise SpecVizError(f"{name} must be a whole number {bounds}, not {value!r}.")
    return value


def check_k(k: object) -> int:
    """Return the draft length K if it is a whole number from 0 to 16, else raise SpecVizError."""
    return _whole("K", k, 0, MAX_K)


def check_length(tokens: object) -> int:
    """Return max_new_tokens if it is a whole number of at least 1, else raise SpecVizError."""
    return _whole("The number of new tokens", tokens, 1, None)
