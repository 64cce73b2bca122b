"""Recording of the demo: continued with the same file, and ended in order."""

from __future__ import annotations

import time
from pathlib import Path

from deploy.lab.kafka import CHECKOUT
from deploy.lab.recording import Recording
from tests.addresses import refusing
from tui.recording.reader import Reader
from tui.recording.recording_file import NoRecording

REGION = """
[regions.{name}]
redis = "redis://{redis}/0"
regional.bootstrap = ["{regional}"]
aggregate.bootstrap = ["{aggregate}"]
"""
CLUSTERS = ("redis", "regional", "aggregate")


def frames(path: Path) -> int:
    """Returns the number of frames; 0 while there is no recording."""
    try:
        with Reader(path) as reader:
            return reader.last().frame
    except NoRecording:
        return 0


def wait_for_frames(recording: Recording, count: int) -> None:
    deadline = time.monotonic() + 60
    while frames(recording.path) < count:
        assert time.monotonic() < deadline, recording.log.read_text()
        time.sleep(0.1)


def test_a_recording_goes_on_in_the_same_file_and_ends_in_order(tmp_path: Path) -> None:
    configuration = tmp_path / "appliance.toml"
    configuration.write_text(
        "".join(
            REGION.format(name=name, **{each: refusing() for each in CLUSTERS})
            for name in ("east", "west")
        )
    )
    recording = Recording(tmp_path, configuration)
    with recording:
        wait_for_frames(recording, 1)
    before = frames(recording.path)
    with recording:
        wait_for_frames(recording, before + 1)
    assert recording.log.read_text().count("event=stopped") == 2
    assert [each.name for each in tmp_path.glob("demo.rec*")] == ["demo.rec"]


def test_the_command_that_replays_it_is_one_to_type_in_the_checkout() -> None:
    directory = CHECKOUT / ".lab" / "demo"
    recording = Recording(directory, directory / "appliance.toml")
    assert recording.replay_command.endswith("sluice console --replay .lab/demo/demo.rec")
