"""Tables of a snapshot: taken apart and put together, it is the same."""

import pytest
from hypothesis import given

from tests.tui.recording.samples import full, snapshots
from tui.facts.snapshot import Snapshot
from tui.recording.tables import Damaged, from_tables, to_tables, whole_number_columns


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
