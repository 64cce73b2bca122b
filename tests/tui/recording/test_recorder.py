"""Recorder: writes what it is given, tells once what is in the way, and ends nothing."""

import json
import sqlite3
import subprocess
import sys
import textwrap
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.tui.recording.recordings import MAX_BYTES, recorded
from tests.tui.recording.samples import BEGAN, alert, event, full
from tui.facts.snapshot import Snapshot
from tui.recording.frame import Frame
from tui.recording.reader import Reader
from tui.recording.recorder import AGAIN_SECONDS, Recorder
from tui.recording.recording_file import NoRecording, RecordingFile


def series(count: int, begin: float = BEGAN) -> list[Snapshot]:
    return [full(begin + 2 * number) for number in range(count)]


@pytest.fixture
def told() -> list[str]:
    return []


@contextmanager
def recorder(path: Path, told: list[str], **more) -> Iterator[Recorder]:
    found = Recorder(path, MAX_BYTES, told.append, **{"interval_seconds": 0.0, **more})
    try:
        yield found
    finally:
        assert found.close(30)


def write(recorder: Recorder, *snapshots: Snapshot) -> None:
    for each in snapshots:
        recorder.record(each)
        assert recorder.settle(30)


def times(path: Path) -> list[float]:
    with Reader(path) as reader:
        moment = reader.first()
        found = [moment.at]
        while moment := reader.next(moment):
            found.append(moment.at)
        return found


def test_the_last_frame_of_a_recording_equals_the_live_snapshot(
    tmp_path: Path, told: list[str]
) -> None:
    live = Snapshot(taken_at=BEGAN + 9, alerts=(alert("b"),))
    with recorder(tmp_path / "a.rec", told) as running:
        write(running, *series(3), live)
        assert (running.frames, running.left_out, running.trouble) == (4, 0, None)
    with Reader(tmp_path / "a.rec") as reader:
        assert reader.snapshot(reader.last()) == live
        assert reader.last().mark == "PAGE text of b"
    assert told == []


def test_snapshots_that_come_too_early_wait_and_the_last_of_them_is_written(
    tmp_path: Path, told: list[str]
) -> None:
    with recorder(tmp_path / "a.rec", told, interval_seconds=3600.0) as running:
        write(running, full(BEGAN))
        for each in series(3, BEGAN + 10):
            running.record(each)
        assert not running.settle(0.0)
    assert times(tmp_path / "a.rec") == [BEGAN, BEGAN + 14]


class Held(RecordingFile):
    """File whose writes wait."""

    begun, go_on = threading.Event(), threading.Event()

    def append(self, frame: Frame, mark: str | None = None) -> None:
        self.begun.set()
        assert self.go_on.wait(30)
        super().append(frame, mark)


def test_of_several_snapshots_that_wait_for_a_slow_disk_the_last_is_written(
    tmp_path: Path, told: list[str]
) -> None:
    with recorder(tmp_path / "a.rec", told, opened=Held.open) as running:
        running.record(full(BEGAN))
        assert Held.begun.wait(30)
        for each in series(3, BEGAN + 10):
            running.record(each)
        Held.go_on.set()
        assert running.settle(30)
        assert (running.frames, running.left_out) == (2, 0)
    assert times(tmp_path / "a.rec") == [BEGAN, BEGAN + 14]


def test_a_file_that_is_no_recording_is_refused_before_anything_begins(
    tmp_path: Path, told: list[str]
) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(NoRecording):
        Recorder(tmp_path / "notes", MAX_BYTES, told.append)


def test_a_file_that_cannot_be_made_is_told_with_its_reason(
    tmp_path: Path, told: list[str]
) -> None:
    with pytest.raises(NoRecording, match=r"a\.rec cannot be written: No such file or directory"):
        Recorder(tmp_path / "none" / "a.rec", MAX_BYTES, told.append)


