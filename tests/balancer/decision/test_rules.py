import pytest

from balancer.decision.off_peak import DailyWindow
from balancer.decision.rules import Rules


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
def test_what_cannot_be_is_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        Rules(**wrong)


def test_without_an_off_peak_time_there_is_no_window():
    assert Rules().off_peak_window is None
    assert Rules(off_peak="02:00-04:30").off_peak_window == DailyWindow(120, 270)
