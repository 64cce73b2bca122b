"""Topic rows: the rows that the records of a topic stand for, by table, as a loader forms them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import numpy as np

from aggregator.formats.decoders import decoder_of
from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.routing import by_table
from aggregator.store.recognition import Identities
from aggregator.tables.table_schema import TableSchema
from replicator.batches.committed_records import committed_records
from replicator.config.feed_settings import ClickHouseFeed
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster

FETCH_BYTES = 4 << 20


class NotRead(Exception):
    """Records that cannot be read any more, or at all. Leave them out, and say so."""


class TopicRows:
    """Reads the records of one feed in one cluster.

    Args:
        timeout_seconds: for each answer.
    """

    def __init__(self, cluster: Cluster, feed: ClickHouseFeed, timeout_seconds: float) -> None:
        self._cluster = cluster
        self._header = feed.header if feed.table_from == "header" else None
        self._decode = decoder_of(feed)
        self._timeout_seconds = timeout_seconds

    async def first_offset(self, topic: str, partition: int, since_ms: int) -> int:
        """Returns the first offset of a time or later. Raises Unreachable."""
        async with asyncio.timeout(self._timeout_seconds):
            return await self._cluster.offset_at(topic, partition, since_ms)

    async def rows(
        self,
        topic: str,
        partition: int,
        begin: int,
        end: int,
        schemas: Mapping[str, TableSchema],
    ) -> dict[str, Identities]:
        """Returns the rows of the committed records with offsets begin..end-1, by table.

        Records that a loader makes dead letters stand for no rows.

        Raises:
            NotRead: a batch is broken.
            Unreachable: no answer in time.
            Answered: the offsets are gone from the log.
        """
        slices: dict[str, list[RecordSlice]] = {}
        position, bytes_max = begin, FETCH_BYTES
        while position < end:
            fetched = await self._fetched(topic, partition, position, bytes_max)
            found = committed_records(fetched[0], position=position, aborted=fetched[1])
            if found.trouble and found.next_offset == position:
                raise NotRead(f"{topic}-{partition}: {found.trouble}")
            bytes_max = max(FETCH_BYTES, found.cut_bytes)
            if found.records is not None and len(found.records):
                records = split(found.records).between(begin, end)
                for table, part in by_table(records, topic=topic, header=self._header).items():
                    slices.setdefault(table, []).append(part)
            if found.next_offset == position and not found.cut_bytes:
                break
            position = found.next_offset
        return {
            table: self._identities(parts, schemas[table])
            for table, parts in slices.items()
            if table in schemas
        }

    def _identities(self, parts: list[RecordSlice], schema: TableSchema) -> Identities:
        decoded = self._decode(parts, schema)
        return Identities(decoded.offset.astype(np.int64), decoded.row.astype(np.int64))

    async def _fetched(
        self, topic: str, partition: int, position: int, bytes_max: int
    ) -> tuple[memoryview, tuple[tuple[int, int], ...]]:
        """Returns raw batches, and the aborted transactions among them."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                while True:
                    fetched = await self._cluster.fetch(
                        topic, partition, position, bytes_max, read_committed=True
                    )
                    if fetched.records or position >= fetched.stable_offset:
                        return fetched.records, fetched.aborted
        except TimeoutError:
            reason = self._cluster.trouble or "it does not answer"
            text = f"{self._cluster.name}: {topic}-{partition}: {reason}"
            raise Unreachable(text) from None
