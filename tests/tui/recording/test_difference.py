"""Difference of two frames: small where little changed, and nothing gets lost."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from tests.tui.recording.samples import event, full, partition, route, snapshots
from tui.facts.snapshot import Snapshot
from tui.recording.difference import applied, difference
from tui.recording.tables import Damaged, to_tables

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
