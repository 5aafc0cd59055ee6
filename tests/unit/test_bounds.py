"""The checks that every room shares: what they take, and the one sentence for what they don't."""

import math

import pytest

from specviz import SpecVizError
from specviz.bounds import positive, real, whole


def test_a_value_in_its_bounds_comes_back_as_the_number_it_is():
    assert (whole("K", 4.0, 0, 16), type(whole("K", 4.0, 0, 16))) == (4, int)
    assert [whole("K", edge, 0, 16) for edge in (0, 16)] == [0, 16]
    assert whole("The length", 10**9, 1) == 10**9
    assert (real("T", 2, 0, 2), type(real("T", 2, 0, 2))) == (2.0, float)
    assert positive("top-p", 1, 1) == 1.0


@pytest.mark.parametrize("value", [True, None, "4", math.nan, math.inf, [4], 4 + 0j])
def test_what_is_no_number_is_refused_by_all(value):
    for check in (whole, real, positive):
        bounds = (1,) if check is positive else (0, 16)
        with pytest.raises(SpecVizError, match=r"^K must be .*, not .*\.$"):
            check("K", value, *bounds)


@pytest.mark.parametrize(
    ("check", "value", "bounds", "sentence"),
    [
        (whole, -1, (0, 16), "K must be a whole number from 0 to 16, not -1."),
        (whole, 17, (0, 16), "K must be a whole number from 0 to 16, not 17."),
        (whole, 1.5, (0, 16), "K must be a whole number from 0 to 16, not 1.5."),
        (whole, 0, (1,), "K must be a whole number of at least 1, not 0."),
        (whole, 1_000_001, (1, 1_000_000), "K must be a whole number from 1 to 1,000,000, not 1000001."),
        (real, -0.1, (0, 2), "K must be a number from 0 to 2, not -0.1."),
        (real, 2.1, (0, 2), "K must be a number from 0 to 2, not 2.1."),
        (positive, 0, (1,), "K must be above 0 and at most 1, not 0."),
        (positive, 1.1, (1,), "K must be above 0 and at most 1, not 1.1."),
        (positive, 0, (1e6, "GB/s"), "K must be above 0 and at most 1,000,000 GB/s, not 0."),
        (whole, "x" * 100, (0, 1), f"K must be a whole number from 0 to 1, not {repr('x' * 100)[:39]}…."),
    ],
)
def test_what_is_out_of_bounds_is_answered_with_the_bounds(check, value, bounds, sentence):
    with pytest.raises(SpecVizError) as refused:
        check("K", value, *bounds)
    assert str(refused.value) == sentence
