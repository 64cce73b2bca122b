"""Settings of the console."""

from tui.console.settings import ConsoleSettings


def test_the_mode_is_reading_unless_asked_for():
    assert ConsoleSettings(file="a").mode == "READING"
    assert ConsoleSettings(file="a", is_steering=True).mode == "STEERING"
    assert ConsoleSettings(file="a", is_replay=True, is_steering=True).mode == "REPLAY"
