"""Upsert rows: what one replica has of an upsert table: claims, rows and ends, before any merge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clickhouse_driver import Client

from aggregator.store.identifier import quoted
from aggregator.upsert.table_names import rows_table, ticks_table, updates_table
from aggregator.upsert.tick import ROW_BITS
from aggregator.upsert.version import EndKind, RowEnd
from aggregator.verifier.claim_history import Claim
from aggregator.verifier.tick_rows import StoredRow
from replicator.config.upsert_table import UpsertTable

IDS_MAX = 1000
"""Row ids that one query names."""
FIRST_ROW = 1 << ROW_BITS
"""Least id of a row. Settling inserts rows of tick 0, which nobody reads."""
CLAIMS = """
SELECT generation, tick, time_ms, ends, rows, events, expired, letters FROM {ticks}
WHERE what = 'claim' AND tick >= %(first)s ORDER BY tick
"""
FIRST_CLAIM = """
SELECT min(tick) FROM {ticks}
WHERE what = 'claim' AND generation = %(generation)s AND time_ms >= %(since_ms)s
"""
CLAIMS_BEFORE = """
SELECT uniqExact(tick) FROM {ticks}
WHERE what = 'claim' AND generation = %(generation)s AND tick < %(first)s AND tick >= %(horizon)s
"""
POINTS = """
SELECT DISTINCT tick FROM {ticks} WHERE what = 'settled' AND generation = %(generation)s
AND has(servers, %(server)s) ORDER BY tick
"""
HORIZON = """
SELECT max(tick), max(time_ms) FROM {ticks} WHERE what = 'horizon' AND generation = %(generation)s
"""
SERVER = """
SELECT replica_name FROM system.replicas WHERE database = %(database)s AND table = %(name)s
"""
NEWEST_ROW = """
SELECT max(_row_id) FROM {rows}
"""
NEWEST_END = """
SELECT max(tick) FROM {updates}
"""
ROWS = """
SELECT _row_id, _key, _order, _cluster, _topic, toInt64(_partition), toInt64(_offset),
toInt64(_row), _deleted, _until FROM {rows}
WHERE _row_id >= %(begin)s AND _row_id < %(end)s ORDER BY _row_id
"""
# Of rows of one order the later coordinates win, which is decided by whoever asks.
BEFORE = """
SELECT _row_id, _key, _order, _cluster, _topic, toInt64(_partition), toInt64(_offset),
toInt64(_row), _deleted, _until FROM {rows}
WHERE _row_id >= %(first)s AND _row_id < %(begin)s AND (_key, _order) IN (
SELECT _key, max(_order) FROM {rows} WHERE _row_id >= %(first)s AND _row_id < %(begin)s
AND _key IN (SELECT _key FROM {rows} WHERE _row_id >= %(begin)s AND _row_id < %(end)s)
GROUP BY _key)
"""
ENDS = """
SELECT row_id, toInt64(lane), toInt64(offset), toString(kind), tick, by_row_id, key, count()
FROM {updates} WHERE tick >= %(begin)s AND tick <= %(end)s
GROUP BY row_id, lane, offset, kind, tick, by_row_id, key
"""
COUNTS = """
SELECT intDiv(_row_id, 4294967296) AS _tick, count() FROM {rows}
WHERE intDiv(_row_id, 4294967296) IN %(ticks)s GROUP BY _tick
"""
KNOWN = """
SELECT DISTINCT _row_id FROM {rows} WHERE _row_id IN %(ids)s
"""
OPEN_ENDED = """
SELECT count(), min(_row_id) FROM {rows} WHERE _row_id >= %(first)s AND _row_id < %(begin)s
AND _until > %(point)s AND _row_id IN (SELECT row_id FROM {updates} WHERE tick <= %(point)s)
"""
CLOSED_ENDLESS = """
SELECT count(), min(_row_id) FROM {rows} WHERE _row_id >= %(first)s AND _row_id < %(begin)s
AND _until > %(horizon)s AND _until <= %(last)s AND NOT _deleted
AND _row_id NOT IN (SELECT row_id FROM {updates})
"""

DERIVED = """
SELECT {counts} FROM {{rows}} WHERE _row_id >= %(begin)s AND _row_id < %(end)s
"""
Derivations = Mapping[str, str]
"""Counts of rows whose own columns differ from the user's, by what is wrong: expressions."""
_SIGN_BIT = 1 << 63


def derivations(table: UpsertTable) -> Derivations:
    """Returns what has to hold between a row's columns. Times of a fraction of a second are not
    compared: only newer servers have these."""
    keys = ", ".join(quoted(name) for name in table.primary_key)
    found = {
        "rows of one key have several hashes, or rows of several keys have one": (
            f"(uniqExact(_key, {keys}) - uniqExact(_key)) + "
            f"(uniqExact(_key, {keys}) - uniqExact({keys}))"
        )
    }
    if (name := table.newest_column) is not None:
        newest, base = quoted(name), table.base_type(name)
        order = f"toInt64(bitXor({newest}, toUInt64({_SIGN_BIT})))"
        if base != "UInt64":
            order = f"toInt64({newest})"
        if base not in ("DateTime64", "Date32"):
            text = f"_order is not that of {name}"
            found[text] = f"countIf(NOT _deleted AND _order != {order})"
    if (name := table.delete_column) is not None:
        deletes = quoted(name)
        is_text = table.base_type(name) == "String"
        marked = f"ifNull({f'notEmpty({deletes})' if is_text else f'{deletes} != 0'}, 0)"
        found[f"{name} deletes, and _deleted does not say so"] = (
            f"countIf(NOT _deleted AND {marked})"
        )
        if not table.empty_value_deletes:
            found[f"_deleted, and {name} does not delete"] = f"countIf(_deleted AND NOT {marked})"
    return found


