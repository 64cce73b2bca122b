"""Traffic history of a route's source in ClickHouse: weeks of it, also for other readers.

    sluice_traffic_fine      one row for each window; at_ms: end of its look
    sluice_traffic_coarse    sums over ten minutes; at_ms: start of the ten minutes

Both tables have a partition for each UTC day of at_ms; days that are too old are dropped whole. A
row that is written again replaces the former one: at once for our reads, which use FINAL, and at
the next merge for others. The server computes sums when the first write after the ten minutes asks
for them. All SQL is known to ClickHouse 18.16, the version in Debian 12, so there is no TTL.

With 100 000 partitions of mixed traffic and a look a minute, on two otherwise busy cores, a window
takes 7.5 bytes on disk and a sum 8.1. A write takes 0.3 s, and 3 s if it computes sums. Reading a
look takes 0.2 s, and so does reading the sums of ten minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from clickhouse_driver import Client

from balancer.demand.window import Window
from balancer.demand.window_columns import WindowColumns
from balancer.topic_partition import TopicPartition
from replicator.clickhouse.server import ClickHouse
from replicator.placement.traffic.traffic_history import INTERVAL_MS, interval_start

DAY_MS = 86_400_000
FINE, COARSE = "sluice_traffic_fine", "sluice_traffic_coarse"
COLUMNS = "route, at_ms, topic, partition, begin_ms, end_ms, bytes, records"
TABLE = f"""
CREATE TABLE IF NOT EXISTS {{table}} (
    route String, at_ms Int64, topic String, partition Int32,
    begin_ms Int64, end_ms Int64, bytes Int64, records Int64
) ENGINE = ReplacingMergeTree
PARTITION BY intDiv(at_ms, {DAY_MS}) ORDER BY (route, at_ms, topic, partition)
"""
INSERT = f"INSERT INTO {FINE} ({COLUMNS}) VALUES"
TIMES = """
SELECT DISTINCT at_ms FROM {table}
WHERE route = %(route)s AND at_ms > %(begin_ms)s AND at_ms <= %(end_ms)s ORDER BY at_ms
"""
WINDOWS = """
SELECT topic, partition, begin_ms, end_ms, bytes, records FROM {table} FINAL
WHERE route = %(route)s AND at_ms = %(at_ms)s ORDER BY topic, partition
"""
SUMMED_LAST = f"SELECT max(at_ms) FROM {COARSE} WHERE route = %(route)s AND at_ms < %(until_ms)s"
# Ordered, so that an interrupted insertion lacks only the newest sums.
SUM_UP = f"""
INSERT INTO {COARSE} ({COLUMNS})
SELECT
    route, intDiv(at_ms - 1, {INTERVAL_MS}) * {INTERVAL_MS} AS interval_ms, topic, partition,
    max(end_ms) - sum(end_ms - begin_ms), max(end_ms), sum(bytes), sum(records)
