"""Protocols of a source: what the program hands to the console fits them."""

from tests.tui.console import snapshots
from tests.tui.console.running import FakeSource
from tui.console.source import Opened, ReplaySource


def test_a_source_that_steps_is_a_replay():
    assert isinstance(FakeSource(snapshots.empty()), ReplaySource)
    assert not isinstance(object(), ReplaySource)


def test_nothing_is_recorded_unless_asked_for():
    opened = Opened(source=FakeSource(None))
    assert opened.recorder is None and opened.jobs is None
