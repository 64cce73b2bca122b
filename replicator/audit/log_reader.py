"""Reader of one cluster's logs for an audit; waits through elections, up to a timeout."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from aiokafka.protocol.offset import OffsetRequest

from replicator.audit.log_content import LogContent, content_of, joined
from replicator.audit.window_offsets import OffsetAndTimestamp
from replicator.batches.batch import BrokenBatch
from replicator.batches.codec import DecompressesTooFar
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import EARLIEST, LATEST, Answered, Cluster, Fetched
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.offset_map.spans import Span

FETCH_BYTES = 2 << 20
SMALL_FETCH_BYTES = 64 << 10
ONE_BATCH = 1
"""Fetch size in bytes: brokers answer with at least one whole batch."""
SMALL_OFFSETS = 100
READ_COMMITTED, READ_UNCOMMITTED = 1, 0
REPLICA = -1


class LogReader:
    """Reader of the logs of one cluster.

    Args:
        cluster: opened and closed with the reader.
        timeout_seconds: for each answer.
    """

    def __init__(self, cluster: Cluster, timeout_seconds: float) -> None:
        self._cluster = cluster
        self._timeout_seconds = timeout_seconds
        self._unreachable: Unreachable | None = None

    async def open(self, topics: Iterable[str]) -> None:
        """Connects to the cluster. Raises Unreachable."""
        async with self._within_timeout():
            await self._cluster.open(topics)

    async def close(self) -> None:
        await self._cluster.close()

    async def start(self, topic: str, partition: int) -> int:
        return (await self._listed(topic, partition, EARLIEST)).offset

    async def end(self, topic: str, partition: int, *, is_stable: bool) -> int:
        """Returns the offset behind the last record; with is_stable, the last stable offset."""
        isolation = READ_COMMITTED if is_stable else READ_UNCOMMITTED
        return (await self._listed(topic, partition, LATEST, isolation)).offset

    async def at(self, topic: str, partition: int, timestamp_ms: int) -> OffsetAndTimestamp | None:
        """Returns the first record of a time or later; None where there is none."""
        found = await self._listed(topic, partition, timestamp_ms)
        return found if found.offset >= 0 else None

    async def _listed(
        self, topic: str, partition: int, which: int, isolation: int = READ_UNCOMMITTED
    ) -> OffsetAndTimestamp:
        request = OffsetRequest(REPLICA, isolation, [(topic, [(partition, which)])])
        async with self._within_timeout():
            response = await self._cluster.ask_leader(
                topic,
                partition,
                request,
                lambda r: [row[1] for _, rows in r.topics for row in rows],
            )
        _, _, timestamp_ms, offset = response.topics[0][1][0]
        return OffsetAndTimestamp(offset, timestamp_ms)

    async def read(
        self, topic: str, partition: int, span: Span, *, committed: bool, with_fingerprints: bool
    ) -> LogContent:
        """Reads a range of offsets, up to the log's end, without what retention deletes meanwhile.

        Args:
            committed: True: aborted records are invisible, and reading ends at the first open
                transaction.

        Raises Unreachable, Answered or BrokenBatch.
        """
        parts: list[LogContent] = []
        at, bytes_max = span.begin, FETCH_BYTES
        while at < span.end:
            try:
                left = Span(at, span.end)
                found = await self._fetched(topic, partition, left, committed, bytes_max)
            except Answered as answer:
                start = await self.start(topic, partition)
                if Code.OFFSET_OUT_OF_RANGE not in answer.codes or start <= at:
                    raise
                at = start
                continue
            if found is None:
                break
            try:
                part, at = content_of(
                    found.records,
                    at,
                    span.end,
                    aborted=found.aborted if committed else None,
                    with_fingerprints=with_fingerprints,
                )
            except BrokenBatch as broken:
                if not isinstance(broken.__cause__, DecompressesTooFar) or bytes_max == ONE_BATCH:
                    raise
                bytes_max = ONE_BATCH
                continue
            parts.append(part)
        return joined(parts)

    async def _fetched(
        self, topic: str, partition: int, left: Span, committed: bool, bytes_max: int
    ) -> Fetched | None:
        """Returns an answer with records; None where the log ends."""
        is_small = left.end - left.begin <= SMALL_OFFSETS
        size = min(bytes_max, SMALL_FETCH_BYTES) if is_small else bytes_max
        async with self._within_timeout():
            while True:
                fetched = await self._cluster.fetch(
                    topic, partition, left.begin, size, read_committed=committed
                )
                if fetched.records:
                    return fetched
                if left.begin >= (fetched.stable_offset if committed else fetched.high_watermark):
                    return None

    @asynccontextmanager
    async def _within_timeout(self) -> AsyncIterator[None]:
        # After a timeout the cluster is not waited for again, because there may be many partitions.
        if self._unreachable:
            raise self._unreachable
        try:
            async with asyncio.timeout(self._timeout_seconds):
                yield
        except TimeoutError:
            reason = self._cluster.trouble or "it does not answer"
            text = f"{self._cluster.name}: no answer within {self._timeout_seconds:g} s ({reason})"
            self._unreachable = Unreachable(text)
            raise self._unreachable from None
