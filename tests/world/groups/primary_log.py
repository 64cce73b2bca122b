"""Topic of a region's decisions in a world, where librdkafka's producer and consumer are left out.

Records are read up to the last stable offset of the leader.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable

from replicator.config.names import PRIMARY_REGIONS_TOPIC
from replicator.config.topology import KafkaCluster as Settings
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import (
    PrimaryRegion,
    decode,
    encode,
    encode_key,
    joined,
)
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.tail.compacted_topic import WriteUnknown
from replicator.kafka.tail.topic_tailer import LogUnreadable
from tests.replicator.batches.source_batches import Record, decoded, encoded
from tests.world.blocking import pause, wait
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.log_batch import Batch, Refused, batch_of
from tests.world.kafka.log_requests import replicated
from tests.world.kafka.partition import NOBODY, Partition

WRITE_SECONDS = 5.0


def create_topic(cluster: KafkaCluster) -> None:
    cluster.create(PRIMARY_REGIONS_TOPIC, 1, min_in_sync=2, is_compacted=True)


def decisions(batch: Batch) -> list[PrimaryRegion]:
    """Returns the decisions in a batch of the topic."""
    return [decode(it.value or b"") for it in decoded(batch.data)]


class WorldPrimaryLog(PrimaryLog):
    """Topic of one region's decisions, which is there from the beginning.

    Args:
        on_write: called with records just before they are sent.
    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        timeout_seconds: float,
        cluster: KafkaCluster,
        dice: random.Random,
        on_write: Callable[[list[PrimaryRegion]], None] = lambda _: None,
    ) -> None:
        super().__init__(name, settings, timeout_seconds)
        self._seconds, self._world, self._dice = timeout_seconds, cluster, dice
        self._on_write = on_write

    def make_topic(self) -> None:
        """Does nothing: the topic is there."""

    def write(self, records: Iterable[PrimaryRegion]) -> None:
        wanted, now = list(records), int(time.time() * 1000)
        self._on_write(wanted)
        rows = [(encode_key(it).encode(), encode(it).encode()) for it in wanted]
        data = encoded([Record(at, now, *row) for at, row in enumerate(rows)])
        wait(lambda: self._written(data))

    async def _written(self, data: bytes) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                while True:
                    if await self._try(data):
                        return
                    await asyncio.sleep(self._dice.uniform(0.05, 0.5))
        except TimeoutError:
            raise WriteUnknown(self.name, "the decision may be recorded or not") from None

    async def _try(self, data: bytes) -> bool:
        partition = self._partition
        leader = self._leader()
        if leader == NOBODY:
            return False
        try:
            _, end, _ = partition.append(leader, batch_of(data))
        except Refused:
            return False
        self._world.replicate(partition)
        broker = self._world.brokers[leader]
        return await replicated(broker, partition, end, WRITE_SECONDS) == Code.NONE

    def read(self) -> dict[str, PrimaryRegion]:
        give_up_at = time.monotonic() + self._seconds
        while time.monotonic() < give_up_at:
            pause(self._dice.uniform(0.01, 0.3))
            partition, leader = self._partition, self._leader()
            if leader == NOBODY:
                continue
            try:
                end = partition.latest(leader, read_committed=True)
            except Refused:
                continue
            batches = partition.logs[leader].from_offset(0, end)
            return joined(record for batch in batches for record in decisions(batch))
        raise LogUnreadable(f"{self.name}: not read to its end in {self._seconds:g} s")

    @property
    def _partition(self) -> Partition:
        return self._world.topics[PRIMARY_REGIONS_TOPIC].partitions[0]

    def _leader(self) -> int:
        """Returns the leader if clients reach it."""
        leader = self._partition.decided.leader
        if leader == NOBODY or not self._world.is_connected(leader):
            return NOBODY
        is_silent = self._world.network.is_silent(self._world.brokers[leader].address)
        return NOBODY if is_silent else leader
