"""Exactness by enumeration: every random choice of the production loop is made in turn, its chances multiplied up.

A run reads its random numbers from addresses, and a lesson may put its own number at each. So the loop can be walked
like a tree: begin with 0 everywhere, look in the record how far a number can move before a decision changes, go on
there. What comes out is the law of whole texts as the loop really produces it, to be compared with the target's own.

>>> from specviz.exactness.worlds import PROMPT, fixture_pair
>>> found = enumerate_step(fixture_pair(), PROMPT, k=2, sampling=Sampling(temperature=1.0))
>>> round(found.law[0,], 12), round(found.law[1, 1, 1], 12)
(0.3, 0.0375)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product

import torch

from specviz.decoding.branch import resume
from specviz.decoding.coins import PURPOSES, Address
from specviz.decoding.rules import EXACT, Rules
from specviz.decoding.run import decode, start
from specviz.decoding.sampling import Sampling, warp
from specviz.errors import SpecVizError
from specviz.exactness.worlds import START, Table
from specviz.models.loaded import LoadedModel
from specviz.models.pairs import Pair
from specviz.record.shape import Step, finals_of, known, overrides_of
from specviz.record.trace import Trace

MOST_PATHS = 2_000_000

Text = tuple[int, ...]
Law = Mapping[Text, float]
NextLaw = Callable[[Text], Sequence[float]]


# --- what ought to come out -------------------------------------------------------------------------------------------


def total_variation(a: Law, b: Law) -> float:
    """Return half the sum of the differences of two laws: the largest error in any event's probability."""
    return math.fsum(abs(a.get(text, 0.0) - b.get(text, 0.0)) for text in {*a, *b}) / 2


def shortened(law: Law, tokens: int) -> dict[Text, float]:
    """Return the law of the first `tokens` tokens."""
    short: dict[Text, float] = defaultdict(float)
    for text, weight in law.items():
        short[text[:tokens]] += weight
    return dict(short)


def continued(law: Law, next_law: NextLaw, tokens: int, end_ids: Collection[int] = ()) -> dict[Text, float]:
    """Return the law of texts of `tokens` tokens (or up to an end token) that begin by `law` and go on by `next_law`."""
    whole: dict[Text, float] = defaultdict(float)
    growing = list(law.items())
    while growing:
        text, weight = growing.pop()
        if len(text) >= tokens or (text and text[-1] in end_ids):
            whole[text[:tokens]] += weight
        else:
            growing += [((*text, token), weight * p) for token, p in enumerate(next_law(text)) if p > 0]
    return dict(whole)


def uncached_law(model: LoadedModel, prompt: Sequence[int], sampling: Sampling) -> NextLaw:
    """Return the target's own law of the next token after the prompt and a text, by a full forward without a cache."""

    @cache
    def next_law(text: Text) -> list[float]:
        with torch.inference_mode():
            logits = model.model(input_ids=torch.tensor([[*prompt, *text]]), use_cache=False).logits
        return warp(logits[0, -1], sampling).tolist()

    return next_law


def table_law(table: Table, sampling: Sampling) -> NextLaw:
    """Return the law of the next token in a table's world; the text starts after the prompt."""
    warped = {
        last: warp(torch.tensor(row, dtype=torch.float64).log(), sampling).tolist()
        for last, row in table.items()
    }
    return lambda text: warped[text[-1] if text else START]


# --- what does come out -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Enumeration:
    """The law of what a loop puts out, and how many paths through its random choices were run."""

    law: dict[Text, float]
    paths: int


def enumerate_runs(
    pair: Pair,
    prompt: Sequence[int],
    *,
    k: int,
    max_new_tokens: int,
    sampling: Sampling,
    rules: Rules = EXACT,
    resumed: bool = False,
) -> Enumeration:
    """Enumerate `decode`; with `resumed`, every path but the first branches off another one by `resume`.

    Raises SpecVizError where there may be more than MOST_PATHS paths.
    """
    check_size(pair.target.vocab, k, max_new_tokens)

    def play(overrides: Mapping[Address, float]) -> Trace:
        return decode(
            pair,
            prompt,
            k=k,
            max_new_tokens=max_new_tokens,
            sampling=sampling,
            rules=rules,
            overrides=overrides,
        )

    def branch(trace: Trace, address: Address, u: float) -> Trace:
        if resumed:
            step, position, purpose = address
            return resume(pair, trace, step=step, position=position, purpose=purpose, u=u)
        return play(overrides_of(trace.data["settings"]) | {address: u})

    return _enumeration(play(_zeros(max_new_tokens, k)), branch, rules, text_of)


def text_of(trace: Trace) -> Text:
    """Return what a run put out, which is what laws are over by default."""
    return tuple(trace.token_ids)


def enumerate_step(
    pair: Pair,
    prompt: Sequence[int],
    *,
    k: int,
    sampling: Sampling,
    rules: Rules = EXACT,
    outcome: Callable[[Trace], Text] = text_of,
) -> Enumeration:
    """Enumerate one step that may draft k tokens; the law is of `outcome`, whatever numbers that takes from the record.

    Raises SpecVizError where there may be more than MOST_PATHS paths.
    """
    _refuse_above(paths_of_step(pair.target.vocab, k))

    def play(overrides: Mapping[Address, float]) -> Trace:
        run = start(
            pair, prompt, k=k, max_new_tokens=k + 1, sampling=sampling, rules=rules, overrides=overrides
        )
        next(run)
        return run.trace

    def branch(trace: Trace, address: Address, u: float) -> Trace:
        return play(overrides_of(trace.data["settings"]) | {address: u})

    return _enumeration(play(_zeros(1, k)), branch, rules, outcome)


