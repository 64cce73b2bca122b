"""Durations as operators type them."""

import pytest

from tui.orders.durations import BadDuration, milliseconds, until_ms


@pytest.mark.parametrize(
    ("text", "ms"), [("90s", 90_000), ("30m", 1_800_000), ("2h", 7_200_000), ("7d", 604_800_000)]
)
def test_a_duration_is_a_number_and_its_unit(text, ms):
    assert milliseconds(text) == ms


@pytest.mark.parametrize("text", ["", "2", "h", "-2h", "1.5h", "2h30m", "0s", "2 h", "2w"])
def test_anything_else_is_refused_with_what_it_should_look_like(text):
    with pytest.raises(BadDuration, match="2h"):
        milliseconds(text)


def test_an_order_without_a_duration_has_no_end():
    assert until_ms(None, 5) is None
    assert until_ms("1s", 5) == 1005


@pytest.mark.parametrize("text", ["3651d", "9999999d", "999999999h"])
def test_a_duration_beyond_ten_years_is_refused(text):
    assert milliseconds("3650d") == 3650 * 86_400_000
    with pytest.raises(BadDuration, match="longer than 3650d"):
        milliseconds(text)
