"""Parts that a console is opened with."""

from tests.tui.console.running import FakeSource
from tui.console.source import Opened


def test_nothing_is_recorded_unless_asked_for():
    opened = Opened(source=FakeSource(None))
    assert (opened.recorder, opened.jobs, opened.replay) == (None, None, None)
