"""Page of the partitions of a topic."""

from dataclasses import replace

import pytest

from tests.tui.console import snapshots
from tui.pages.page import Focus
from tui.pages.partitions import (
    BYTES,
    SECONDS,
    PartitionsPage,
    columns_of,
    drain_sort,
    drain_text,
    lag_in,
    partition_row,
    shown_in,
)

PAGE, NOW = PartitionsPage("east>west", "orders"), snapshots.NOW
BEHIND = snapshots.partition("orders", 17, lag=9200)


def test_every_column_has_a_cell_and_a_value_to_sort_by():
    (section,) = PAGE.sections(snapshots.lagging(), NOW)
    row = section.rows[0]
    assert len(row.cells) == len(section.columns)
    assert set(section.rows.sorts) == {column.title for column in section.columns}
    for at, column in enumerate(section.columns):
        assert section.rows.sorts[column.title](section.rows.items[0]) == row.cells[at].sort


def test_unknown_values_are_question_marks():
    row = partition_row(snapshots.unknown("orders", 3), "west>east", shown_in("records"))
    assert [cell.text for cell in row.cells[2:8]] == ["?", "1,196,301", "?", "?", "?", "?"]
    assert row.why.startswith("west regional does not answer")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "40 s"),
        ({"lag_records": 0}, "0 s"),
        ({"drain_seconds": None, "lag_per_second": 12.0}, "grows"),
        ({"drain_seconds": None, "lag_per_second": None}, "?"),
        ({"drain_seconds": None, "lag_per_second": None, "parked": "retention"}, "-"),
    ],
)
def test_the_time_to_drain_says_when_the_lag_grows(changes, text):
    assert drain_text(replace(BEHIND, **changes)) == text


def test_a_growing_lag_sorts_above_every_known_time():
    growing = replace(BEHIND, drain_seconds=None, lag_per_second=12.0)
    assert drain_sort(growing) > drain_sort(BEHIND)
    assert drain_sort(replace(BEHIND, drain_seconds=None, lag_per_second=None)) is None


def test_lag_in_bytes_is_not_known_without_rates():
    assert lag_in(BEHIND, BYTES) == pytest.approx(9200 * 141_000 / 1210)
    assert lag_in(BEHIND, SECONDS) == BEHIND.lag_seconds
    assert lag_in(replace(BEHIND, records_per_second=0.0), BYTES) is None
    assert lag_in(replace(BEHIND, records_per_second=0.0, lag_records=0), BYTES) == 0.0
    titles = [column.meaning for column in columns_of(BYTES) if column.title == "LAG"]
    assert "megabytes" in titles[0]


def test_notes_hold_what_the_columns_have_no_room_for():
    snapshot = snapshots.lagging()
    (section,) = PAGE.sections(snapshot, NOW)
    row = section.rows[17]
    note, advice = PAGE.notes(snapshot, row, NOW)
    assert advice.startswith("hot partition: orders-17 takes ")
    assert note.startswith("orders-17: 1,192,400 of 1,201,509, trend -230/s, 1.2k rec/s")
    assert "carrier 1 on repl-b, custody held" in note
    assert PAGE.notes(snapshot, None, NOW) == ()


def test_the_problem_of_a_server_is_told_before_its_partitions_are_stale():
    snapshot = snapshots.lagging()
    routes = [replace(each, problems=("east regional: connecting",)) for each in snapshot.routes]
    changed = replace(snapshot, routes=tuple(routes))
    (section,) = PAGE.sections(changed, NOW)
    row = section.rows[17]
    assert PAGE.notes(changed, row, NOW)[2:] == ("east regional: connecting",)
    assert PAGE.notes(changed, None, NOW) == ("east regional: connecting",)
    said = replace(BEHIND, partition=17, why="waits: east regional: connecting, since 14:02:10Z")
    topic = snapshots.topic("orders", (said,))
    changed = replace(changed, routes=(replace(changed.routes[1], topics=(topic,)),))
    assert "east regional: connecting" not in PAGE.notes(changed, row, NOW)


def test_an_open_transaction_is_told():
    snapshot = snapshots.lagging()
    route = snapshot.routes[1]
    topic = snapshots.topic("orders", (replace(BEHIND, open_transaction_seconds=61.0),))
    changed = replace(snapshot, routes=(replace(route, topics=(topic,)),))
    (section,) = PAGE.sections(changed, NOW)
    assert "a transaction is open for 61 s" in PAGE.notes(changed, section.rows[0], NOW)[0]


def test_the_topic_on_screen_is_asked_about_more_often():
    assert PAGE.focus() == Focus(topic=("east>west", "orders"))


def test_partitions_that_are_not_known_are_told():
    (section,) = PAGE.sections(snapshots.empty(), NOW)
    assert section.empty == "the partitions of orders on east>west are not known"
    assert PAGE.title(snapshots.empty()) == "east>west > orders   not known"
