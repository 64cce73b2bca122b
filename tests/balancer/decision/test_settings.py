import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.settings import DailyWindow, Limits, Rules


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"carriers_min": 0}, "carriers_min is 0"),
        ({"carriers_min": 5, "carriers_max": 4}, "carriers_max is 4, below carriers_min, 5"),
        ({"threshold": 0.0}, "threshold is 0"),
        ({"threshold": 1.1}, "threshold is 1.1"),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"partitions_max": 0}, "partitions_max is 0"),
        ({"slack": -0.1}, "slack is -0.1"),
        ({"slack": float("nan")}, "slack is nan"),
        ({"slack": float("inf")}, "slack is inf"),
        ({"calm_rounds": -1}, "calm_rounds is -1"),
    ],
)
def test_an_invalid_limit_is_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        Limits(**wrong)


def test_limits_at_the_edge_are_valid():
    Limits(carriers_min=1, carriers_max=1, threshold=1.0, partitions_max=1, slack=0, calm_rounds=0)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"cool_down_seconds": -1}, "cool_down_seconds is -1"),
        ({"cool_down_seconds": float("inf")}, "cool_down_seconds is inf"),
        ({"moves_max": 0}, "moves_max is 0"),
        ({"patience_rounds": 0}, "patience_rounds is 0"),
        ({"lag_seconds_max": float("nan")}, "lag_seconds_max is nan"),
        ({"lag_patience_seconds": -1}, "lag_patience_seconds is -1"),
        ({"off_peak": "night"}, "off_peak is 'night'"),
    ],
)
def test_an_invalid_rule_is_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        Rules(**wrong)


def test_the_window_follows_from_the_off_peak_text():
    assert Rules().off_peak_window is None
    assert Rules(off_peak="02:00-04:30").off_peak_window == DailyWindow(120, 270)


DAY_MS = 86_400_000
MINUTE_MS = 60_000


def clock(day, hour, minute=0):
    return day * DAY_MS + (hour * 60 + minute) * MINUTE_MS


def test_a_window_includes_its_first_minute_and_excludes_its_last():
    window = DailyWindow.parsed("02:00-04:30")
    assert window.day(clock(20, 2) - 1) is None
    assert window.day(clock(20, 2)) == 20
    assert window.day(clock(20, 4, 30) - 1) == 20
    assert window.day(clock(20, 4, 30)) is None


def test_a_window_across_midnight_belongs_to_the_day_on_which_it_began():
    window = DailyWindow.parsed("22:00-03:00")
    assert [window.day(clock(*time)) for time in [(20, 21), (20, 22), (21, 2), (21, 3)]] == [
        None,
        20,
        20,
        None,
    ]


def test_a_window_may_end_at_midnight():
    window = DailyWindow.parsed("22:00-00:00")
    assert window.day(clock(20, 23, 59)) == 20
    assert window.day(clock(21, 0)) is None


@pytest.mark.parametrize(
    "text",
    ["", "02:00", "2:00-04:00", "25:00-26:00", "02:60-03:00", "03:00-03:00", "22:00-24:00"],
)
def test_any_other_window_text_is_refused(text):
    with pytest.raises(ValueError, match="off_peak is"):
        DailyWindow.parsed(text)


@given(st.integers(0, 1439), st.integers(1, 1439), st.integers(0, 30))
def test_a_window_is_open_for_its_length_each_day(begin, length, day):
    window = DailyWindow(begin, (begin + length) % 1440)
    begun_ms = day * DAY_MS + begin * MINUTE_MS
    assert window.day(begun_ms) == window.day(begun_ms + length * MINUTE_MS - 1) == day
    assert window.day(begun_ms - 1) is None
    assert window.day(begun_ms + length * MINUTE_MS) is None
