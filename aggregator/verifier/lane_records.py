"""Lane records: the records of the input partitions of an upsert table, read once more from their
logs, with the rows that they have to have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.decoders import decoder_of
from aggregator.formats.record_slice import RecordSlice
from aggregator.tables.column_type import column_type
from aggregator.tables.decoded import Decoded, Ints
from aggregator.tables.table_schema import TableSchema
from aggregator.upsert.row_facts import user_schema
from aggregator.upsert.tick import Lane
from aggregator.upsert.visibility import DAY_S
from aggregator.verifier.tick_rows import LaneLog, LoggedRow, Ticks
from aggregator.verifier.topic_probe import is_compacted
from aggregator.verifier.topic_records import NotRead, TopicRecords
from replicator.batches.batch import BrokenBatch
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.topology import Appliance
from replicator.config.upsert_table import UpsertTable
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.runtime.run_in_thread import run_in_thread

NO_TIME_S = (1 << 63) - 1


class LaneRecords:
    """Reader of the lanes of one upsert table.

    Args:
        lanes: by number.
        doubt: takes why the rows of a lane, or some of them, can only be counted.
        timeout_seconds: for each answer.
    """

    def __init__(
        self,
        appliance: Appliance,
        feed: ClickHouseFeed,
        table: UpsertTable,
        lanes: Sequence[Lane],
        doubt: Callable[[str], None],
        timeout_seconds: float,
    ) -> None:
        self._appliance = appliance
        self._feed = feed
        self._table = table
        self._lanes = lanes
        self._doubt = doubt
        self._timeout_seconds = timeout_seconds
        self._clusters: dict[str, Cluster] = {}

    async def read(
        self, ticks: Ticks, schema: TableSchema
    ) -> tuple[dict[int, LaneLog], dict[int, list[RecordSlice]]]:
        """Returns the logs of all lanes that can be read, and their records that have values, by
        lane.

        Args:
            schema: of the table of rows.
        """
        decode, own = decoder_of(self._feed), user_schema(schema, self._table.name)
        logs: dict[int, LaneLog] = {}
        slices: dict[int, list[RecordSlice]] = {}
        for number, lane in enumerate(self._lanes):
            begin, end = ticks.bounds(number)
            if begin >= end:
                continue
            where = f"{lane.cluster} {lane.topic}-{lane.partition}"
            try:
                cluster = await self.cluster(ClusterName(lane.cluster))
                topic = cluster.topic(lane.topic)
                if topic is None or topic.id != lane.topic_id:
                    self._doubt(f"{where}: its log is gone; its rows are only counted")
                    continue
                start = await cluster.log_start(lane.topic, lane.partition)
                if 0 < begin < start:
                    text = f"{where}: {start - begin} offsets are gone from the log"
                    self._doubt(f"{text}; their rows are only counted")
                begin = max(begin, start)
                records = TopicRecords(cluster, self._timeout_seconds)
                found = records.slices(lane.topic, lane.partition, begin, end)
                parts = [each async for each in found]
            except (NotRead, BrokenBatch, Answered, Unreachable, TimeoutError) as error:
                self._doubt(f"{where}: {error}")
                continue
            is_compact = await run_in_thread(self._is_compacted, lane.cluster, lane.topic)
            values, rows = self._split(parts)
            decoded = await run_in_thread(decode, values, own) if values else Decoded()
            offsets, numbers = decoded.offset.tolist(), decoded.row.tolist()
            stamps, times_s = decoded.timestamp_ms.tolist(), times_of(decoded, self._table)
            for offset, at, stamp, time_s in zip(
                offsets, numbers, stamps, times_s.tolist(), strict=True
            ):
                rows[offset, at] = LoggedRow(stamp, time_s)
            logs[number] = LaneLog(begin, rows, len(decoded.dead), is_compact)
            slices[number] = values
        return logs, slices

    async def cluster(self, name: ClusterName) -> Cluster:
        """Returns a cluster that knows the topics of all its lanes. Raises Unreachable, Answered,
        TimeoutError."""
        if name not in self._clusters:
            settings = self._appliance.cluster(name)
            cluster = Cluster(name, settings, client_id="sluice-verify")
            self._clusters[name] = cluster
            topics = {each.topic for each in self._lanes if each.cluster == name}
            async with asyncio.timeout(self._timeout_seconds):
                await cluster.open(sorted(topics))
        return self._clusters[name]

    async def close(self) -> None:
        """Closes all connections."""
        for cluster in self._clusters.values():
            await cluster.close()

    def _split(
        self, parts: Sequence[RecordSlice]
    ) -> tuple[list[RecordSlice], dict[tuple[int, int], LoggedRow]]:
        """Returns the records that have values, and the rows of those whose empty values delete
        their keys."""
        values, rows = [], {}
        for part in parts:
            is_empty = part.value_end <= part.value_begin
            if self._table.empty_value_deletes and is_empty.any():
                bare = part.at(np.flatnonzero(is_empty))
                for offset, stamp in zip(
                    bare.offset.tolist(), bare.timestamp_ms.tolist(), strict=True
                ):
                    rows[offset, 0] = LoggedRow(stamp, stamp // 1000, is_bare=True)
                part = part.at(np.flatnonzero(~is_empty))
            if len(part):
                values.append(part)
        return values, rows

    def _is_compacted(self, cluster: str, topic: str) -> bool:
        name = ClusterName(cluster)
        return is_compacted(
            Admin(name, self._appliance.cluster(name), self._timeout_seconds), topic
        )


def times_of(decoded: Decoded, table: UpsertTable) -> Ints:
    """Returns the time of each row by which its retention goes, in Unix seconds; the greatest
    number where there is none."""
    newest = table.newest_column
    if newest is None or not table.newest_is_time:
        return decoded.timestamp_ms // 1000
    kind, values = column_type(table.columns[newest]), decoded.columns.get(newest)
    if values is None:
        return np.full(len(decoded), NO_TIME_S, np.int64)
    ticks = np.asarray(pc.fill_null(values.cast(pa.int64()), NO_TIME_S))
    if kind.base in ("Date", "Date32"):
        return np.where(ticks == NO_TIME_S, ticks, ticks * DAY_S)
    return np.where(ticks == NO_TIME_S, ticks, ticks // 10**kind.scale)
