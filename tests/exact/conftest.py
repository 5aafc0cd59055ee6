"""The tally of the enumerations, for the tests that add to it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.exact.tally import TALLY, Tally


@pytest.fixture
def tally() -> Iterator[Tally]:
    began = time.perf_counter()
    yield TALLY
    TALLY.seconds += time.perf_counter() - began
