"""Table rows: the rows of a topic that one replica of a table has, as digests and one by one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from clickhouse_driver import Client

from aggregator.store.identifier import quoted
from aggregator.store.recognition import Identities, is_complete
from aggregator.tables.table_schema import INCARNATION, TableSchema
from aggregator.verifier.plain_cells import compared_columns, selected
from aggregator.verifier.row_digest import CHUNK_OFFSETS, DIGEST_SQL, Digest

POLL_SECONDS = 0.1
OF_TOPIC = "_cluster = %(cluster)s AND _topic = %(topic)s"
DIGESTS = """
SELECT toInt64(_partition), toInt64(intDiv(_offset, {chunk})) AS chunk, count(), {digest}, {content}
FROM {table} WHERE {of_topic} AND ({ranges}) GROUP BY _partition, chunk
"""
ROWS = """
SELECT toInt64(_offset), toInt64(_row) FROM {table} WHERE {of_topic} AND {range}
"""
VALUES = """
SELECT toInt64(_offset), toInt64(_row){values} FROM {table} WHERE {of_topic} AND {range}
ORDER BY _offset, _row
"""

COUNTS = """
SELECT toInt64(_partition), count(), toInt64(max(_offset)) FROM {table}
WHERE {of_topic} AND ({ranges}) GROUP BY _partition
"""
OFFSET_MAX = 2**63 - 1
RANGES_MAX = 1000
"""Ranges that one query may name, in at most 120 bytes each: its text has a limit of 256 KiB."""


class LogRange(NamedTuple):
    """Offsets begin..end-1 of a partition's log, whose incarnation each row names."""

    begin: int
    end: int
    incarnation: int = 0


Ranges = Mapping[int, LogRange]
"""Offsets to compare, by partition."""


@dataclass(frozen=True, slots=True)
class TableDigests:
    """Digests of one table on one replica, by (partition, chunk).

    Args:
        contents: sums of hashes over all columns; equal on all replicas that hold the same rows.
    """

    rows: Mapping[tuple[int, int], Digest] = field(default_factory=dict)
    contents: Mapping[tuple[int, int], int] = field(default_factory=dict)


def wait_complete(client: Client, database: str, table: str, timeout_seconds: float) -> bool:
    """Waits until the replica has every part that was committed; returns False if it does not.

    A replica that lags has fewer rows than are stored, and select_sequential_consistency hides that
    on old servers: 18.16 looks at the last quorum block only.
    """
    give_up_at = time.monotonic() + timeout_seconds
    while not is_complete(client, database, table):
        if time.monotonic() > give_up_at:
            return False
        time.sleep(POLL_SECONDS)
    return True


class RowsFrom(NamedTuple):
    """Rows of a partition from an offset on."""

    rows: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class TopicInTable:
    """Rows of a topic in a table, as one replica has them. All methods raise the errors of the
    driver.

    Args:
        client: of the replica.
        cluster: that the topic is in.
    """

    client: Client
    database: str
    schema: TableSchema
    cluster: str
    topic: str

    def counts(self, begins: Ranges) -> dict[int, RowsFrom]:
        """Returns the rows from the begin of each range on, whatever its end; a partition without
        any is left out."""
        open_ended = {number: each._replace(end=OFFSET_MAX) for number, each in begins.items()}
        found = self._found_in(open_ended, COUNTS)
        return {partition: RowsFrom(count, last) for partition, count, last in found}

    def digests(self, ranges: Ranges) -> TableDigests:
        """Returns the digests of the rows of these ranges."""
        parts = {"digest": DIGEST_SQL, "content": _content(self.schema)}
        found = self._found_in(ranges, DIGESTS, chunk=CHUNK_OFFSETS, **parts)
        return TableDigests(
            {
                (partition, chunk): Digest(count, total)
                for partition, chunk, count, total, _ in found
            },
            {(partition, chunk): content for partition, chunk, _, _, content in found},
        )

    def rows(self, partition: int, wanted: LogRange) -> Identities:
        """Returns the rows of a range of offsets."""
        columns = self._found(ROWS, columnar=True, range=self._of_range(partition, wanted))
        if not columns:
            return Identities()
        offset, row = columns
        return Identities(np.array(offset, np.int64), np.array(row, np.int64))

    def values(self, partition: int, wanted: LogRange) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yields offset, row and columns of a range of offsets, in this order."""
        columns = compared_columns(self.schema)
        texts = [selected(quoted(name), kind) for name, kind in columns]
        names = [name for name, _ in columns]
        found = self._found(
            VALUES,
            values=_escaped("".join(f", {text}" for text in texts)),
            range=self._of_range(partition, wanted),
        )
        for offset, row, *cells in found:
            yield offset, row, dict(zip(names, cells, strict=True))

    def _found(self, query: str, *, columnar: bool = False, **parts: object) -> list[Any]:
        """Returns the answer to a query of the table.

        Args:
            parts: texts for the query's places.
        """
        table = _escaped(quoted(self.database, self.schema.table))
        found: list[Any] = self.client.execute(
            query.format(table=table, of_topic=OF_TOPIC, **parts),
            {"cluster": self.cluster, "topic": self.topic},
            columnar=columnar,
            settings={"strings_as_bytes": True},
        )
        return found

    def _found_in(self, ranges: Ranges, query: str, **parts: object) -> list[Any]:
        """Returns the answers to a query about ranges of different partitions."""
        texts = [f"({self._of_range(number, each)})" for number, each in sorted(ranges.items())]
        found: list[Any] = []
        for begin in range(0, len(texts), RANGES_MAX):
            some = " OR ".join(texts[begin : begin + RANGES_MAX])
            found += self._found(query, columnar=False, ranges=some, **parts)
        return found

    def _of_range(self, partition: int, wanted: LogRange) -> str:
        """Returns the condition for the rows of a range. A table without the column has one log."""
        terms = [
            f"_partition = {int(partition)}",
            f"_offset >= {int(wanted.begin)}",
            f"_offset < {int(wanted.end)}",
        ]
        if self.schema.has_incarnations:
            terms.append(f"{INCARNATION} = {int(wanted.incarnation)}")
        return " AND ".join(terms)


def _content(schema: TableSchema) -> str:
    """Returns the expression of a hash over all columns; NULL is a value like any other."""
    texts = (
        f"ifNull(toString({_escaped(quoted(column.name))}), '\\\\N')" for column in schema.stored
    )
    return f"sum(cityHash64({', '.join(texts)}))"


def _escaped(text: str) -> str:
    """Returns a text for a query whose parameters are inserted by Python's % operator."""
    return text.replace("%", "%%")
