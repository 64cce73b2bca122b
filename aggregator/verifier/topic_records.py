"""Topic records: the committed records of a topic, as a loader reads them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import RecordSlice
from replicator.batches.committed_records import committed_records
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster

FETCH_BYTES = 4 << 20


class NotRead(Exception):
    """Records that cannot be read any more, or at all. Leave them out, and say so."""


class TopicRecords:
    """Reads the records of one cluster.

    Args:
        timeout_seconds: for each answer.
    """

    def __init__(self, cluster: Cluster, timeout_seconds: float) -> None:
        self._cluster = cluster
        self._timeout_seconds = timeout_seconds

    async def first_offset(self, topic: str, partition: int, since_ms: int) -> int:
        """Returns the first offset of a time or later. Raises Unreachable."""
        async with asyncio.timeout(self._timeout_seconds):
            return await self._cluster.offset_at(topic, partition, since_ms)

    async def log_end(self, topic: str, partition: int) -> int:
        """Returns the offset of the next record. Raises Unreachable."""
        async with asyncio.timeout(self._timeout_seconds):
            return await self._cluster.log_end(topic, partition)

    async def slices(
        self, topic: str, partition: int, begin: int, end: int
    ) -> AsyncIterator[RecordSlice]:
        """Yields the committed records with offsets begin..end-1.

        Raises:
            NotRead: a batch is broken.
            Unreachable: no answer in time.
            Answered: the offsets are gone from the log.
        """
        position, bytes_max = begin, FETCH_BYTES
        while position < end:
            fetched = await self._fetched(topic, partition, position, bytes_max)
            found = committed_records(fetched[0], position=position, aborted=fetched[1])
            if found.trouble and found.next_offset == position:
                raise NotRead(f"{topic}-{partition}: {found.trouble}")
            bytes_max = max(FETCH_BYTES, found.cut_bytes)
            if found.records is not None and len(found.records):
                part = split(found.records).between(begin, end)
                if len(part):  # the log may go on behind the end
                    yield part
            if found.next_offset == position and not found.cut_bytes:
                break
            position = found.next_offset

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
