"""What repeated timings say together: a median, where the middle of them lies, and whether that is too wide to rely on.

Pure arithmetic. Times of a busy machine have a long tail to one side, so medians are taken, and what lies far out is left
out of the spread rather than averaged in.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

OUTER = 5  # one in so many timings is left out of the spread, at either end
WIDE = 0.15  # a spread of more than this share of its median is no figure to conclude from
SLACK = 0.03  # what two figures may miss a bound by although their spreads don't say so: medians wander


class Spread(NamedTuple):
    """A median and the bounds between which the middle of what was measured lies; all three in the unit of the values."""

    median: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """How far apart the bounds are, as a share of the median; 0 for a median of 0."""
        return (self.high - self.low) / self.median if self.median else 0.0

    @property
    def is_wide(self) -> bool:
        """Whether nothing should be concluded from it."""
        return self.width > WIDE


def spread_of(values: Sequence[float]) -> Spread:
    """Return the median of some measurements and the bounds of the middle of them; raises ValueError for none.

    Of fewer than five the bounds are the smallest and the largest; of more, one in five is left out at either end.

    >>> spread_of([3.0, 1.0, 2.0, 90.0, 2.5])
    Spread(median=2.5, low=2.0, high=3.0)
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("nothing was measured")
    outer = len(ordered) // OUTER
    return Spread(statistics.median(ordered), ordered[outer], ordered[-1 - outer])


def quotient(above: Spread, below: Spread) -> Spread:
    """Return the spread of a quotient of two figures whose errors have nothing to do with each other.

    Relative half-widths add as squares do (first order); no bound is below 0. `below` has a median above 0.
    """
    value = above.median / below.median
    half = math.hypot(_half(above), _half(below))
    return Spread(value, value * max(0.0, 1 - half), value * (1 + half))


def total(parts: Sequence[tuple[float, Spread]]) -> Spread:
    """Return the spread of a weighted sum, [(weight, figure), ...], of figures whose errors have nothing to do with each other."""
    value = sum(weight * part.median for weight, part in parts)
    down = math.hypot(*(weight * (part.median - part.low) for weight, part in parts))
    up = math.hypot(*(weight * (part.high - part.median) for weight, part in parts))
    return Spread(value, value - down, value + up)


def _half(figure: Spread) -> float:
    return figure.width / 2


def surely_below(one: Spread, other: Spread) -> bool:
    """Whether one figure lies below another by more than both spreads and what medians wander by."""
    return one.high * (1 + SLACK) < other.low


def alike(one: Spread, other: Spread) -> bool:
    """Whether two figures' spreads touch, so that neither is larger for all that was measured."""
    return one.low <= other.high and other.low <= one.high
