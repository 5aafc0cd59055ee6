import pytest

from specviz.decoding.coins import Coins
from specviz.errors import SpecVizError

REFERENCE = {
    (7, 1, 1, "draft"): 0.8734503010139788,
    (7, 1, 1, "accept"): 0.8446071616843288,
    (7, 1, 1, "final"): 0.10946603105512465,
    (7, 1, 2, "draft"): 0.6349429412033413,
    (7, 2, 1, "draft"): 0.652432312274557,
    (7, 3, 5, "final"): 0.04214628101147255,
    (0, 1, 1, "draft"): 0.21185954403345741,
}


@pytest.mark.parametrize("address", REFERENCE)
def test_every_random_number_is_where_its_address_says(address):
    seed, *where = address
    assert Coins(seed).u(*where) == REFERENCE[address]


def test_a_number_depends_neither_on_the_order_of_reading_nor_on_how_many_positions_are_read():
    forwards = [
        (s, i, purpose) for s in (1, 2, 3) for i in range(1, 20) for purpose in ("draft", "accept", "final")
    ]
    one, other = Coins(11), Coins(11)
    first = {address: one.u(*address) for address in forwards}
    assert {address: other.u(*address) for address in reversed(forwards)} == first
    assert len(set(first.values())) == len(first)


def test_an_override_replaces_one_number_and_no_other():
    coins = Coins(7, {(1, 2, "accept"): 0.5})
    assert coins.u(1, 2, "accept") == 0.5
    assert coins.u(1, 2, "draft") == REFERENCE[7, 1, 2, "draft"]
    assert coins.original(1, 2, "accept") == Coins(7).u(1, 2, "accept") != 0.5


@pytest.mark.parametrize("seed", [-1, 2**53, 1.5, True, "7", None])
def test_a_seed_out_of_range_is_refused(seed):
    with pytest.raises(SpecVizError, match="seed must be a whole number"):
        Coins(seed)


@pytest.mark.parametrize(
    "override",
    [
        {(1, 1, "coin"): 0.5},
        {(0, 1, "accept"): 0.5},
        {(1, 0, "draft"): 0.5},
        {(1, 1, "final"): 1.0},
        {(1, 1, "final"): -0.1},
        {(1, 1, "final"): float("nan")},
    ],
)
def test_an_override_that_is_no_coin_is_refused(override):
    with pytest.raises(SpecVizError):
        Coins(7, override)
