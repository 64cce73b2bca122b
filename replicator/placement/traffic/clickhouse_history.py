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

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from clickhouse_driver import Client
from clickhouse_driver.errors import Error

from balancer.demand.window import Window
from balancer.demand.window_columns import WindowColumns
from balancer.plan import TopicPartition
from replicator.clickhouse.errors import trouble
from replicator.config.clickhouse_address import ClickHouseAddress
from replicator.runtime.store_errors import StoreUnreachable

STRETCH_MS = 600_000
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
    route, intDiv(at_ms - 1, {STRETCH_MS}) * {STRETCH_MS} AS stretch_ms, topic, partition,
    max(end_ms) - sum(end_ms - begin_ms), max(end_ms), sum(bytes), sum(records)
FROM {FINE} FINAL
WHERE route = %(route)s AND at_ms > %(begin_ms)s AND at_ms <= %(end_ms)s
GROUP BY route, stretch_ms, topic, partition ORDER BY stretch_ms
"""
# The server's clock limits at_ms: a writer whose clock is ahead would otherwise drop all days.
OLD_DAYS = f"""
SELECT DISTINCT table, toInt64OrZero(partition) AS day FROM system.parts
WHERE database = currentDatabase() AND table IN ('{FINE}', '{COARSE}') AND active
AND day < intDiv(least(%(at_ms)s, toInt64(toUnixTimestamp(now())) * 1000), {DAY_MS}) - %(days)s
"""

# The driver logs each failed connection with a traceback. We raise the error, and log it once.
logging.getLogger("clickhouse_driver").setLevel(logging.CRITICAL)


class ClickHouseHistory:
    """TrafficHistory in ClickHouse. Each call opens a connection of its own.

    Args:
        route: name of the route. Balancers of several regions may share a server; each reads only
            the rows of its own route.
        days: number of days kept before the newest one.
        ca_file: CA certificates that the server's certificate is checked against; None: those of
            the system.
        timeout_seconds: for connecting, and for each wait for data of an answer.
    """

    def __init__(
        self,
        address: ClickHouseAddress,
        route: str,
        *,
        days: int,
        password: str = "",
        ca_file: Path | None = None,
        timeout_seconds: float = 10.0,
    ) -> None:
        self._address = address
        self._route = route
        self._days = days
        self._password = password
        self._ca_file = ca_file
        self._timeout_seconds = timeout_seconds
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
        told = WindowColumns.of(windows)
        at_ms = int(told.ends_ms.max())
        columns = [
            [self._route] * len(told),
            [at_ms] * len(told),
            [place.topic for place in told.partitions],
            [place.partition for place in told.partitions],
            *(each.tolist() for each in (told.begins_ms, told.ends_ms, told.bytes, told.records)),
        ]
        stretch_ms = _stretch(at_ms)
        with self._reached() as client:
            client.execute(INSERT, columns, columnar=True)
            if self._summed_until != stretch_ms:
                self._sum_up(client, stretch_ms)
                self._drop_old(client, at_ms)
                self._summed_until = stretch_ms

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
        for sums in self._read(COARSE, _stretch(begin_ms + 1) - 1, end_ms - 1):
            yield from _ending(sums, begin_ms, end_ms)

    def _read(self, table: str, begin_ms: int, end_ms: int) -> Iterator[WindowColumns]:
        asked = {"route": self._route, "begin_ms": begin_ms, "end_ms": end_ms}
        names: tuple[object, object] | None = None
        places: tuple[TopicPartition, ...] = ()
        with self._reached() as client:
            for (at_ms,) in client.execute(TIMES.format(table=table), asked):
                topics, numbers, *columns = (
                    client.execute(
                        WINDOWS.format(table=table), asked | {"at_ms": at_ms}, columnar=True
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
        asked = {"route": self._route, "until_ms": until_ms}
        [(last_ms,)] = client.execute(SUMMED_LAST, asked)
        begin_ms = max(last_ms, until_ms - DAY_MS)
        client.execute(SUM_UP, asked | {"begin_ms": begin_ms, "end_ms": until_ms})

    def _drop_old(self, client: Client, at_ms: int) -> None:
        for table, day in client.execute(OLD_DAYS, {"at_ms": at_ms, "days": self._days}):
            client.execute(f"ALTER TABLE {table} DROP PARTITION {day}")

    @contextmanager
    def _reached(self) -> Iterator[Client]:
        """Yields a connection, with both tables created."""
        address = self._address
        client = Client(
            address.host,
            port=address.port,
            database=address.database,
            user=address.user,
            password=self._password,
            secure=address.is_tls,
            ca_certs=self._ca_file,
            connect_timeout=self._timeout_seconds,
            send_receive_timeout=self._timeout_seconds,
        )
        try:
            for table in (FINE, COARSE):
                client.execute(TABLE.format(table=table))
            yield client
        except (Error, OSError, EOFError) as error:
            raise StoreUnreachable(
                f"ClickHouse at {address}: {trouble(error)}; traffic is still measured, and "
                "forgotten with this process"
            ) from error
        finally:
            client.disconnect()


def _stretch(end_ms: int) -> int:
    """Returns the start of the ten-minute interval in which a window ends. Intervals include their
    end."""
    return (end_ms - 1) // STRETCH_MS * STRETCH_MS


def _ending(told: WindowColumns, begin_ms: int, end_ms: int) -> Iterator[WindowColumns]:
    """Yields the windows that end in (begin_ms, end_ms], or nothing if there are none."""
    kept = told.ending(begin_ms, end_ms)
    if len(kept):
        yield kept
