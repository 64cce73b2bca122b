"""Frames: whole ones, differences, and the columns that they are stored as."""

import zlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.recording.samples import event, full, partition, route, snapshots
from tui.facts.snapshot import Snapshot
from tui.recording.difference import applied, difference
from tui.recording.frame import VERSION, Frame, Kind, Packer, snapshot_of, tables_of
from tui.recording.recorder import FRAMES_MAX, Group
from tui.recording.tables import Damaged, Tables, from_tables, to_tables, whole_number_columns

# --- Frames: bytes of snapshots, and those of other versions.


@given(st.lists(st.tuples(snapshots, st.booleans()), min_size=1, max_size=4))
def test_any_sequence_of_snapshots_comes_back_equal(series: list[tuple[Snapshot, bool]]) -> None:
    packer, tables = Packer(), None
    for snapshot, is_whole in series:
        frame = packer.packed(snapshot, is_whole=is_whole)
        tables = tables_of(frame, tables)
        assert snapshot_of(tables) == snapshot
        assert frame.at == snapshot.taken_at


def test_the_first_frame_is_whole_and_the_next_ones_are_differences() -> None:
    packer = Packer()
    kinds = [packer.packed(full(), is_whole=each).kind for each in (False, False, True)]
    assert kinds == [Kind.WHOLE, Kind.DIFFERENCE, Kind.WHOLE]


def test_a_difference_of_a_quiet_appliance_is_small() -> None:
    quiet = Snapshot(taken_at=1.0, routes=(route(*map(partition, range(1000))),))
    packer = Packer()
    packer.packed(quiet, is_whole=True)
    assert len(packer.packed(replace(quiet, taken_at=3.0), is_whole=False).content) < 200


def test_a_name_that_is_no_text_is_written_with_question_marks() -> None:
    odd = replace(full(), routes=(replace(full().routes[0], why="half \ud800 a pair"),))
    found = snapshot_of(tables_of(Packer().packed(odd, is_whole=True), None))
    assert found.routes[0].why == "half ? a pair"
    assert found == replace(odd, routes=(replace(odd.routes[0], why="half ? a pair"),))


def test_a_frame_of_an_earlier_version_is_upgraded_step_by_step() -> None:
    """There is no earlier version yet, so two are made up: -1 and 0."""

    def to_0(tables: Tables) -> Tables:
        return {**tables, "": {**tables[""], "ways": tables[""]["paths"]}}

    def to_1(tables: Tables) -> Tables:
        return {**tables, "": {**tables[""], "routes": tables[""]["ways"]}}

    tables = tables_of(Packer().packed(full(), is_whole=True), None)
    tables[""]["paths"] = tables[""].pop("routes")
    assert VERSION == 1
    assert snapshot_of(tables, -1, {-1: to_0, 0: to_1}) == full()


@pytest.mark.parametrize(
    "content", [b"", b"text", zlib.compress(b"text"), zlib.compress(b"[]"), zlib.compress(b"{}")]
)
def test_a_frame_that_cannot_be_unpacked_is_damaged(content: bytes) -> None:
    with pytest.raises(Damaged):
        snapshot_of(tables_of(Frame(1.0, Kind.WHOLE, content), None))


def test_a_difference_without_a_frame_before_it_is_damaged() -> None:
    with pytest.raises(Damaged, match="no frame before it"):
        tables_of(Frame(1.0, Kind.DIFFERENCE, b""), None)


# --- Rule for whole frames: groups stay short, in frames and in bytes.

MAX_BYTES = 1_000_000


def group(whole_bytes: int, *differences: int) -> Group:
    found = Group().with_frame(Frame(1.0, Kind.WHOLE, bytes(whole_bytes)))
    for each in differences:
        found = found.with_frame(Frame(1.0, Kind.DIFFERENCE, bytes(each)))
    return found


def test_a_group_begins_with_a_whole_frame() -> None:
    assert Group().is_full(MAX_BYTES)
    assert not group(100).is_full(MAX_BYTES)


def test_where_little_moves_a_group_has_many_frames() -> None:
    assert not group(1000, *[1] * (FRAMES_MAX - 2)).is_full(MAX_BYTES)
    assert group(1000, *[1] * (FRAMES_MAX - 1)).is_full(MAX_BYTES)


def test_where_everything_moves_a_group_is_short() -> None:
    assert not group(1000, 1000, 1000).is_full(MAX_BYTES)
    assert group(1000, 1000, 1001).is_full(MAX_BYTES)


def test_a_group_takes_a_fifth_of_the_recording_at_most() -> None:
    assert not group(150_000, 50_000).is_full(MAX_BYTES)
    assert group(150_000, 50_001).is_full(MAX_BYTES)


def test_a_whole_frame_begins_another_group() -> None:
    begun = group(1000, 5, 5).with_frame(Frame(1.0, Kind.WHOLE, bytes(700)))
    assert begun == Group(1, 700, 0)


# --- Difference of two frames: small where little changed, and nothing gets lost.

PARTITIONS = "routes.topics.partitions."


def of_partitions(*partitions: object) -> Snapshot:
    return Snapshot(taken_at=1.0, routes=(route(*partitions),))


def changes(former: Snapshot, snapshot: Snapshot) -> dict[str, Any]:
    return difference(to_tables(former), to_tables(snapshot))


