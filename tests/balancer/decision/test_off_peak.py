import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.off_peak import DailyWindow

DAY_MS = 86_400_000
MINUTE_MS = 60_000


def clock(day, hour, minute=0):
    return day * DAY_MS + (hour * 60 + minute) * MINUTE_MS


def test_it_holds_its_first_minute_and_not_its_last():
    window = DailyWindow.parsed("02:00-04:30")
    assert window.day(clock(20, 2) - 1) is None
    assert window.day(clock(20, 2)) == 20
    assert window.day(clock(20, 4, 30) - 1) == 20
    assert window.day(clock(20, 4, 30)) is None


def test_one_that_passes_midnight_belongs_to_the_day_on_which_it_began():
    window = DailyWindow.parsed("22:00-03:00")
    assert [window.day(clock(*time)) for time in [(20, 21), (20, 22), (21, 2), (21, 3)]] == [
        None,
        20,
        20,
        None,
    ]


@pytest.mark.parametrize("text", ["00:00-24:00", "22:00-24:00", "22:00-00:00"])
def test_it_may_end_at_midnight(text):
    window = DailyWindow.parsed(text)
    assert window.day(clock(20, 23, 59)) == 20
    assert window.day(clock(21, 0)) == (21 if text == "00:00-24:00" else None)


@pytest.mark.parametrize(
    "text", ["", "02:00", "2:00-04:00", "25:00-26:00", "02:60-03:00", "03:00-03:00", "00:00-00:00"]
)
def test_any_other_text_is_refused(text):
    with pytest.raises(ValueError, match="off_peak is"):
        DailyWindow.parsed(text)


@given(st.integers(0, 1439), st.integers(1, 1439), st.integers(0, 30))
def test_of_each_day_it_has_as_many_minutes_as_it_is_long(begin, length, day):
    window = DailyWindow(begin, (begin + length) % 1440)
    begun_ms = day * DAY_MS + begin * MINUTE_MS
    assert window.day(begun_ms) == window.day(begun_ms + length * MINUTE_MS - 1) == day
    assert window.day(begun_ms - 1) is None
    assert window.day(begun_ms + length * MINUTE_MS) is None
