"""Page of a feed: tables, verdicts, partitions, blocks on their way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.console.snapshots import NOW, feed, healthy
from tests.tui.console.values.feeds import object_feed
from tests.tui.pages.finding_snapshots import busy_feed, findings
from tui.pages.feed import (
    OBJECT_COLUMNS,
    PARTITION_COLUMNS,
    TABLE_COLUMNS,
    FeedPage,
    custody,
    table_rows,
)
from tui.pages.page import Row
from tui.pages.rows import sorts_of

PAGE = FeedPage("ticks")


def section(name: str, snapshot=None):
    return next(it for it in PAGE.sections(snapshot or findings(), NOW) if it.name == name)


TITLES = ("MODE", "LAG", "LAG S", "INTENT S", "WINDOW")


def test_a_partition_has_its_state_mode_progress_and_reason():
    rows = list(section("partitions").rows)
    titles = [each.title for each in PARTITION_COLUMNS]
    first = dict(zip(titles, (cell.text for cell in rows[0].cells), strict=True))
    assert (first["STATE"], first["MODE"], first["LAG"]) == ("BEHIND", "replay", "150")
    assert (first["INTENT S"], first["WINDOW"], first["COMMITTED"]) == ("400", "70%", "1,200,000")
    states = [row.cells[0].text for row in rows]
    assert states == ["BEHIND", "PARKED", "PAUSED", "UNKNOWN", "WAITS"]
    assert rows[4].why == "waiting: no intent yet"
    assert (rows[0].feed, rows[0].topic, rows[0].region) == ("ticks", "orders", "west")


def test_what_is_unknown_is_not_0():
    (unknown,) = section("partitions").only(TITLES).rows[3:4]
    assert [cell.text for cell in unknown.cells] == ["?", "?", "0.9", "?", "?"]


@pytest.mark.parametrize("title", [each.title for each in PARTITION_COLUMNS])
def test_every_column_sorts_as_its_cells_do(title):
    rows = section("partitions").rows
    at = [each.title for each in PARTITION_COLUMNS].index(title)
    assert sorts_of(rows, title, at) == [row.cells[at].sort for row in rows]


def test_the_cursor_begins_on_the_partition_of_an_alert():
    named = FeedPage("ticks", "west aggregate", "orders", 1)
    assert named.cursor == ("partitions", list(section("partitions").rows)[1].key)
    assert PAGE.cursor is None


def test_notes_tell_the_blocks_that_are_on_their_way():
    row = section("partitions").rows[0]
    place, block = PAGE.notes(findings(), row, NOW)
    assert place == (
        "orders-0 in west aggregate: loaded to 1,200,000 of 1,200,150, loader 1, custody held"
    )
    assert block == (
        "on its way: o: offsets 100 to 499, 400 records, sealed 6:40 ago, 70% of the window"
    )
    assert PAGE.notes(findings(), Row(key="0 o", cells=()), NOW) == ()


def test_a_shard_without_an_answer_says_so():
    *_, away = section("tables").rows
    assert (away.why, away.is_fault) == ("no replica of shard 1 answers", True)
    shown = [cell.text for cell in away.cells]
    assert shown == ["ticks", "ticks.?", "1", "?", "?", "?", "?", "?"]


def test_a_table_that_recognizes_no_block_and_no_row_is_a_fault():
    (shard,) = feed().shards
    (table,) = shard.tables or ()
    plain = replace(table.state, window_blocks=0, has_coordinates=False)
    (row,) = table_rows("ticks", replace(shard, tables=(replace(table, state=plain),)))
    shown = table_texts(row)
    assert (shown["WINDOW S"], shown["COORDINATES"], row.is_fault) == ("none", "no", True)
    forever = replace(table.state, window_seconds_max=None, blocks_per_second=0.0)
    (row,) = table_rows("ticks", replace(shard, tables=(replace(table, state=forever),)))
    assert (table_texts(row)["WINDOW S"], row.is_fault) == ("any", False)


def table_texts(row):
    return dict(
        zip((each.title for each in TABLE_COLUMNS), (it.text for it in row.cells), strict=True)
    )


def test_verdicts_of_the_verifier_are_the_newest_first_with_both_entries():
    found = section("verdicts")
    first, second = found.rows
    assert [cell.text for cell in first.cells[:3]] == ["1:00", "anomaly", "orders-3"]
    assert first.is_fault and not second.is_fault
    assert "before: none; after: offset 30" in first.why
    assert section("verdicts", replace(findings(), feeds=(feed(),))).empty == "not known"
    quiet = replace(findings(), feeds=(replace(feed(), findings=()),))
    assert section("verdicts", quiet).empty.startswith("none")


def test_a_feed_that_is_gone_says_so():
    gone = replace(healthy(), feeds=())
    assert PAGE.title(gone) == "feed ticks   not known"
    (only,) = PAGE.sections(gone, NOW)
    assert only.empty == "no feed ticks"
    assert PAGE.title(findings()) == "feed ticks   region west, 5 partitions"


def test_actions_are_about_the_partition_under_the_cursor_or_the_feed():
    row = section("partitions").rows[1]
    assert PAGE.actions(findings(), row, NOW)[0].confirmation == "orders-1"
    assert PAGE.actions(findings(), None, NOW)[0].confirmation == "ticks"
    assert busy_feed().partitions[1].partition == 1


def test_a_frozen_partition_has_that_for_its_custody_unless_it_is_parked():
    loaded, stuck = feed().partitions
    assert custody(loaded) == "held"
    assert custody(replace(loaded, frozen="by ann")) == "frozen"
    assert custody(replace(stuck, frozen="by ann")) == "parked"


def test_a_feed_into_s3_has_open_objects_in_the_place_of_tables():
    snapshot = replace(healthy(), feeds=(object_feed(),))
    verdicts, partitions = FeedPage("lake").sections(snapshot, NOW)
    assert (verdicts.name, partitions.name) == ("verdicts", "partitions")
    titles = [each.title for each in OBJECT_COLUMNS]
    first, second = (
        dict(zip(titles, (cell.text for cell in row.cells), strict=True)) for row in partitions.rows
    )
    assert (first["STATE"], first["OPEN"], first["OPEN S"]) == ("OK", "3", "300")
    assert (second["STATE"], second["OPEN"], second["OPEN S"]) == ("PARKED", "0", "-")
    for at, title in enumerate(titles):
        found = sorts_of(partitions.rows, title, at)
        assert found == [row.cells[at].sort for row in partitions.rows], title
