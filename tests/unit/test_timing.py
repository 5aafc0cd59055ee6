"""What repeated timings say together, against values worked out by hand."""

import pytest

from specviz.timing import SLACK, WIDE, Spread, alike, quotient, spread_of, surely_below, total


def test_a_few_timings_are_bounded_by_all_of_them_and_many_by_their_middle():
    assert spread_of([2.0]) == Spread(2.0, 2.0, 2.0)
    assert spread_of([4.0, 1.0, 3.0, 2.0]) == Spread(2.5, 1.0, 4.0)
    assert spread_of([*map(float, range(10)), 1000.0]) == Spread(5.0, 2.0, 8.0)
    with pytest.raises(ValueError, match="nothing was measured"):
        spread_of([])


def test_independent_errors_add_as_squares_do():
    one, other = Spread(10.0, 9.7, 10.3), Spread(5.0, 4.8, 5.2)  # 3 % and 4 % either way
    assert quotient(one, other) == pytest.approx((2.0, 1.9, 2.1))  # 5 %
    assert quotient(Spread(1.0, 0.1, 4.0), one).low == 0  # no speedup is below 0, however wide
    assert total([(1, one), (2, Spread(5.0, 4.8, 5.2))]) == pytest.approx((20.0, 19.5, 20.5))
    assert total([(1, Spread(1.0, 1.0, 1.6)), (1, Spread(1.0, 0.2, 1.8))]) == pytest.approx((2.0, 1.2, 3.0))


def test_what_is_wide_what_is_below_and_what_is_alike():
    assert not Spread(1.0, 1.0, 1.0 + WIDE).is_wide
    assert Spread(1.0, 0.99, 1.0 + WIDE).is_wide
    assert not Spread(0.0, 0.0, 0.0).is_wide
    base = Spread(10.0, 9.5, 10.5)
    assert surely_below(Spread(9.0, 8.9, 9.5 / (1 + SLACK) - 0.01), base)
    assert not surely_below(Spread(9.0, 8.9, 9.4), base)  # within what medians wander by
    assert alike(base, Spread(11.0, 10.5, 12.0))
    assert not alike(base, Spread(11.0, 10.6, 12.0))
