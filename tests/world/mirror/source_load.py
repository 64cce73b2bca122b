"""Load of a source: idempotent producers with and without transactions, and what they had
acknowledged."""

from __future__ import annotations

import asyncio
import random
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from balancer.topic_partition import TopicPartition
from replicator.kafka.protocol.error_codes import Code
from tests.replicator.batches.source_batches import Record, encoded, with_crc
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.log_batch import (
    BASE_SEQUENCE_AT,
    MAX_SEQUENCE,
    PRODUCER_ID_AT,
    TRANSACTIONAL,
    Batch,
    Refused,
    batch_of,
    marker_of,
)
from tests.world.kafka.log_losses import NEWEST_COORDINATOR
from tests.world.kafka.log_requests import replicated
from tests.world.kafka.partition import NOBODY, Partition
from tests.world.kafka.replica_log import TRANSACTION_COORDINATOR_FENCED

PAUSE_SECONDS_MAX = 40.0
"""Longest pause of a slow load: the end of a history waits for the next record of each sender."""


@dataclass(slots=True)
class Sender:
    """Producer for one partition. A batch that is not acknowledged is sent again, as it is."""

    cluster: KafkaCluster
    place: TopicPartition
    dice: random.Random
    old_share: float = 0.0
    """Share of batches with old records."""
    old_ms: int = 0
    """Age of these records."""
    sparse_share: float = 0.0
    """Share of batches that compaction has thinned: offsets are missing within them."""
    transactional_share: float = 0.3
    """Share of sends that are transactions, whose markers leave gaps between records."""
    keyless_share: float = 0.0
    """Share of records without a key."""
    is_keyed: bool = False
    """True while the topic takes no record without a key."""
    producer_id: int = 0
    sequence: int = 0
    sent: int = 0
    acknowledged: list[bytes] = field(default_factory=list)
    """Values of committed records, in order."""
    aborted: int = 0
    pace: float = 1.0
    """Factor of the sends in a second."""
    is_behind: bool = False
    """True once the log is found to have lost records of this producer."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held for each send: sequences go on only once the batches before them are acknowledged."""
    _padding: bytes = b""

    def __post_init__(self) -> None:
        self.cluster.next_producer_id += 1
        self.producer_id = self.cluster.next_producer_id

    async def keep_sending(
        self, is_loaded: Callable[[], bool], count_max: int, per_second: float
    ) -> None:
        """Sends up to so many records at a time, some in transactions, until the load ends."""
        dice = self.dice
        while is_loaded():
            await self.send(
                dice.randint(1, count_max),
                is_transactional=dice.random() < self.transactional_share,
                commits=dice.random() < 0.7,
            )
            await asyncio.sleep(min(dice.expovariate(per_second * self.pace), PAUSE_SECONDS_MAX))

    async def send(
        self,
        count: int,
        *,
        is_transactional: bool = False,
        commits: bool = True,
        padding: int = 0,
    ) -> None:
        """Sends records as one batch or, in a transaction, as some batches and a marker.

        Args:
            padding: bytes that each value has more.
        """
        values = []
        async with self.lock:
            self._padding = b"." * padding
            while count:
                size = self.dice.randint(1, count) if is_transactional else count
                values += await self._batch(size, is_transactional)
                count -= size
            if not is_transactional or await self._end(commits):
                self.acknowledged += values
            else:
                self.aborted += len(values)

    async def _batch(self, count: int, is_transactional: bool) -> list[bytes]:
        now = int(time.time() * 1000)
        now -= self.old_ms if self.dice.random() < self.old_share else 0
        offsets, width = list(range(count)), count
        if self.dice.random() < self.sparse_share:
            width = count + self.dice.randint(1, 20)
            offsets = sorted(self.dice.sample(range(width), count))
        records = [
            replace(self._record(at, now), offset=offset) for at, offset in enumerate(offsets)
        ]
        values = [record.value or b"" for record in records]
        self.sent += count
        attributes = TRANSACTIONAL if is_transactional else 0
        data = bytearray(
            encoded(
                records,
                base_offset=0,
                next_offset=width,
                attributes=attributes,
                producer_id=self.producer_id,
            )
        )
        struct.pack_into(">i", data, BASE_SEQUENCE_AT, self.sequence)
        await self._land(batch_of(bytes(with_crc(data))))
        self.sequence = (self.sequence + width) & MAX_SEQUENCE
        return values

    async def _end(self, commits: bool) -> bool:
        """Ends a transaction. Returns False if it is aborted, on purpose or by an election."""
        try:
            await self._land(marker_of(self.producer_id, 0, is_commit=commits, coordinator_epoch=0))
        except Refused:
            # The election's coordinator is newer: it has ended this transaction, or one before.
            if not self._is_open():
                return False
            newest = marker_of(
                self.producer_id, 0, is_commit=commits, coordinator_epoch=NEWEST_COORDINATOR
            )
            await self._land(newest)
        return commits

    def _is_open(self) -> bool:
        """Returns True if the log has an open transaction of this producer."""
        partition = self.cluster.partition(*self.place)
        assert partition is not None
        known = partition.logs[partition.decided.leader].producers
        return self.producer_id in known and known[self.producer_id].transaction_start >= 0

    def _record(self, at: int, now: int) -> Record:
        """Returns the next record but `at`, as the record at `at` of a batch."""
        value = b"%s-%d-%d" % (self.place.topic.encode(), self.place.partition, self.sent + at)
        value += self._padding
        is_keyless = (
            self.keyless_share and not self.is_keyed and self.dice.random() < self.keyless_share
        )
        return Record(at, now, None if is_keyless else b"k%d" % at, value)

    async def _land(self, batch: Batch) -> None:
        # A marker that was appended and not acknowledged would stand twice, which is harmless.
        while True:
            partition = self.cluster.partition(*self.place)
            assert partition is not None
            if self.is_behind and not batch.is_marker:
                batch = self._renewed(batch)
            if await self._try(partition, batch):
                return
            await asyncio.sleep(self.dice.uniform(0.01, 0.2))

    def _renewed(self, batch: Batch) -> Batch:
        """Returns the batch under another producer id: the log has lost records of this one."""
        self.is_behind = False
        self.__post_init__()
        self.sequence = 0
        data = bytearray(batch.data)
        struct.pack_into(">q", data, PRODUCER_ID_AT, self.producer_id)
        struct.pack_into(">i", data, BASE_SEQUENCE_AT, self.sequence)
        return batch_of(bytes(with_crc(data)))

    async def _try(self, partition: Partition, batch: Batch) -> bool:
        leader = partition.decided.leader
        if leader == NOBODY or not self.cluster.brokers[leader].is_up:
            return False
        try:
            _, end, _ = partition.append(leader, batch)
        except Refused as refused:
            if refused.code == TRANSACTION_COORDINATOR_FENCED:
                raise
            self.is_behind = refused.code == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
            return False
        self.cluster.replicate(partition)
        code = await replicated(self.cluster.brokers[leader], partition, end, 2.0)
        return code == Code.NONE
