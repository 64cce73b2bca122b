"""Reader of a recording: every frame as it was, found by time and by what got worse."""

import sqlite3
import zlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from tests.tui.recording.recordings import MAX_BYTES, recorded
from tests.tui.recording.samples import BEGAN, alert, full, partition, route, snapshots
from tui.facts.health import Health
from tui.facts.snapshot import Snapshot
from tui.recording.frame import Frame, Kind, Packer
from tui.recording.reader import Reader
from tui.recording.recording_file import NoRecording, RecordingFile
from tui.recording.tables import Damaged, to_tables


def moving(number: int) -> Snapshot:
    """Returns the snapshot of a time: every partition moves on."""
    parts = (partition(each, end=100 * each + 10 * number) for each in range(20))
    return Snapshot(taken_at=BEGAN + 2 * number, routes=(route(*parts),), alerts=())


@pytest.fixture
def series() -> list[Snapshot]:
    found = [moving(number) for number in range(10)]
    found[4] = replace(found[4], alerts=(alert("a"),))
    found[7] = replace(found[7], routes=(replace(found[7].routes[0], state=Health.PARKED),))
    return found


@pytest.fixture
def reader(tmp_path: Path, series: list[Snapshot]):
    with Reader(recorded(tmp_path / "a.rec", series)) as found:
        yield found


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(snapshots, min_size=1, max_size=8),
    st.integers(64, 200).map(lambda kib: kib * 1024),
    st.data(),
)
def test_every_frame_that_is_left_comes_back_equal_in_any_order(
    tmp_path: Path, series: list[Snapshot], max_bytes: int, data: st.DataObject
) -> None:
    path = tmp_path / "any.rec"
    path.unlink(missing_ok=True)
    recorded(path, series, max_bytes)
    with Reader(path) as reader:
        moment = reader.first()
        left = [moment]
        while moment := reader.next(moment):
            left.append(moment)
        assert left[-1] == reader.last()
        kept = list(zip(left, series[-len(left) :], strict=True))
        for moment, snapshot in data.draw(st.permutations(kept)):
            assert reader.snapshot(moment) == snapshot


def test_frames_follow_each_other_both_ways(reader: Reader, series: list[Snapshot]) -> None:
    first, last = reader.first(), reader.last()
    assert (first.at, last.at) == (series[0].taken_at, series[-1].taken_at)
    following = reader.next(first)
    assert following is not None
    assert reader.snapshot(following) == series[1]
    assert reader.previous(following) == first
    assert reader.previous(first) is None
    assert reader.next(last) is None


def test_a_time_leads_to_the_last_frame_before_it(reader: Reader) -> None:
    assert reader.at(BEGAN + 6).at == BEGAN + 6
    assert reader.at(BEGAN + 7.9).at == BEGAN + 6
    assert reader.at(BEGAN + 9e9) == reader.last()
    assert reader.at(0) == reader.first()


def test_the_next_mark_is_a_new_alert_or_a_worse_route(reader: Reader) -> None:
    found = reader.next_mark(reader.first())
    assert found is not None
    assert (found.at, found.mark) == (BEGAN + 8, "PAGE text of a")
    found = reader.next_mark(found)
    assert found is not None
    assert (found.at, found.mark) == (BEGAN + 14, "west>east is PARKED")
    assert reader.next_mark(found) is None


def test_reading_changes_nothing(tmp_path: Path, series: list[Snapshot]) -> None:
    path = recorded(tmp_path / "a.rec", series)
    before = path.read_bytes()
    path.chmod(0o400)
    with Reader(path) as reader:
        reader.snapshot(reader.last())
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.rec"]


def test_a_recording_is_read_while_it_is_written(tmp_path: Path, series: list[Snapshot]) -> None:
    file, packer = RecordingFile.open(tmp_path / "a.rec", MAX_BYTES), Packer()
    file.append(packer.packed(series[0], is_whole=True))
    with Reader(file.path) as reader:
        assert reader.next(reader.first()) is None
        file.append(packer.packed(series[1], is_whole=False))
        assert reader.snapshot(reader.last()) == series[1]
        file.close()
        assert reader.snapshot(reader.first()) == series[0]


