"""Topic sluice.balance in a world: orders of operators and placements, as records of its log.

Writers and followers stand in for librdkafka's clients. A record is read once it is committed, on a
leader that clients reach.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Sequence

from replicator.config.names import BALANCE_TOPIC
from replicator.kafka.protocol.error_codes import Code
from replicator.orders.order_log import KeyedRecord, OrderLog
from replicator.orders.order_reader import OrderReader
from replicator.orders.order_records import RENEWED, AnyRecord, encode, key_of
from tests.replicator.batches.source_batches import Record, decoded, encoded
from tests.world.checks.log_reading import LogReading
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.log_batch import Refused, batch_of
from tests.world.kafka.log_requests import replicated
from tests.world.kafka.partition import NOBODY, Partition
from tests.world.mirror.standing_orders import StandingOrders
from tests.world.process import CURRENT
from tests.world.virtual_loop import in_background

POLL_SECONDS = (0.02, 0.5)
Pairs = Sequence[tuple[bytes, bytes | None]]


def pairs_of(records: Iterable[AnyRecord] = (), tombstones: Iterable[bytes] = ()) -> Pairs:
    """Returns keys and values as the topic has them."""
    return [*((key_of(it), encode(it)) for it in records), *((key, None) for key in tombstones)]


class OrderTopic:
    """Topic of orders in one cluster.

    Args:
        dice: decides how soon records are written and followed.
    """

    def __init__(self, cluster: KafkaCluster, dice: random.Random) -> None:
        self._cluster, self.dice = cluster, dice
        cluster.create(BALANCE_TOPIC, 1, min_in_sync=min(2, len(cluster.brokers)))

    async def write(self, pairs: Pairs) -> None:
        """Writes keys and values as one batch, again and again until it is acknowledged."""
        now = int(time.time() * 1000)
        data = encoded([Record(at, now, key, value) for at, (key, value) in enumerate(pairs)])
        while True:
            if await self._try(data):
                return
            await asyncio.sleep(self.dice.uniform(0.05, 0.5))

    async def _try(self, data: bytes) -> bool:
        partition = self.partition
        leader = partition.decided.leader
        if not self._is_reached(leader):
            return False
        try:
            _, end, _ = partition.append(leader, batch_of(data))
        except Refused:
            return False
        self._cluster.replicate(partition)
        code = await replicated(self._cluster.brokers[leader], partition, end, 5.0)
        return code == Code.NONE

    def read(self, reading: LogReading) -> list[Record] | None:
        """Returns the records that are new to a reading of `partition`; None: no answer."""
        if not self._is_reached(self.partition.decided.leader):
            return None
        batches = [it for it in reading.batches() if not it.is_marker]
        return [record for batch in batches for record in decoded(batch.data)]

    def read_whole(self) -> list[Record] | None:
        """Returns all records up to the end that a leader tells; None: no answer."""
        partition = self.partition
        leader = partition.decided.leader
        if not self._is_reached(leader):
            return None
        try:
            end = partition.latest(leader, read_committed=True)
        except Refused:
            return None
        reading = LogReading(partition, is_stable=True)
        records = self.read(reading)
        return records if reading.position >= end else None

    def poll_seconds(self) -> float:
        return self.dice.uniform(*POLL_SECONDS)

    @property
    def partition(self) -> Partition:
        found = self._cluster.partition(BALANCE_TOPIC, 0)
        assert found is not None
        return found

    def _is_reached(self, leader: int) -> bool:
        if leader == NOBODY or not self._cluster.is_connected(leader):
            return False
        return not self._cluster.network.is_silent(self._cluster.brokers[leader].address)


class WorldFollower:
    """Follower of orders within the process that starts it.

    Args:
        reader: of the topic's records.
    """

    def __init__(
        self,
        topic: OrderTopic,
        on_change: Callable[[OrderLog], None],
        reader: OrderReader | None = None,
    ) -> None:
        self._topic, self._on_change = topic, on_change
        self._reader = reader or OrderReader()
        self.told = StandingOrders()
        """Orders that the process has been told of."""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = in_background(self._run())
        if process := CURRENT.get():
            process.at_kill.append(self.stop)

    def stop(self) -> None:
        if self._task:
            self._task.cancel()

    async def _run(self) -> None:
        reading = LogReading(self._topic.partition, is_stable=True)
        order_log, last = OrderLog(), None
        standing = self.told
        while True:
            await asyncio.sleep(self._topic.poll_seconds())
            records = self._topic.read(reading)
            if records is None:
                continue
            read = keyed(self._reader, records)
            order_log, standing = order_log.after(read), standing.after(records)
            has_orders = any(not isinstance(record, RENEWED) for _, record in read)
            if last is None or (has_orders and order_log != last):
                last = order_log
                self._on_change(order_log)
                # Behind what on_change hands over to the loop.
                asyncio.get_running_loop().call_soon(setattr, self, "told", standing)


def keyed(reader: OrderReader, records: Iterable[Record]) -> list[KeyedRecord]:
    """Returns the records as a follower takes them, without those that are left out."""
    read = (reader.read(it.key, it.value, f"sluice.balance-0 at {it.offset}") for it in records)
    return [each for each in read if each is not None]
