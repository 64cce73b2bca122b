"""Wall clock of a watch: ages outlast a step of the machine's clock."""

from itertools import chain, repeat

from tui.facts.watch.watcher import WallClock


def clock(*wall: float) -> WallClock:
    return WallClock(chain(wall, repeat(wall[-1])).__next__, lambda: 50.0)


def test_moments_are_told_in_unix_seconds() -> None:
    assert clock(1000.0).unix(47.0) == 997.0
    assert clock(1000.0).unix(None) is None


def test_after_a_step_back_earlier_moments_are_told_by_the_new_time() -> None:
    found = clock(5000.0, 1400.0)
    found.follow()
    assert found.unix(47.0) == 1397.0


def test_a_clock_that_is_slewed_moves_nothing() -> None:
    found = clock(5000.0, 5000.9)
    found.follow()
    assert found.unix(47.0) == 4997.0