def paths_of_step(vocab: int, k: int) -> int:
    """Return how many paths through one step with k drafts there can be."""
    return vocab**k * vocab * (k + 1)


def most_paths(vocab: int, k: int, tokens: int) -> int:
    """Return how many paths through a run there can be: each draft any token, each coin either way, any final token.

    Far fewer exist as a rule, because a residual leaves tokens out and many a coin does not matter.
    """
    counts = [1]
    for left in range(1, tokens + 1):
        drafted = min(k, left - 1)
        after = [counts[left - accepted - 1] for accepted in range(drafted + 1)]
        counts.append(vocab ** (drafted + 1) * sum(after))
    return counts[tokens]


def check_size(vocab: int, k: int, tokens: int) -> None:
    """Raise SpecVizError, with the count, where a run may have more than MOST_PATHS paths."""
    _refuse_above(most_paths(vocab, k, tokens))


def _refuse_above(paths: int) -> None:
    if paths > MOST_PATHS:
        raise SpecVizError(
            f"Enumerating this would take up to {paths:,} runs and at most {MOST_PATHS:,} are made: choose fewer "
            "tokens, a smaller K or a smaller vocabulary."
        )


def _zeros(steps: int, k: int) -> dict[Address, float]:
    """Return 0 for every random number that a run of so many steps can read."""
    return dict.fromkeys(product(range(1, steps + 1), range(1, k + 2), PURPOSES), 0.0)


def _enumeration(
    first: Trace,
    branch: Callable[[Trace, Address, float], Trace],
    rules: Rules,
    outcome: Callable[[Trace], Text],
) -> Enumeration:
    """Walk the tree of choices from the run with 0 everywhere.

    `branch` runs again with one number replaced. Every number's axis is walked from 0 to 1 in cells that change no
    decision. Numbers are taken in the order they are read in, those after the one that moved start again from 0.
    """
    paths = 0

    def walk(trace: Trace, depth: int) -> tuple[dict[Text, float], dict[Address, float]]:
        """Return the law over the numbers after the first `depth`, and how far each number may move meanwhile."""
        nonlocal paths
        ends = decided_until(trace, rules)
        if depth == len(ends):
            paths += 1
            return {outcome(trace): 1.0}, ends
        address, begin = list(ends)[depth], 0.0
        law: dict[Text, float] = defaultdict(float)
        while True:
            inner, inner_ends = walk(trace, depth + 1)
            end = inner_ends.pop(address)
            if end <= begin:
                raise AssertionError(f"the random number at {address} was not in its own interval")
            for text, weight in inner.items():
                law[text] += weight * (end - begin)
            ends = {number: min(ends.get(number, 1.0), far) for number, far in inner_ends.items()}
            if end >= 1:
                return dict(law), ends
            begin, trace = end, branch(trace, address, end)

    law, _ = walk(first, 0)
    return Enumeration(law, paths)


def decided_until(trace: Trace, rules: Rules) -> dict[Address, float]:
    """Return, in the order of reading, how far each random number of a run can rise before a decision changes."""
    ends: dict[Address, float] = {}
    for step in trace.data["steps"]:
        for place, end in _decisions(step, rules):
            address = rules.address(step["step"], *place)
            ends[address] = min(end, ends.get(address, 1.0))
    return ends


def _decisions(step: Step, rules: Rules) -> Iterator[tuple[tuple[int, str], float]]:
    drafts, finals = step["drafts"], finals_of(step)
    for position, draft in enumerate(drafts, start=1):
        yield (position, "draft"), known(draft["high"])
    examined = [(draft, draft["coin"]) for draft in drafts if draft["coin"] is not None]
    for position, (draft, coin) in enumerate(examined, start=1):
        bound = accepted_below(rules, known(draft["p"]), draft["q"])
        if (draft["state"] == "accepted") != (coin < bound):
            raise AssertionError(f"the coin {coin} decided {draft['state']}, against p and q")
        yield (position, "accept"), bound if draft["state"] == "accepted" else 1.0
    accepted = sum(draft["state"] == "accepted" for draft in drafts)
    for position, final in enumerate(finals, start=accepted + 1):
        yield (position, "final"), known(final["high"])


@lru_cache(maxsize=100_000)
def accepted_below(rules: Rules, p_x: float, q_x: float) -> float:
    """Return the smallest u that rejects a draft, 1 where none does: bisected to the last bit from the rule itself.

    For the algorithm that is min(1, p/q), but it is measured, not assumed, so that a rule which decides otherwise shows.
    """
    low, high = 0.0, 1.0
    if not rules.accept(low, p_x, q_x):
        return 0.0
    if rules.accept(math.nextafter(1.0, 0.0), p_x, q_x):
        return 1.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if rules.accept(middle, p_x, q_x) else (low, middle)
    return high
