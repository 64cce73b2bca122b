"""Opening: settings, parts of a console, and what servers or a recording give."""

from pathlib import Path

import pytest

from replicator.config.mistakes import ConfigMistakes
from tests.tui.console import snapshots
from tests.tui.console.running import FakeSource
from tui.console.opening import LiveOptions, opened_live, opened_replay
from tui.console.settings import ConsoleSettings
from tui.console.source import Opened
from tui.recording.recorder import Recorder

# --- Settings of the console.


def test_the_mode_is_reading_unless_asked_for():
    assert ConsoleSettings(file="a").mode == "READING"
    assert ConsoleSettings(file="a", is_steering=True).mode == "STEERING"
    assert ConsoleSettings(file="a", is_replay=True, is_steering=True).mode == "REPLAY"


# --- Parts that a console is opened with.


def test_nothing_is_recorded_unless_asked_for():
    opened = Opened(source=FakeSource(None))
    assert (opened.recorder, opened.jobs, opened.replay) == (None, None, None)


# --- Opening of a source: of servers that are not asked yet, and of a recording.

REFERENCE = Path(__file__).parents[3] / "deploy" / "appliance.toml"


def options(tmp_path: Path, **changes) -> LiveOptions:
    told: list[str] = []
    found = {
        "config": REFERENCE,
        "timeout_seconds": 1.0,
        "record": None,
        "max_bytes": 2**20,
        "tell": told.append,
    }
    return LiveOptions(**{**found, **changes})


def test_a_live_source_has_jobs_and_records_only_if_asked_to(tmp_path: Path):
    opened = opened_live(options(tmp_path))
    assert opened.jobs is not None and opened.recorder is None
    opened.source.close()
    record = tmp_path / "console.rec"
    opened = opened_live(options(tmp_path, record=record))
    assert opened.recorder is not None
    opened.recorder.record(snapshots.healthy())
    opened.recorder.close()
    opened.source.close()
    assert record.exists()


def test_a_mistake_in_the_configuration_is_raised(tmp_path: Path):
    broken = tmp_path / "a.toml"
    broken.write_text("[regions]\n")
    with pytest.raises(ConfigMistakes):
        opened_live(options(tmp_path, config=broken))


def test_a_recording_is_replayed_without_jobs(tmp_path: Path):
    path = tmp_path / "console.rec"
    recorder = Recorder(path, 2**20, lambda text: None)
    recorder.record(snapshots.lagging())
    recorder.close()
    opened = opened_replay(path)
    assert opened.jobs is None
    assert opened.replay is opened.source
    opened.source.close()
