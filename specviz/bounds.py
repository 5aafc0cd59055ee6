"""What may be asked for: the bounds that several rooms share, and the checks that hold a value to its bounds."""

from __future__ import annotations

import math
from typing import TypeGuard

from specviz.errors import SpecVizError

MAX_K = 16
MOST_ROWS = MAX_K + 1  # of a target pass: every draft, and the place after the last
MAX_TEMPERATURE = 2.0
SEED_LIMIT = 2**53  # the whole numbers below it are exact in JSON and JavaScript


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return a whole number from low to high, without a high of at least low, or raise SpecVizError; 4.0 counts as 4."""
    if not _is_number(value) or value % 1 or value < low or (high is not None and value > high):
        bounds = f"of at least {low}" if high is None else f"from {low:,} to {high:,}"
        raise SpecVizError(f"{name} must be a whole number {bounds}, not {_shown(value)}.")
    return int(value)


def real(name: str, value: object, low: float, high: float) -> float:
    """Return a number from low to high, both included, or raise SpecVizError."""
    if not _is_number(value) or not low <= value <= high:
        raise SpecVizError(f"{name} must be a number from {low:g} to {high:g}, not {_shown(value)}.")
    return float(value)


def positive(name: str, value: object, most: float, unit: str = "") -> float:
    """Return a number above 0 and at most `most`, or raise SpecVizError; `unit` is for the sentence."""
    if not _is_number(value) or not 0 < value <= most:
        bound = f"{most:,.0f} {unit}".strip()
        raise SpecVizError(f"{name} must be above 0 and at most {bound}, not {_shown(value)}.")
    return float(value)


def _is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