FROM {FINE} FINAL
WHERE route = %(route)s AND at_ms > %(begin_ms)s AND at_ms <= %(end_ms)s
GROUP BY route, interval_ms, topic, partition ORDER BY interval_ms
"""
# The server's clock limits at_ms: a writer whose clock is ahead would otherwise drop all days.
OLD_DAYS = f"""
SELECT DISTINCT table, toInt64OrZero(partition) AS day FROM system.parts
WHERE database = currentDatabase() AND table IN ('{FINE}', '{COARSE}') AND active
AND day < intDiv(least(%(at_ms)s, toInt64(toUnixTimestamp(now())) * 1000), {DAY_MS}) - %(days)s
"""


class ClickHouseHistory:
    """TrafficHistory in ClickHouse. Each call opens a connection of its own.

    Args:
        route: name of the route. Balancers of several regions may share a server; each reads only
            the rows of its own route.
        days: number of days kept before the newest one.
    """

    def __init__(self, server: ClickHouse, route: str, *, days: int) -> None:
        self._server = server
        self._route = route
        self._days = days
        self._summed_until: int | None = None

    def close(self) -> None:
        """Does nothing: no connection is kept between calls."""

    def write(self, windows: Mapping[TopicPartition, Window]) -> None:
        """Stores the windows of one look.

        The first call after the end of ten minutes also sums these up, and drops days that are too
        old.

        Raises:
            StoreUnreachable: the windows may be written or not. Writing them again does no harm.
        """
        if not windows:
            return
        look = WindowColumns.of(windows)
        at_ms = int(look.ends_ms.max())
        columns = [
            [self._route] * len(look),
            [at_ms] * len(look),
            [each.topic for each in look.partitions],
            [each.partition for each in look.partitions],
            *(each.tolist() for each in (look.begins_ms, look.ends_ms, look.bytes, look.records)),
        ]
        interval_ms = interval_start(at_ms)
        with self._connected() as client:
            client.execute(INSERT, columns, columnar=True)
            if self._summed_until != interval_ms:
                self._sum_up(client, interval_ms)
                self._drop_old(client, at_ms)
                self._summed_until = interval_ms

    def fine(self, begin_ms: int, end_ms: int) -> Iterator[WindowColumns]:
        """Yields the stored windows that end in (begin_ms, end_ms], look by look.

        Raises:
            StoreUnreachable: also during iteration.
        """
        for look in self._read(FINE, begin_ms, end_ms):
            yield from _ending(look, begin_ms, end_ms)

    def coarse(self, begin_ms: int, end_ms: int) -> Iterator[WindowColumns]:
        """Yields the ten-minute sums that end in (begin_ms, end_ms], one interval at a time.

        Raises:
            StoreUnreachable: also during iteration.
        """
        for sums in self._read(COARSE, interval_start(begin_ms + 1) - 1, end_ms - 1):
            yield from _ending(sums, begin_ms, end_ms)

    def _read(self, table: str, begin_ms: int, end_ms: int) -> Iterator[WindowColumns]:
        parameters = {"route": self._route, "begin_ms": begin_ms, "end_ms": end_ms}
        names: tuple[object, object] | None = None
        places: tuple[TopicPartition, ...] = ()
        with self._connected() as client:
            for (at_ms,) in client.execute(TIMES.format(table=table), parameters):
                topics, numbers, *columns = (
                    client.execute(
                        WINDOWS.format(table=table), parameters | {"at_ms": at_ms}, columnar=True
                    )
                    or [()] * 6
                )
                if names != (topics, numbers):
                    names = topics, numbers
                    places = tuple(map(TopicPartition, topics, numbers))
                yield WindowColumns(
                    places, *(np.array(column, dtype=np.int64) for column in columns)
                )

    def _sum_up(self, client: Client, until_ms: int) -> None:
        """Sums up every ten-minute interval of the last day that has looks and no sums yet.

        The last interval with sums is summed again, since another writer may have been late or
        interrupted.
        """
        parameters = {"route": self._route, "until_ms": until_ms}
        [(last_ms,)] = client.execute(SUMMED_LAST, parameters)
        begin_ms = max(last_ms, until_ms - DAY_MS)
        client.execute(SUM_UP, parameters | {"begin_ms": begin_ms, "end_ms": until_ms})

    def _drop_old(self, client: Client, at_ms: int) -> None:
        for table, day in client.execute(OLD_DAYS, {"at_ms": at_ms, "days": self._days}):
            client.execute(f"ALTER TABLE {table} DROP PARTITION {day}")

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        """Yields a connection, with both tables created. Raises StoreUnreachable."""
        with self._server.connected() as client:
            for table in (FINE, COARSE):
                client.execute(TABLE.format(table=table))
            yield client


def _ending(windows: WindowColumns, begin_ms: int, end_ms: int) -> Iterator[WindowColumns]:
    """Yields the windows that end in (begin_ms, end_ms], or nothing if there are none."""
    kept = windows.ending(begin_ms, end_ms)
    if len(kept):
        yield kept
