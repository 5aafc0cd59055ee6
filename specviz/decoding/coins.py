"""Random numbers with an address.

Every uniform that a run uses has an address (step, position, purpose) under the run's seed, so that a draw neither
depends on how many others were made before it nor shifts when K changes; a saved trace can be recomputed, and one
coin can be replaced without touching the rest.

>>> round(Coins(7).u(1, 1, "draft"), 6)
0.87345
>>> Coins(7, {(1, 1, "draft"): 0.25}).u(1, 1, "draft")
0.25
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import numpy as np

from specviz.bounds import MOST_ROWS, SEED_LIMIT, whole
from specviz.errors import SpecVizError
from specviz.record.shape import Purpose

PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

Address = tuple[int, int, str]


def check_seed(seed: object) -> int:
    """Return `seed` if it is a whole number in [0, 2^53), else raise SpecVizError."""
    return whole("The seed", seed, 0, SEED_LIMIT - 1)


def check_overrides(overrides: Mapping[Address, float]) -> dict[Address, float]:
    """Return a checked copy of `{(step, position, purpose): u}`, u in [0, 1); raises SpecVizError."""
    checked: dict[Address, float] = {}
    for address, u in overrides.items():
        step, position, purpose = address
        if purpose not in PURPOSES:
            raise SpecVizError(f"The purpose of a coin is one of {', '.join(PURPOSES)}, not {purpose!r}.")
        if step < 1 or position < 1:
            raise SpecVizError(f"Steps and positions of coins count from 1, not {step} and {position}.")
        if not 0 <= u < 1:
            raise SpecVizError(f"A coin must be at least 0 and below 1, not {u!r}.")
        checked[int(step), int(position), purpose] = float(u)
    return checked


class Coins:
    """The uniforms of one run, in [0, 1); holds the raw numbers of the step that was read last.

    `u = (Philox(key=seed, counter=[0, step, 0, 0]).random_raw(...)[3 * (position - 1) + purpose] >> 11) * 2**-53`.
    A generator's first numbers do not depend on how many are asked for, hence the value does not depend on K.
    """

    def __init__(self, seed: int, overrides: Mapping[Address, float] | None = None) -> None:
        self.seed = check_seed(seed)
        self.overrides = check_overrides(overrides or {})
        self._step = 0
        self._uniforms: list[float] = []

    def u(self, step: int, position: int, purpose: str) -> float:
        """Return the uniform at an address; step and position count from 1."""
        override = self.overrides.get((step, position, purpose))
        if override is not None:
            return override
        return self.original(step, position, purpose)

    def original(self, step: int, position: int, purpose: str) -> float:
        """Return the seed's own uniform at an address, whatever was put in its place."""
        index = 3 * (position - 1) + PURPOSES.index(purpose)
        if step != self._step or index >= len(self._uniforms):
            raw = np.random.Philox(key=self.seed, counter=[0, step, 0, 0]).random_raw(
                max(3 * MOST_ROWS, index + 1)
            )
            self._uniforms = ((raw >> np.uint64(11)) * 2.0**-53).tolist()
            self._step = step
        return self._uniforms[index]