@dataclass(frozen=True, slots=True)
class UpsertRows:
    """Tables of one upsert table on a replica. All methods raise the errors of the driver.

    Args:
        table: of the feed, not those of the store.
    """

    client: Client
    database: str
    table: str
    generation: int

    def claims(self, first: int) -> list[Claim]:
        """Returns the claims from a tick on, each as often as it is there."""
        return [
            Claim(generation, tick, time_ms, tuple(ends), *counts)
            for generation, tick, time_ms, ends, *counts in self._found(CLAIMS, first=first)
        ]

    def first_claim(self, since_ms: int) -> int:
        """Returns the first tick that is claimed since a time; 0 if there is none."""
        [(tick,)] = self._found(FIRST_CLAIM, generation=self.generation, since_ms=since_ms)
        return int(tick)

    def claims_before(self, first: int, horizon: int) -> int:
        """Returns how many ticks are claimed from the horizon on, and before one."""
        wanted = {"generation": self.generation, "first": first, "horizon": horizon}
        [(count,)] = self._found(CLAIMS_BEFORE, **wanted)
        return int(count)

    def settle_points(self) -> list[int]:
        """Returns the settle points that name this server, ascending."""
        name = {"database": self.database, "name": rows_table(self.table)}
        found = self._found(SERVER, **name)
        server = found[0][0] if found else b""
        points = self._found(POINTS, generation=self.generation, server=server.decode())
        return [tick for (tick,) in points]

    def horizon(self) -> tuple[int, int]:
        """Returns the tick up to which ends may be dropped, and its time in milliseconds since
        1970; 0 without one."""
        [(tick, time_ms)] = self._found(HORIZON, generation=self.generation)
        return int(tick), int(time_ms)

    def newest(self) -> int:
        """Returns the newest tick that has rows or ends; 0 without any."""
        [(row_id,)] = self._found(NEWEST_ROW)
        [(tick,)] = self._found(NEWEST_END)
        return max(int(row_id) >> ROW_BITS, int(tick))

    def rows(self, first: int, last: int) -> list[StoredRow]:
        """Returns the rows of the ticks first..last, each as often as it is there."""
        found = self._found(ROWS, begin=first << ROW_BITS, end=(last + 1) << ROW_BITS)
        return [*map(_row, found)]

    def rows_before(self, first: int, last: int) -> Iterator[StoredRow]:
        """Yields rows of the ticks before `first`, of the keys that the ticks first..last have: all
        that may be the newest of their key."""
        begin, end = first << ROW_BITS, (last + 1) << ROW_BITS
        yield from map(_row, self._found(BEFORE, first=FIRST_ROW, begin=begin, end=end))

    def ends(self, first: int, last: int) -> Counter[RowEnd]:
        """Returns the ends of the ticks first..last, with the number of rows of each."""
        counts = Counter[RowEnd]()
        for row_id, lane, offset, kind, tick, by, key, count in self._found(
            ENDS, begin=first, end=last
        ):
            counts[RowEnd(row_id, lane, offset, EndKind(kind.decode()), tick, by, key)] += count
        return counts

    def derived(self, wanted: Derivations, first: int, last: int) -> Iterator[tuple[str, int]]:
        """Yields what is wrong between the columns of rows of the ticks first..last, and of how
        many."""
        counts = ", ".join(f"toInt64({each})" for each in wanted.values()).replace("%", "%%")
        counts = counts.replace("{", "{{").replace("}", "}}")
        query = DERIVED.format(counts=counts)
        [found] = self._found(query, begin=first << ROW_BITS, end=(last + 1) << ROW_BITS)
        yield from zip(wanted, found, strict=True)

    def rows_of_ticks(self, ticks: Collection[int]) -> dict[int, int]:
        """Returns the number of rows by tick; a tick without any is left out."""
        return dict(self._found(COUNTS, ticks=tuple(ticks))) if ticks else {}

    def known(self, row_ids: Collection[int]) -> set[int]:
        """Returns those of some row ids that are there."""
        return {each for (each,) in self._found(KNOWN, ids=tuple(row_ids))} if row_ids else set()

    def open_ended(self, begin: int, point: int) -> tuple[int, int]:
        """Returns the number of rows that ended, were settled and are open; and the least id.

        Args:
            begin: tick before which rows are looked at.
        """
        [found] = self._found(OPEN_ENDED, first=FIRST_ROW, begin=begin << ROW_BITS, point=point)
        return found[0], found[1]

    def closed_endless(self, begin: int, horizon: int, last: int) -> tuple[int, int]:
        """Returns the number of rows that are settled without an end, and the least id.

        Args:
            begin: tick before which rows are looked at.
            horizon: tick up to which ends may be dropped.
            last: tick up to which the server has all ends.
        """
        [found] = self._found(
            CLOSED_ENDLESS, first=FIRST_ROW, begin=begin << ROW_BITS, horizon=horizon, last=last
        )
        return found[0], found[1]

    def _found(self, query: str, **parameters: Any) -> list[Any]:
        tables = {
            "rows": rows_table(self.table),
            "updates": updates_table(self.table),
            "ticks": ticks_table(self.table),
        }
        names = {name: quoted(self.database, it).replace("%", "%%") for name, it in tables.items()}
        found: list[Any] = self.client.execute(
            query.format(**names), parameters or {"": 0}, settings={"strings_as_bytes": True}
        )
        return found


def _row(found: Any) -> StoredRow:
    row_id, key, order, cluster, topic, partition, offset, row, deleted, until = found
    place = cluster.decode(), topic.decode(), partition
    return StoredRow(row_id, key, order, place, offset, row, bool(deleted), until)