def test_the_recording_of_a_killed_recorder_has_all_its_frames(
    tmp_path: Path, series: list[Snapshot]
) -> None:
    file, packer = RecordingFile.open(tmp_path / "a.rec", MAX_BYTES), Packer()
    for each in series:
        file.append(packer.packed(each, is_whole=False))
    killed = tmp_path / "killed"
    killed.mkdir()
    for each in tmp_path.glob("a.rec*"):
        if not each.name.endswith("-shm"):
            (killed / each.name).write_bytes(each.read_bytes())
    file.close()
    with Reader(killed / "a.rec") as reader:
        assert reader.snapshot(reader.last()) == series[-1]
    # The next recorder goes on behind them.
    recorded(killed / "a.rec", [moving(11)])
    with Reader(killed / "a.rec") as reader:
        assert reader.snapshot(reader.at(series[-1].taken_at)) == series[-1]
        assert reader.snapshot(reader.last()) == moving(11)


def test_a_frame_that_has_gone_meanwhile_is_told(reader: Reader, tmp_path: Path) -> None:
    first = reader.first()
    with sqlite3.connect(reader.path) as connection:
        connection.execute("DELETE FROM frames WHERE id < 5")
    connection.close()
    with pytest.raises(Damaged, match="not there any more"):
        reader.snapshot(first)


def test_a_missing_difference_is_damage_and_not_a_wrong_snapshot(reader: Reader) -> None:
    with sqlite3.connect(reader.path) as connection:
        connection.execute("DELETE FROM frames WHERE id = 5")
    connection.close()
    with pytest.raises(Damaged, match="frame 5 is missing"):
        reader.snapshot(reader.last())


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE frames SET kind = 'differense' WHERE id = 10",
        "UPDATE frames SET content = 'text' WHERE id = 10",
        "UPDATE frames SET content = NULL WHERE id = 10",
        "UPDATE frames SET version = -7 WHERE id = 10",
        "UPDATE frames SET at = 'noon' WHERE id = 10",
    ],
)
def test_a_frame_that_was_changed_is_damaged_and_the_others_can_be_shown(
    reader: Reader, series: list[Snapshot], change: str
) -> None:
    with sqlite3.connect(reader.path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'frames'"
        )
    connection.close()
    with sqlite3.connect(reader.path) as connection:
        connection.execute(change)
    connection.close()
    with Reader(reader.path) as anew:
        with pytest.raises(Damaged):
            anew.snapshot(anew.last())
        assert anew.snapshot(anew.at(BEGAN + 4)) == series[2]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["", "routes.", "routes.topics.", "balance.", "alerts."]), st.data())
def test_a_frame_of_any_numbers_is_a_snapshot_or_damaged(
    tmp_path: Path, path: str, data: st.DataObject
) -> None:
    tables = to_tables(full())
    name = data.draw(st.sampled_from(sorted(tables[path])))
    odd = st.one_of(st.integers(-2, 3), st.none(), st.text(), st.just([]))
    tables[path][name] = data.draw(st.lists(odd, max_size=3))
    content = zlib.compress(to_json(tables))
    file = tmp_path / "any.rec"
    file.unlink(missing_ok=True)
    written = RecordingFile.open(file, MAX_BYTES)
    written.append(Frame(BEGAN, Kind.WHOLE, content))
    written.close()
    with Reader(file) as reader, suppress(Damaged):
        assert isinstance(reader.snapshot(reader.last()), Snapshot)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is empty"),
        (b"my notes", "is no recording"),
        (b"SQLite format 3\0" + b"x" * 5000, "damaged"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: bytes, text: str) -> None:
    path = tmp_path / "a.rec"
    path.write_bytes(content)
    with pytest.raises(NoRecording, match=text):
        Reader(path)


def test_a_missing_file_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(NoRecording, match="cannot be read: No such file"):
        Reader(tmp_path / "a.rec")
    assert not list(tmp_path.iterdir())


def test_a_recording_without_a_frame_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoRecording, match="has no frame yet"):
        Reader(recorded(tmp_path / "a.rec", []))


@pytest.mark.parametrize("part", [0.02, 0.3, 0.5, 0.9])
def test_a_recording_that_was_cut_is_refused(
    tmp_path: Path, series: list[Snapshot], part: float
) -> None:
    path = recorded(tmp_path / "a.rec", series)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(NoRecording, match="damaged"):
        Reader(path)


def test_a_recording_that_was_overwritten_in_places_ends_in_one_of_two_errors(
    tmp_path: Path, series: list[Snapshot]
) -> None:
    path = recorded(tmp_path / "a.rec", series)
    content = path.read_bytes()
    for begin in range(100, len(content), 4096):
        path.write_bytes(content[:begin] + b"\xff" * 2000 + content[begin + 2000 :])
        try:
            with Reader(path) as reader:
                assert reader.snapshot(reader.last()) == series[-1]
        except (NoRecording, Damaged):
            pass