def test_a_locked_file_is_one_warning_and_recording_goes_on_once_it_is_free(
    tmp_path: Path, told: list[str]
) -> None:
    path, now = tmp_path / "a.rec", [0.0]
    first, *others = series(5)
    opened = partial(RecordingFile.open, busy_seconds=0.0)
    with recorder(path, told, clock=lambda: now[0], opened=opened) as running:
        write(running, first)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        write(running, others[0], others[1])
        now[0] += AGAIN_SECONDS
        write(running, others[2])
        assert told == [f"nothing is recorded: {path}: database is locked"]
        assert running.trouble == told[0]
        assert (running.frames, running.left_out) == (1, 3)
        other.execute("ROLLBACK")
        other.close()
        now[0] += AGAIN_SECONDS
        write(running, others[3])
        assert told[1:] == [f"{path} is written again"]
        assert not running.trouble
    assert times(path) == [first.taken_at, others[3].taken_at]
    with Reader(path) as reader:
        assert reader.snapshot(reader.last()) == others[3]


def test_a_full_disk_is_one_warning_and_what_was_written_before_stays(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import json, resource, sys
        from pathlib import Path
        from tests.tui.recording.samples import BEGAN, full
        from tests.tui.recording.recordings import MAX_BYTES
        from tui.recording.recorder import Recorder
        told = []
        recorder = Recorder(Path(sys.argv[1]), MAX_BYTES, told.append, interval_seconds=0.0)
        for number in range(60):
            if number == 5:
                resource.setrlimit(resource.RLIMIT_FSIZE, (90_000, 90_000))
            recorder.record(full(BEGAN + number))
            assert recorder.settle(30)
        recorder.close(30)
        print(json.dumps([told, recorder.frames, recorder.left_out]))
        """
    )
    path = tmp_path / "a.rec"
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    told, frames, left_out = json.loads(done.stdout)
    assert len(told) == 1
    assert told[0].startswith(f"nothing is recorded: {path}: ")
    assert (frames >= 5, frames + left_out) == (True, 60)
    assert len(times(path)) == frames


def test_a_snapshot_above_the_limit_is_told_and_smaller_ones_are_written(
    tmp_path: Path, told: list[str]
) -> None:
    path, now = tmp_path / "a.rec", [0.0]
    large = replace(full(BEGAN + 2), events=tuple(event(number) for number in range(20_000)))
    running = Recorder(path, 64 * 1024, told.append, interval_seconds=0.0, clock=lambda: now[0])
    write(running, full(BEGAN), large)
    assert len(told) == 1
    assert "a snapshot takes" in told[0]
    now[0] += AGAIN_SECONDS
    write(running, full(BEGAN + 4))
    assert told[1:] == [f"{path} is written again"]
    assert running.close(30)
    assert times(path) == [BEGAN, BEGAN + 4]
    assert path.stat().st_size <= 64 * 1024


def test_a_difference_without_room_is_written_as_a_whole_frame_without_those_before(
    tmp_path: Path, told: list[str]
) -> None:
    path = tmp_path / "a.rec"
    begin = replace(full(BEGAN), events=tuple(map(event, range(400))))
    later = replace(full(BEGAN + 2), events=tuple(map(event, range(400, 800))))
    running = Recorder(path, 64 * 1024, told.append, interval_seconds=0.0)
    write(running, begin, later)
    assert running.close(30)
    assert told == []
    with Reader(path) as reader:
        assert reader.snapshot(reader.last()) == later


def test_a_recorder_gives_up_when_another_one_writes_to_its_file(
    tmp_path: Path, told: list[str]
) -> None:
    path = tmp_path / "a.rec"
    with recorder(path, told) as running:
        write(running, full(BEGAN))
        recorded(path, [full(BEGAN + 2)])
        write(running, full(BEGAN + 4), full(BEGAN + 6))
        assert running.is_over
    assert told == [f"nothing is recorded: another process records to {path}"]
    assert times(path) == [BEGAN, BEGAN + 2]


def test_a_defect_of_ours_is_one_warning_too(tmp_path: Path, told: list[str]) -> None:
    with recorder(tmp_path / "a.rec", told) as running:
        write(running, object(), object())
        assert len(told) == 1
        assert "unexpected AttributeError" in told[0]


def test_a_recording_has_nothing_in_clear_but_its_marks(tmp_path: Path, told: list[str]) -> None:
    with recorder(tmp_path / "a.rec", told) as running:
        write(running, full())
    content = (tmp_path / "a.rec").read_bytes()
    with sqlite3.connect(tmp_path / "a.rec") as connection:
        (packed,) = connection.execute("SELECT content FROM frames").fetchone()
    connection.close()
    assert b"orders" not in content
    assert b"orders" in zlib.decompress(packed)
