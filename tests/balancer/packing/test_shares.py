import numpy as np
import pytest

from balancer.packing.shares import SHARE_MAX, BadShare, checked


@pytest.mark.parametrize(
    ("share", "why"),
    [
        (float("nan"), "is not a number"),
        (-1.0, "is negative"),
        (float("-inf"), "is negative"),
        (float("inf"), r"is above 1e\+12"),
        (SHARE_MAX * 1.01, r"is above 1e\+12"),
    ],
)
def test_an_invalid_share_is_refused_and_named(share, why):
    with pytest.raises(BadShare, match=why) as refused:
        checked([1.0, share, share])
    assert refused.value.item == 1
    assert "item 1" in str(refused.value)


def test_the_first_of_several_invalid_shares_is_named():
    with pytest.raises(BadShare, match="is above") as refused:
        checked([1.0, SHARE_MAX * 2, -1.0, float("nan")])
    assert refused.value.item == 1


def test_whole_numbers_of_any_size_become_loads_that_add_up():
    found = checked(np.full(1_000_000, 2**39, dtype=np.int64))
    assert found.dtype == np.float64
    assert found.sum() == 2**39 * 1_000_000


def test_a_matrix_is_refused():
    with pytest.raises(ValueError, match="give one row"):
        checked([[1.0], [2.0]])


def test_no_shares_are_valid():
    assert checked([]).shape == (0,)
