"""Worked examples of the source (Pinot's upsert design), and its rules that give wrong answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import NamedTuple

import pytest

from aggregator.upsert.fold import KeyState, fold
from aggregator.upsert.mark import Level, server_mark, table_mark
from aggregator.upsert.tick import OPEN, ROW_BITS, tick_of
from aggregator.upsert.version import RowEnd, Version
from tests.aggregator.upsert.upsert_visible import is_behind, is_visible


@dataclass
class Table:
    """Table of one lane, whose rows and ends are all on one server.

    Args:
        rows: key and value by row id, in the order in which they came.
    """

    rows: dict[int, tuple[str, float]] = field(default_factory=dict)
    ends: list[RowEnd] = field(default_factory=list)
    states: dict[bytes, KeyState] = field(default_factory=dict)
    tick: int = 0

    def take(self, *records: tuple[str, float]) -> list[RowEnd]:
        """Takes records as the next tick, in the order of their times; returns the ends."""
        self.tick += 1
        facts = []
        for key, value in records:
            offset = len(self.rows)
            row_id = (self.tick << ROW_BITS) + offset
            self.rows[row_id] = (key, value)
            facts.append((key.encode(), Version(offset, 0, offset, 0, row_id, False)))
        folded = fold(self.tick, facts, self.states)
        self.states |= folded.states
        self.ends += folded.ends
        return folded.ends

    def values(self, key: str = "", mark: int | None = None) -> list[float]:
        """Returns the values that a query sees at a mark, of one key or of all."""
        at = self.tick if mark is None else mark
        ended = {each.row_id for each in self.ends if is_behind(each.tick, 0, at)}
        return [
            value
            for row_id, (found, value) in self.rows.items()
            if key in ("", found) and is_visible(row_id, OPEN, at, ended)
        ]

    def appended(self, key: str = "") -> list[float]:
        """Returns the values that an append table has."""
        return [value for found, value in self.rows.values() if key in ("", found)]


# -- account balances


def test_balances_are_101_then_151_then_250_and_appended_134_and_175_5():
    table = Table()
    table.take(("abc-12", 100), ("abc-13", 102))
    assert table.values("abc-12") == [100]
    assert mean(table.values()) == 101
    table.take(("abc-12", 200))
    assert table.values("abc-12") == [200]
    assert table.appended("abc-12") == [100, 200]
    assert (mean(table.values()), mean(table.appended())) == (151, 134)
    table.take(("abc-13", 300))
    assert table.values("abc-12") == [200]
    assert (mean(table.values()), mean(table.appended())) == (250, 175.5)


def test_balances_as_of_each_mark_stay_what_they_were():
    table = Table()
    for records in ((("abc-12", 100), ("abc-13", 102)), (("abc-12", 200),), (("abc-13", 300),)):
        table.take(*records)
    assert table.values(mark=0) == []
    assert [mean(table.values(mark=mark)) for mark in (1, 2, 3)] == [101, 151, 250]


# -- servers with different marks


class Stored(NamedTuple):
    """Row as the source draws it: its value, and the marks from and until which it is valid."""

    value: int
    valid_from: int
    valid_until: int | None


ONE, TWO = Stored(1, 500, 1000), Stored(2, 1000, None)


def read(servers: Iterable[Sequence[Stored]], mark: int) -> list[int]:
    """Returns what a query sees at a mark on servers with different segments."""
    return [
        row.value
        for rows in servers
        for row in rows
        if is_visible(
            row.valid_from << ROW_BITS,
            OPEN if row.valid_until is None else row.valid_until,
            mark,
            set(),
        )
    ]


def mark_of(*marks: int) -> int | None:
    return table_mark({str(at): mark for at, mark in enumerate(marks)}, [], 0.0, 30.0).tick


def test_example_1_servers_at_1200_1100_900_read_at_800_give_1():
    """Server 3 has not got the key yet."""
    assert mark_of(1200, 1100, 900) == 900
    assert read([[ONE], [TWO], []], 800) == [1]
    assert read([[ONE], [TWO], []], 900) == [1]


def test_example_2_servers_at_1200_1300_read_at_1200_give_2():
    assert mark_of(1200, 1300) == 1200
    assert read([[ONE], [TWO]], 1200) == [2]


def test_without_a_mark_a_query_to_servers_1_and_3_gives_no_row_at_all():
    """A deletion marker alone: deleted on server 1, not there yet on server 3."""
    server_1, server_3 = [ONE], []
    without = [row for row in (*server_1, *server_3) if row.valid_until is None]
    assert without == []
    assert read([server_1, server_3], 800) == [1]


VERSIONS = (Stored(1, 500, 1000), Stored(2, 1000, 1100), Stored(3, 1100, None))


def test_every_mark_shows_one_version_and_none_before_the_first():
    for mark in range(0, 1300):
        newest = [row.value for row in VERSIONS if row.valid_from <= mark][-1:]
        assert read([VERSIONS], mark) == newest


@pytest.mark.parametrize(("mark", "shown"), [(400, 2), (800, 2), (1100, 0), (1000, 1)])
def test_the_predicate_of_the_source_shows_two_rows_or_none(mark, shown):
    """(validFrom < mark AND validUntil = nil) OR validUntil > mark"""
    found = [
        row
        for row in VERSIONS
        if (row.valid_from < mark and row.valid_until is None)
        or (row.valid_until is not None and row.valid_until > mark)
    ]
    assert len(found) == shown
    assert len(read([VERSIONS], mark)) == (mark >= 500)


def test_the_predicate_of_the_source_is_wrong_at_most_marks_of_the_sweep():
    wrong = [
        mark
        for mark in range(1300)
        if len(
            [
                row
                for row in VERSIONS
                if (row.valid_from < mark and row.valid_until is None)
                or (row.valid_until is not None and row.valid_until > mark)
            ]
        )
        != (mark >= 500)
    ]
    assert wrong == [*range(1000), 1100]


# -- updates out of order


def test_an_update_out_of_order_gives_two_rows_unless_levels_count_what_is_before():
    """Update 3 is there and update 2 is not. A level that says 3 shows two rows of the key."""
    table = Table()
    ends = [end for value in (1, 2, 3) for end in table.take(("a", value))]
    assert [end.tick for end in ends] == [2, 3]
    table.ends = [end for end in ends if end.tick == 3]
    assert table.values("a", mark=3) == [1, 3], "read at the newest update that came"
    level = Level(rows=3, updates=1)  # all ends up to tick 1, which has none
    mark = server_mark({0: level})
    assert (mark, table.values("a", mark=mark)) == (1, [1])
    table.ends = ends[::-1] + ends
    assert table.values("a", mark=3) == [3], "repeated, and in any order"


# -- the update flow


def test_an_old_records_end_names_the_old_record():
    table = Table()
    table.take(("a", 1))
    (end,) = table.take(("a", 2))
    old, new = table.rows
    assert (end.row_id, end.by_row_id) == (old, new)
    assert (end.lane, end.offset) == (0, 0), "segment and offset of the old record"
    assert (tick_of(end.row_id), end.tick) == (1, 2)


def test_the_update_flow_of_the_source_shows_the_old_row_for_ever():
    """outputProducer.send(getTopics(oldEvent.segmentName), getDeleteEvent(newEvent))"""
    table = Table()
    table.take(("a", 1))
    (end,) = table.take(("a", 2))
    table.ends = [end._replace(row_id=end.by_row_id)]
    assert table.values("a", mark=2) == [1]
    (end,) = table.take(("a", 3))
    table.ends.append(end._replace(row_id=end.by_row_id))
    assert table.values("a", mark=3) == [1]
