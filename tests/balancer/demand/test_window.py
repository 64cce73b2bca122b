import pytest

from balancer.demand.window import Window


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ((5, 5, 1, 1), "has no length"),
        ((6, 5, 1, 1), "has no length"),
        ((0, 1, -1, 1), "took in -1 bytes"),
        ((0, 1, 1, -1), "-1 records"),
    ],
)
def test_an_impossible_window_is_refused(numbers, why):
    with pytest.raises(ValueError, match=why):
        Window(*numbers)
