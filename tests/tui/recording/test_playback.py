"""Playback: the time of a recording by the clock."""

from tui.recording.replay import Playback

STILL = Playback(at=1000.0, since=50.0, speed=0.0)
PLAYING = Playback(at=1000.0, since=50.0, speed=4.0)


def test_time_goes_by_the_speed() -> None:
    assert PLAYING.time(53.0) == 1012.0
    assert STILL.time(53.0) == 1000.0


def test_another_speed_changes_nothing_of_the_time_before() -> None:
    slower = PLAYING.with_speed(1.0, 53.0)
    assert (slower.time(53.0), slower.time(55.0)) == (1012.0, 1014.0)


def test_a_frame_is_waited_for_as_long_as_its_time_takes_at_this_speed() -> None:
    assert PLAYING.wait_seconds(1008.0, 51.0) == 1.0
    assert PLAYING.wait_seconds(1001.0, 51.0) == 0.0
    assert STILL.wait_seconds(1008.0, 51.0) is None


def test_a_long_time_without_frames_is_passed_over() -> None:
    skipped = PLAYING.without_gap(1000.0, 9000.0, 51.0)
    assert skipped.wait_seconds(9000.0, 51.0) == 1.0
    assert skipped.without_gap(1000.0, 9000.0, 51.5) == skipped


def test_a_short_time_without_frames_is_played() -> None:
    assert PLAYING.without_gap(1000.0, 1060.0, 51.0) == PLAYING


def test_moving_keeps_the_speed() -> None:
    assert PLAYING.moved(2000.0, 60.0).time(61.0) == 2004.0
