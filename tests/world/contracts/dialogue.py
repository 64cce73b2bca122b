"""Dialogue with one cluster: requests in order, each beside the answer that is to come."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from aiokafka.protocol.offset import OffsetRequest

from replicator.batches.batch import scan
from replicator.kafka.client.cluster import (
    EARLIEST,
    LATEST,
    TRANSACTION,
    Answered,
    Cluster,
    ProducerState,
)
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.protocol.error_codes import Code, named
from replicator.kafka.protocol.fetch import FetchPosition, FetchRequest
from replicator.kafka.protocol.leader_epoch import LeaderEpochRequest
from replicator.kafka.protocol.produce import ProduceRequest, outcomes
from replicator.kafka.protocol.producers import DescribeProducersRequest
from tests.replicator.batches.source_batches import encoded, one_record, with_crc
from tests.world.contracts.operator import ClusterOperator
from tests.world.contracts.steps import Steps
from tests.world.kafka.log_batch import (
    BASE_SEQUENCE_AT,
    PRODUCER_EPOCH_AT,
    PRODUCER_ID_AT,
    TRANSACTIONAL,
)

FIRST_MS = 1_700_000_000_000
PATIENCE_SECONDS = 60.0
BUSY = frozenset(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS,
        Code.COORDINATOR_NOT_AVAILABLE,
        Code.NOT_COORDINATOR,
    }
)
"""Codes of a coordinator that is asked again."""


@dataclass(frozen=True, slots=True)
class Read:
    """Answer of a Fetch about one partition.

    Args:
        aborted: first offset of each aborted transaction.
        batches: first and last offset and number of records of each whole batch.
        size: of all records, a cut batch included.
    """

    code: str
    high_watermark: int
    stable_offset: int
    start: int
    aborted: tuple[int, ...]
    batches: tuple[tuple[int, int, int], ...]
    size: int

    @property
    def summary(self) -> tuple[str, int, int, list[int], int]:
        """Error, high watermark, last stable offset, aborted transactions, number of batches."""
        stable = (self.high_watermark, self.stable_offset)
        return (self.code, *stable, list(self.aborted), len(self.batches))


class Dialogue(Steps):
    """Requests about one topic, which is empty and has one partition.

    Args:
        client: knows the topic.
    """

    def __init__(self, client: Cluster, topic: str, operator: ClusterOperator) -> None:
        super().__init__()
        self.client, self.topic, self.operator = client, topic, operator

    async def until(self, is_done: Callable[[], Awaitable[bool]]) -> None:
        """Waits for a condition; raises TimeoutError."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if await is_done():
                    return
                await asyncio.sleep(0.01)

    # -- the topic

    @property
    def leader(self) -> int:
        """Leader of the topic, as the metadata names it."""
        found = self.client.leader(self.topic, 0)
        assert found is not None
        return found.node

    @property
    def epoch(self) -> int:
        """Leader epoch of the topic, as the metadata names it."""
        found = self.client.leader(self.topic, 0)
        assert found is not None
        return found.epoch

    @property
    def id(self) -> UUID:
        known = self.client.topic(self.topic)
        assert known is not None
        return known.id

    # -- producers

    async def open(self, name: str = "id") -> FencedCommitter:
        """Opens a transactional id. A broker that has just started may show its first commits
        late."""
        name = f"{self.topic}.{name}"
        return await FencedCommitter(self.client, name, shown_seconds=60.0).open()

    async def produce(
        self,
        data: bytes,
        *,
        node: int | None = None,
        topic_id: UUID | None = None,
        partition: int = 0,
        transactional_id: str | None = None,
    ) -> tuple[str, int]:
        """Returns the error and the base offset of a batch that is sent."""
        answer = await self.client.send(
            self.leader if node is None else node,
            ProduceRequest(
                {(self.topic, topic_id or self.id): [(partition, data)]},
                timeout_ms=5000,
                transactional_id=transactional_id,
            ),
        )
        (outcome,) = outcomes(answer).values()
        return named(outcome.code), outcome.base_offset

    async def memory(self, of: FencedCommitter) -> ProducerState | None:
        """Returns the leader's memory of a producer; None if it has none."""
        return (await self.client.producer_states(self.topic, 0)).get(of.producer_id)

    async def until_end(self, end: int) -> None:
        """Waits for a marker, which follows the answer to EndTxn."""

        async def is_there() -> bool:
            return await self.client.log_end(self.topic, 0) >= end

        await self.until(is_there)

    async def coordinated(self, kind: int, key: str, request: Any, *busy: Code) -> str:
        """Returns the error of a request to a coordinator, which is asked again while it is busy.

        Args:
            busy: further codes to ask again after.
        """
        found: list[int] = []

        def codes(answer: Any) -> list[int]:
            errors = getattr(answer, "errors", None)
            found.append(errors[0][1][0][1] if errors else answer.error_code)
            return [found[-1]] if found[-1] in BUSY.union(busy) else []

        await self.client.ask_coordinator(kind, key, request, codes)
        return named(found[-1])

    async def transaction(self, transactional_id: str, request: Any) -> str:
        """Returns the error of a request to the coordinator of a transactional id."""
        busy = Code.CONCURRENT_TRANSACTIONS
        return await self.coordinated(TRANSACTION, transactional_id, request, busy)

    # -- reading

    async def read(
        self,
        offset: int,
        *,
        node: int | None = None,
        read_committed: bool = True,
        topic: UUID | None = None,
        partition: int = 0,
        epoch: int = -1,
        bytes_max: int = 1 << 20,
    ) -> Read:
        """Returns the answer of a Fetch without a session."""
        at = FetchPosition(topic or self.id, partition, offset, bytes_max, epoch)
        request = FetchRequest([at], wait_ms=0, bytes_max=1 << 20, read_committed=read_committed)
        answer = await self.client.send(self.leader if node is None else node, request)
        ((_, (row,), _),) = answer.topics
        _, code, high, stable, start, aborted, _, records, _ = row
        data = bytes(records or b"")
        begins = tuple(first for _, first, *_ in aborted or ())
        heads = (header for _, header in scan(data))
        batches = tuple((it.base_offset, it.next_offset - 1, it.count) for it in heads)
        return Read(named(code), high, stable, start, begins, batches, len(data))

    async def batches(self, offset: int) -> tuple[tuple[int, int, int], ...]:
        """Returns first and last offset and number of records of each batch up to the end.

        A real read ends with its segment, wherever that may end.
        """
        found = (await self.read(offset)).batches
        return found + await self.batches(found[-1][1] + 1) if found else ()

    async def in_session(
        self,
        session: tuple[int, int],
        positions: Iterable[FetchPosition],
        forgotten: Iterable[tuple[UUID, int]] = (),
    ) -> Any:
        """Returns the answer of a Fetch of a session, or with (0, -1) of one without."""
        request = FetchRequest(
            positions,
            session=session,
            forgotten=forgotten,
            wait_ms=0,
            bytes_max=1 << 20,
            read_committed=True,
        )
        return await self.client.send(self.leader, request, "read")

    async def ends(self) -> tuple[int, int, int]:
        """Returns begin and end of the log, and the end of what is committed."""
        found = [
            await self.listed(EARLIEST),
            await self.listed(LATEST),
            await self.listed(LATEST, isolation=1),
        ]
        begin, end, committed = (offset for _, offset in found)
        return begin, end, committed

    async def listed(
        self, time_ms: int, *, isolation: int = 0, partition: int = 0, node: int | None = None
    ) -> tuple[str, int]:
        """Returns the error and the offset of a ListOffsets."""
        request = OffsetRequest(-1, isolation, [(self.topic, [(partition, time_ms)])])
        answer = await self.client.send(self.leader if node is None else node, request)
        _, code, _, offset = answer.topics[0][1][0]
        return named(code), offset

    async def epoch_end(
        self, epoch: int, *, current: int = -1, partition: int = 0, node: int | None = None
    ) -> tuple[str, int, int]:
        """Returns error, epoch and end of an OffsetForLeaderEpoch."""
        request = LeaderEpochRequest(self.topic, partition, epoch, current_leader_epoch=current)
        answer = await self.client.send(self.leader if node is None else node, request)
        code, _, found, end = answer.topics[0][1][0]
        return named(code), found, end

    async def described(self, *, partition: int = 0, node: int | None = None) -> str:
        """Returns the error of a DescribeProducers."""
        request = DescribeProducersRequest(self.topic, [partition])
        answer = await self.client.send(self.leader if node is None else node, request)
        return named(answer.topics[0][1][0][1])


def stamped(
    of: FencedCommitter,
    sequence: int,
    count: int = 2,
    *,
    size: int = 1,
    is_transactional: bool = False,
    first_ms: int = FIRST_MS,
) -> bytes:
    """Returns a batch of a committer's producer. The key of a record says its place in the batch.

    Args:
        size: of each value.
        first_ms: time of the first record; each next one is a millisecond later.
    """
    attributes = TRANSACTIONAL if is_transactional else 0
    records = [one_record(at, b"v" * size, first_ms) for at in range(count)]
    data = bytearray(encoded(records, attributes=attributes))
    struct.pack_into(">q", data, PRODUCER_ID_AT, of.producer_id)
    struct.pack_into(">h", data, PRODUCER_EPOCH_AT, of.epoch)
    struct.pack_into(">i", data, BASE_SEQUENCE_AT, sequence)
    return bytes(with_crc(data))


async def code_of(answer: Awaitable[object]) -> str:
    """Returns the error that a request raises; "done" if none."""
    try:
        await answer
    except Answered as refused:
        return named(refused.codes[0])
    return "done"
