"""Rows that prove that no end is lost, on a ClickHouse in this process: thousands of keys with
random versions, of which some ends never came."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass

from aggregator.upsert.lost_ends import doubtful_query
from aggregator.upsert.tick import OPEN, ROW_BITS, tick_of
from aggregator.upsert.version import Version
from tests.aggregator.tables.engine import engine, json_of

KEYS, TICKS, HORIZON, DAY_S = 3000, 6, 4, 86_400
PLACES = (0, 1, 1)
"""Partition of each lane: the topic of the second one was created anew, as the third."""


@dataclass
class Row:
    """Row with the tick at which it ends; None if it does not."""

    version: Version
    end: int | None = None
    is_lost: bool = False

    @property
    def until(self) -> int:
        if self.version.is_delete:
            return tick_of(self.version.row_id)
        is_settled = self.end is not None and self.end <= HORIZON and not self.is_lost
        return self.end if is_settled and self.end else OPEN


def history(dice: random.Random) -> list[Row]:
    """Returns the rows of a key with their ends, by brute force, of which some may be lost."""
    rows: list[Row] = []
    for tick in range(1, TICKS + 1):
        for lane in [0, 1] if tick < 3 else [0, 2]:
            if dice.random() < 0.6:
                continue
            offset = tick * 10
            row_id = (tick << ROW_BITS) + lane
            rows.append(Row(Version(dice.randrange(4), lane, offset, 0, row_id, False)))
            if dice.random() < 0.3:
                rows[-1].version = rows[-1].version._replace(is_delete=True)
        here = [each for each in rows if tick_of(each.version.row_id) <= tick]
        newest = max((each.version for each in here), default=None)
        for each in here:
            if each.version != newest and each.end is None and not each.version.is_delete:
                each.end = tick
                each.is_lost = dice.random() < 0.1
    return rows


def is_wrong(rows: list[Row]) -> bool:
    """Returns True if a row is open at the horizon that had ended."""
    return any(
        each.end is not None and each.end <= HORIZON < each.until
        for each in rows
        if not each.version.is_delete
    )


def is_tied(rows: list[Row]) -> bool:
    """Returns True if rows of one order are of two partitions."""
    places = defaultdict(set)
    for each in rows:
        if tick_of(each.version.row_id) <= HORIZON:
            places[each.version.order].add(PLACES[each.version.lane])
    return any(len(each) > 1 for each in places.values())


def test_a_key_is_in_doubt_if_an_end_is_lost_and_else_only_where_partitions_tie():
    dice = random.Random(39)
    keys = {key: history(dice) for key in range(KEYS)}
    engine().query("CREATE DATABASE lost")
    engine().query(
        "CREATE TABLE lost.t__rows (_key UInt32, _order Int64, _row_id UInt64, _until UInt32, "
        "_deleted UInt8, _time DateTime, _cluster String, _topic String, _partition UInt32) "
        "ENGINE = Memory"
    )
    values = [
        f"({key}, {it.order}, {it.row_id}, {each.until}, {int(it.is_delete)}, {2 * DAY_S}, "
        f"'c', 't', {PLACES[it.lane]})"
        for key, rows in keys.items()
        for each in rows
        for it in [each.version]
    ]
    # A pusher, and two open rows of a day that is over: neither says anything about ends.
    values += [f"(0, 9, 5, 0, 0, {2 * DAY_S}, '', '', 0)"]
    values += [f"({KEYS}, 9, {at << ROW_BITS}, {OPEN}, 0, 5, 'c', 't', 0)" for at in (1, 2)]
    # A newer row and a delete of such a day have ended what is older.
    shown = [KEYS + 1, KEYS + 2, KEYS + 3]
    values += [f"({key}, 3, {1 << ROW_BITS}, {OPEN}, 0, {2 * DAY_S}, 'c', 't', 0)" for key in shown]
    for key, order, is_delete in zip(shown, (4, 4, 3), (0, 1, 1), strict=True):
        until = 2 if is_delete else OPEN
        values += [f"({key}, {order}, {2 << ROW_BITS}, {until}, {is_delete}, 5, 'c', 't', 0)"]
    engine().query(f"INSERT INTO lost.t__rows VALUES {', '.join(values)}")
    query = doubtful_query("lost", "t", HORIZON, 2 * DAY_S)
    [[count]] = json_of(query)
    found = {key for (key,) in json_of(query.replace("count()", "_key", 1))}
    assert int(count) == len(found)
    assert {key for key in found if key >= KEYS} == {*shown}
    found.difference_update(shown)
    wrong = {key for key, rows in keys.items() if is_wrong(rows)}
    assert wrong <= found and len(wrong) > 100
    assert all(is_tied(keys[key]) for key in found - wrong)
    tied = {key for key, rows in keys.items() if is_tied(rows)} - wrong
    assert len(found - wrong) < len(tied), "most ties are told apart"
    engine().query("DROP DATABASE lost")
