"""The papers' formulas: closed forms only, nothing measured here.

Letters as everywhere: p = target, q = draft; alpha = the chance that an examined draft is kept, K = drafts a step,
c = time of one draft forward / time of one target pass over one row, v = time of a target pass over K + 1 rows / time
of one over one row, o = the rest of a step, in the same unit. Leviathan = Leviathan, Kalman, Matias, "Fast Inference from
Transformers via Speculative Decoding", arXiv 2211.17192.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specviz.bounds import MAX_K

HALVINGS = 60


def expected_tokens(alpha: float, k: int) -> float:
    """Return the expected tokens per target pass, (1 - alpha^(K+1)) / (1 - alpha): Leviathan, equation (1).

    Takes every draft to be kept with the same chance, whatever became of the others.

    >>> round(expected_tokens(0.8, 4), 4)
    3.3616
    """
    return k + 1.0 if alpha >= 1 else (1 - alpha ** (k + 1)) / (1 - alpha)


def kept_so_far(alpha: float, k: int) -> list[float]:
    """Return the chance that the first i drafts are all kept, alpha^i, for i = 1 ... K: what equation (1) sums."""
    return [alpha**i for i in range(1, k + 1)]


def speedup(alpha: float, k: int, c: float, verify: float = 1.0, rest: float = 0.0) -> float:
    """Return the speedup over plain decoding, E / (K c + v + o).

    With v = 1 and o = 0, the defaults, this is Leviathan, Theorem 3.8: (1 - alpha^(K+1)) / ((1 - alpha) (K c + 1)).
    """
    return expected_tokens(alpha, k) / (k * c + verify + rest)


def best_k(
    alpha: float, c: float, verify: Sequence[float] | None = None, rest: float = 0.0, most: int = MAX_K
) -> tuple[int, float]:
    """Return the K from 0 to `most` with the largest speedup, and that speedup; the smaller K wins a tie.

    `verify[K]` is v for K + 1 rows; without it, v = 1 for every K. K = 0 stands for plain decoding, whose speedup is 1.
    """
    choices = [(0, 1.0)]
    for k in range(1, min(most, len(verify) - 1 if verify else most) + 1):
        choices.append((k, speedup(alpha, k, c, verify[k] if verify else 1.0, rest)))
    return max(choices, key=lambda choice: (choice[1], -choice[0]))


def break_even(k: int, c: float, verify: float = 1.0, rest: float = 0.0) -> float | None:
    """Return the smallest alpha at which K drafts a step are no slower than plain decoding, None where none is enough."""
    if speedup(1.0, k, c, verify, rest) < 1:
        return None
    return first_where(lambda alpha: speedup(alpha, k, c, verify, rest) >= 1, 0.0, 1.0)


def operations_factor(alpha: float, k: int, draft: float) -> float:
    """Return by how much the arithmetic of a token grows: Leviathan, Theorem 3.11.

    `draft` is the draft's arithmetic for a token / the target's. Above 1 wherever a draft can be rejected: speculation
    spends arithmetic to save passes.
    """
    return (k * draft + k + 1) / expected_tokens(alpha, k)


def first_where(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the smallest number from which on `holds` is true, by bisection; it is true at `high`."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high