@given(snapshots, snapshots)
def test_any_snapshot_comes_of_any_other_by_their_difference(
    former: Snapshot, snapshot: Snapshot
) -> None:
    before, after = to_tables(former), to_tables(snapshot)
    assert applied(before, difference(before, after)) == after


def test_equal_snapshots_have_no_difference() -> None:
    assert changes(full(), full()) == {}


def test_integers_that_all_moved_are_written_as_what_was_added() -> None:
    former = of_partitions(*(partition(each, end=100 * each) for each in range(8)))
    later = of_partitions(*(partition(each, end=100 * each + 7) for each in range(8)))
    found = changes(former, later)[PARTITIONS]["columns"]
    assert found == {"source_end": ["+", [7] * 8], "mirrored_to": ["+", [7] * 8]}


def test_a_number_that_becomes_known_or_unknown_is_written_as_it_is() -> None:
    former = of_partitions(partition(0, end=None), partition(1, end=70))
    later = of_partitions(partition(0, end=50), partition(1, end=None))
    found = changes(former, later)[PARTITIONS]["columns"]
    assert found["source_end"] == ["+", [50, None]]


def test_few_changed_values_are_written_one_by_one() -> None:
    parts = [partition(each) for each in range(8)]
    later = [*parts[:5], replace(parts[5], host="repl-b"), *parts[6:]]
    found = changes(of_partitions(*parts), of_partitions(*later))
    assert found == {PARTITIONS: {"columns": {"host": [".", [5], ["repl-b"]]}}}


def test_events_that_moved_down_are_not_written_anew() -> None:
    former = replace(full(), events=tuple(event(each) for each in range(20, 0, -1)))
    later = replace(full(), events=tuple(event(each) for each in range(21, 1, -1)))
    found = changes(former, later)["events."]
    assert found["rows"] == [-1, *range(19)]
    assert found["columns"]["text"] == [".", [0], ["event 21"]]


@pytest.mark.parametrize(
    "change",
    [
        {PARTITIONS: {"columns": {"source_end": ["+", [1]]}}},
        {PARTITIONS: {"columns": {"source_end": [".", [9], [1]]}}},
        {PARTITIONS: {"columns": {"source_end": ["?", [9]]}}},
        {PARTITIONS: {"rows": [7], "columns": {}}},
        {PARTITIONS: {}},
        {PARTITIONS: None},
    ],
)
def test_a_difference_that_does_not_fit_is_damaged(change: dict[str, object]) -> None:
    with pytest.raises(Damaged):
        applied(to_tables(full()), change)


# --- Tables of a snapshot: taken apart and put together, it is the same.


def test_a_snapshot_with_every_part_comes_back_equal() -> None:
    assert from_tables(to_tables(full())) == full()


@given(snapshots)
def test_any_snapshot_comes_back_equal(snapshot: Snapshot) -> None:
    assert from_tables(to_tables(snapshot)) == snapshot


def test_partitions_of_all_topics_are_one_table_with_a_column_for_each_field() -> None:
    tables = to_tables(full())
    assert tables["routes.topics.partitions."]["partition"] == [0, 1]
    assert tables["routes.topics.partitions."]["source_end"] == [100, None]
    assert tables["routes.topics."]["partitions"] == [2]


def test_none_and_an_empty_part_are_not_the_same() -> None:
    unknown, empty = Snapshot(taken_at=1.0, groups=None), Snapshot(taken_at=1.0, groups=())
    assert from_tables(to_tables(unknown)).groups is None
    assert from_tables(to_tables(empty)).groups == ()


def test_a_field_that_a_later_version_added_has_its_default_in_an_older_frame() -> None:
    tables = to_tables(full())
    del tables["routes.topics.partitions."]["drain_seconds"]
    del tables[""]["feeds"]
    found = from_tables(tables)
    assert found.routes == full().routes
    assert found.feeds == ()


def test_a_field_that_a_later_version_removed_is_left_out() -> None:
    tables = to_tables(full())
    tables[""]["weather"] = ["rain"]
    tables["routes."]["weather"] = ["rain"]
    assert from_tables(tables) == full()


@pytest.mark.parametrize(
    ("path", "name", "column"),
    [
        ("", "taken_at", ["noon"]),
        ("", "routes", [2]),
        ("routes.", "route", []),
        ("routes.topics.partitions.", "partition", [0, 1, 2]),
        ("routes.topics.partitions.", "state", ["FINE", "OK"]),
    ],
)
def test_tables_that_do_not_fit_together_are_damaged(
    path: str, name: str, column: list[object]
) -> None:
    tables = to_tables(full())
    tables[path] = {**tables[path], name: column}
    with pytest.raises(Damaged):
        from_tables(tables)


def test_tables_without_a_field_that_has_no_default_are_damaged() -> None:
    tables = to_tables(full())
    del tables["routes."]["target"]
    with pytest.raises(Damaged, match="target"):
        from_tables(tables)


def test_columns_of_integers_and_counts_of_rows_are_known() -> None:
    found = whole_number_columns("routes.topics.partitions.")
    assert {"partition", "source_end", "carrier"} <= found
    assert not {"topic", "lag_seconds", "state"} & found
    assert "partitions" in whole_number_columns("routes.topics.")
