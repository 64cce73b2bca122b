"""Recording file: stays within its limit, and refuses what is no recording."""

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.recording.recordings import MAX_BYTES, recorded
from tests.tui.recording.samples import BEGAN, full
from tui.recording.frame import VERSION, Frame, Kind
from tui.recording.reader import Reader
from tui.recording.recording_file import NoRecording, OtherWriter, RecordingFile, TooLarge

KIB = 1024


def frames(count: int, size: int, every: int) -> list[Frame]:
    """Returns frames of random bytes, which nothing makes smaller."""
    return [
        Frame(
            BEGAN + number,
            Kind.DIFFERENCE if number % every else Kind.WHOLE,
            os.urandom(size),
        )
        for number in range(count)
    ]


def kinds(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        found = [kind for (kind,) in connection.execute("SELECT kind FROM frames ORDER BY id")]
    connection.close()
    return found


@pytest.mark.parametrize(
    ("max_kib", "size", "every"),
    [(64, 300, 20), (64, 5_000, 3), (200, 5_000, 3), (1000, 5_000, 3), (1000, 12_000, 1)],
)
def test_a_recording_stays_within_its_limit_and_the_newest_frames_stay(
    tmp_path: Path, max_kib: int, size: int, every: int
) -> None:
    path, log = tmp_path / "a.rec", tmp_path / "a.rec-wal"
    largest = largest_log = 0
    file = RecordingFile.open(path, max_kib * KIB)
    count = 3 * max_kib * KIB // size
    for frame in frames(count, size, every):
        file.append(frame)
        largest = max(largest, path.stat().st_size)
        largest_log = max(largest_log, log.stat().st_size)
    file.close()
    assert largest <= max_kib * KIB
    # The write-ahead log holds a 16th of the limit, 16 pages at least, and the last frames.
    assert largest_log <= max(max_kib * KIB // 16, 64 * KIB) + 64 * KIB + 2 * size
    found = kinds(path)
    assert found[0] == "whole"
    # The tables and indexes alone take 40 KiB; at times the oldest group has just gone.
    assert len(found) * size > (max_kib - 40) * KIB / 3
    with Reader(path) as reader:
        assert reader.last().at == BEGAN + count - 1


def test_a_smaller_limit_makes_a_recording_smaller(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    file = RecordingFile.open(path, 1000 * KIB)
    for frame in frames(100, 8_000, 2):
        file.append(frame)
    file.close()
    assert path.stat().st_size > 700 * KIB
    file = RecordingFile.open(path, 100 * KIB)
    file.append(frames(1, 8_000, 1)[0])
    file.close()
    assert path.stat().st_size <= 100 * KIB


@pytest.mark.parametrize("size", [30_000, 100_000])
@pytest.mark.parametrize("kind", Kind)
def test_a_frame_without_room_is_refused_and_what_was_recorded_stays(
    tmp_path: Path, kind: Kind, size: int
) -> None:
    path = tmp_path / "a.rec"
    file = RecordingFile.open(path, 64 * KIB)
    for frame in frames(2, 5_000, 9):
        file.append(frame)
    with pytest.raises(TooLarge, match=r"a snapshot takes \d+ KiB, and --max-mib"):
        file.append(Frame(BEGAN + 2, kind, os.urandom(size)))
    file.append(frames(3, 5_000, 9)[-1])
    file.close()
    assert kinds(path) == ["whole", "difference", "difference"]
    assert path.stat().st_size <= 64 * KIB


@given(st.lists(st.integers(1, 700_000), min_size=1, max_size=6))
def test_whatever_the_sizes_of_frames_the_limit_holds(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    path = tmp_path_factory.mktemp("any") / "a.rec"
    file = RecordingFile.open(path, 1024 * KIB)
    for size in sizes:
        with suppress(TooLarge):
            file.append(Frame(BEGAN, Kind.WHOLE, os.urandom(size)))
        assert path.stat().st_size <= 1024 * KIB
    file.close()
    assert path.stat().st_size <= 1024 * KIB


def test_a_closed_recording_is_one_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.rec", [full()])
    assert [each.name for each in tmp_path.iterdir()] == ["a.rec"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_frames_are_added_to_a_recording_that_is_there(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.rec", [full(BEGAN), full(BEGAN + 2)])
    recorded(path, [full(BEGAN + 60), full(BEGAN + 62)])
    assert kinds(path) == ["whole", "difference"] * 2


def test_frames_are_added_to_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    path.touch()
    assert kinds(recorded(path, [full()])) == ["whole"]


def test_two_recorders_do_not_mix_their_frames(tmp_path: Path) -> None:
    first = RecordingFile.open(tmp_path / "a.rec", MAX_BYTES)
    second = RecordingFile.open(tmp_path / "a.rec", MAX_BYTES)
    frame, another = frames(2, 100, 1)
    first.append(frame)
    with pytest.raises(OtherWriter, match=r"a\.rec"):
        second.append(another)
    first.append(another)
    second.close()
    first.close()
    assert kinds(tmp_path / "a.rec") == ["whole"] * 2


def planted(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as connection:
        for each in statements:
            connection.execute(each)
    connection.close()
    return path


def test_what_is_no_recording_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    text, database = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("my notes")
    planted(database, "CREATE TABLE notes (text)")
    before = database.read_bytes()
    with pytest.raises(NoRecording, match="is no recording of sluice"):
        RecordingFile.open(text, MAX_BYTES)
    with pytest.raises(NoRecording, match="is a database, but no recording of sluice"):
        RecordingFile.open(database, MAX_BYTES)
    assert text.read_text() == "my notes"
    assert database.read_bytes() == before


def test_a_recording_of_a_later_version_is_refused_with_the_name_of_its_writer(
    tmp_path: Path,
) -> None:
    path = recorded(tmp_path / "a.rec", [full()])
    planted(
        path,
        f"UPDATE about SET value = {VERSION + 1} WHERE key = 'version'",
        "UPDATE about SET value = '9.1' WHERE key = 'program'",
    )
    text = f"version {VERSION + 1}, and this program reads up to {VERSION}.*sluice 9.1"
    with pytest.raises(NoRecording, match=text):
        RecordingFile.open(path, MAX_BYTES)
    with pytest.raises(NoRecording, match=text):
        Reader(path)


def test_an_older_recording_that_is_added_to_says_the_version_of_its_newest_frame(
    tmp_path: Path,
) -> None:
    path = recorded(tmp_path / "a.rec", [full()])
    planted(
        path, "UPDATE about SET value = 0 WHERE key = 'version'", "UPDATE frames SET version = 0"
    )
    recorded(path, [full()])
    with sqlite3.connect(path) as connection:
        versions = connection.execute("SELECT version FROM frames ORDER BY id").fetchall()
        about = connection.execute("SELECT value FROM about WHERE key = 'version'").fetchone()
    connection.close()
    assert versions == [(0,), (VERSION,)]
    assert about == (str(VERSION),)


def test_a_damaged_recording_is_not_added_to(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.rec", [full()])
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(NoRecording, match="is damaged"):
        RecordingFile.open(path, MAX_BYTES)


def test_a_missing_folder_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        RecordingFile.open(tmp_path / "none" / "a.rec", MAX_BYTES)
