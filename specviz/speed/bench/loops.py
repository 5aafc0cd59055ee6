"""One pair's loops against each other: prompt after prompt, in an order that turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from specviz.bounds import MAX_K
from specviz.models.loaded import LoadedModel
from specviz.models.pairs import Pair
from specviz.speed.bench import engines
from specviz.speed.bench.engines import Tape, Timed, Workload
from specviz.speed.bench.forwards import Forwards, candidates, forwards
from specviz.speed.bench.full_head import with_full_head

Prompt = Sequence[int]
Loop = Callable[[Prompt, Workload], dict[str, Timed]]
Progress = Callable[[str], None]

PLAIN, GENERATE = "plain loop", "transformers generate"
WARM_UP_TOKENS, PROBE_TOKENS = 12, 64


def speculative(k: int) -> str:
    """Return what our speculative loop is called."""
    return f"speculative, K = {k}"


def floor(k: int) -> str:
    """Return what the forwards alone of our speculative loop are called."""
    return f"its forwards alone, K = {k}"


def assisted(k: int) -> str:
    """Return what `transformers`' assisted generation is called."""
    return f"transformers assisted, K = {k}"


def same_draft(k: int) -> str:
    """Return what our speculative loop is called with the draft that `transformers` was given."""
    return f"speculative, K = {k}, that draft"


@dataclass
class Measured:
    """What was timed of one pair: `runs` by the loop's name and `costs`, each with an entry a prompt.

    `ks` are the draft lengths that were tried. `notes` say what was not measured and why, or with which other draft.
    """

    ks: list[int]
    notes: list[str] = field(default_factory=list)
    runs: dict[str, list[Timed]] = field(default_factory=dict)
    costs: list[Forwards] = field(default_factory=list)


def measure(pair: Pair, prompts: Sequence[Prompt], k: int, work: Workload, progress: Progress) -> Measured:
    """Run every loop on every prompt (token ids); the one that began on a prompt comes last on the next.

    Which K are tried follows from the closed form, with the overlap of two short runs. `progress` gets a line a prompt.
    """
    measured = Measured(sorted({k, *_promising(pair, prompts, k, work)}))
    loops = _loops(pair, k, measured)
    ms = sum(_warm_up(loop, prompts[0], work) for loop in loops) * work.tokens * len(prompts)
    progress(f"{pair.name}: {len(loops)} loops on {len(prompts)} prompts, {duration(ms)}")
    begin = time.perf_counter()
    for number, prompt in enumerate(prompts, start=1):
        rows = [each + 1 for each in measured.ks]
        measured.costs.append(forwards(pair, prompt, _middle(prompt, work), rows))
        for loop in loops:
            for name, timed in loop(prompt, work).items():
                measured.runs.setdefault(name, []).append(timed)
        loops.append(loops.pop(0))
        left = (time.perf_counter() - begin) * 1e3 / number * (len(prompts) - number)
        progress(f"{pair.name}: {number} of {len(prompts)} prompts done, {duration(left)} to go")
    return measured


def duration(ms: float) -> str:
    """Return a duration in words, for somebody who waits."""
    return f"about {ms / 60e3:.0f} minutes" if ms >= 90e3 else f"about {ms / 1e3:.0f} seconds"


def _promising(pair: Pair, prompts: Sequence[Prompt], k: int, work: Workload) -> list[int]:
    """Return the K worth measuring, from how much of p and q two short runs found to overlap."""
    short = replace(work, tokens=min(PROBE_TOKENS, work.tokens))
    runs = [engines.speculative_loop(pair, k, prompt, short) for prompt in prompts[:2]]
    overlaps = [run.overlap for run in runs if run.overlap is not None]
    costs = forwards(pair, prompts[0], _middle(prompts[0], work), range(1, MAX_K + 2))
    return candidates(statistics.mean(overlaps) if overlaps else 0.0, costs)


def _middle(prompt: Prompt, work: Workload) -> int:
    """Return the length of a text that is half written."""
    return len(prompt) + work.tokens // 2


def _warm_up(loop: Loop, prompt: Prompt, work: Workload) -> float:
    """Run a loop for a few tokens and return its milliseconds a token, all that it times taken together."""
    short = replace(work, tokens=min(WARM_UP_TOKENS, work.tokens))
    return sum(timed.ms / max(1, timed.tokens) for timed in loop(prompt, short).values())


def _loops(pair: Pair, k: int, measured: Measured) -> list[Loop]:
    """Return the loops that this pair can run, and add to the record's notes which it can't."""
    target = pair.target
    loops: list[Loop] = [lambda prompt, work: {PLAIN: engines.plain_loop(target, prompt, work)}]
    loops += [_speculative(pair, each) for each in measured.ks if each != k]
    loops.append(_with_floor(pair, k))
    if target.model is None:
        measured.notes.append("transformers can't run this pair, so there is nothing of its to compare with")
        return loops
    loops.append(lambda prompt, work: {GENERATE: engines.plain_generate(target, prompt, work)})
    assistant, note = _assistant(pair)
    measured.notes += [note] if note else []
    if assistant is not None:
        loops.append(_assisted(target, assistant, k))
        if assistant is not pair.draft:
            loops.append(_same_draft(replace(pair, draft=assistant), k))
    return loops


def _assistant(pair: Pair) -> tuple[LoadedModel | None, str | None]:
    """Return what `transformers` can run as the assistant, None where there is nothing, and what is to be said of it."""
    target, draft = pair.target, pair.draft
    if draft is None:
        return None, "no model drafts here, so transformers' assisted generation was not measured"
    if "recompute" in (target.cache, draft.cache):
        return (
            None,
            "transformers' assisted generation wants caches that can be cut back: it was not measured",
        )
    if draft.id_map is not None:
        return with_full_head(draft, target), (
            f"transformers can't run a draft whose head has {draft.vocab} of the target's {target.vocab} ids: it was given "
            "the same draft with a head over all of them, and so were we where we are compared with it"
        )
    if draft.vocab != target.vocab:
        return None, (
            f"transformers wants vocabularies of one size, not {target.vocab} and {draft.vocab}: its assisted generation "
            "was not measured"
        )
    return draft, None


def _speculative(pair: Pair, k: int) -> Loop:
    return lambda prompt, work: {speculative(k): engines.speculative_loop(pair, k, prompt, work)}


def _same_draft(pair: Pair, k: int) -> Loop:
    return lambda prompt, work: {same_draft(k): engines.speculative_loop(pair, k, prompt, work)}


def _assisted(target: LoadedModel, draft: LoadedModel, k: int) -> Loop:
    return lambda prompt, work: {assisted(k): engines.assisted_generate(target, draft, k, prompt, work)}


def _with_floor(pair: Pair, k: int) -> Loop:
    """Time the speculative loop, and right after it its forwards alone."""

    def run(prompt: Prompt, work: Workload) -> dict[str, Timed]:
        tape = Tape(pair)
        timed = engines.speculative_loop(tape.pair, k, prompt, work)
        return {speculative(k): timed, floor(k): Timed(timed.tokens, tape.replay(), timed.passes)}

    return run
