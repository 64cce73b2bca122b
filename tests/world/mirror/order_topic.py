"""Topic sluice.balance in a world: orders of operators and placements, as records of its log.

Writers and followers stand in for librdkafka's clients. A record is read once it is below the high
watermark of a leader that clients reach.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable

from replicator.config.names import BALANCE_TOPIC
from replicator.kafka.protocol.error_codes import Code
from replicator.orders.order_log import KeyedRecord, OrderLog
from replicator.orders.order_records import AnyRecord, decode, encode, key_of
from tests.replicator.batches.source_batches import Record, decoded, encoded
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.log_batch import Refused, batch_of
from tests.world.kafka.log_requests import replicated
from tests.world.kafka.partition import NOBODY, Partition
from tests.world.process import CURRENT

POLL_SECONDS = (0.02, 0.5)


class OrderTopic:
    """Topic of orders in one cluster.

    Args:
        dice: decides how soon records are written and followed.
    """

    def __init__(self, cluster: KafkaCluster, dice: random.Random) -> None:
        self._cluster, self._dice = cluster, dice
        cluster.create(BALANCE_TOPIC, 1, min_in_sync=min(2, len(cluster.brokers)))

    async def write(
        self, records: Iterable[AnyRecord] = (), tombstones: Iterable[bytes] = ()
    ) -> None:
        """Writes records and tombstones as one batch, again and again until it is acknowledged."""
        now = int(time.time() * 1000)
        pairs: list[tuple[bytes, bytes | None]] = [(key_of(it), encode(it)) for it in records]
        pairs += [(key, None) for key in tombstones]
        data = encoded([Record(at, now, key, value) for at, (key, value) in enumerate(pairs)])
        while True:
            if await self._try(data):
                return
            await asyncio.sleep(self._dice.uniform(0.05, 0.5))

    async def _try(self, data: bytes) -> bool:
        partition = self._partition
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

    def read(self, begin: int) -> tuple[int, list[KeyedRecord]] | None:
        """Returns the end of the log, and the records from an offset on; None: no answer."""
        partition = self._partition
        leader = partition.decided.leader
        if not self._is_reached(leader):
            return None
        log = partition.logs[leader]
        end = max(begin, log.high_watermark)
        return end, [
            _keyed(it) for batch in log.from_offset(begin, end) for it in decoded(batch.data)
        ]

    def poll_seconds(self) -> float:
        return self._dice.uniform(*POLL_SECONDS)

    @property
    def _partition(self) -> Partition:
        found = self._cluster.partition(BALANCE_TOPIC, 0)
        assert found is not None
        return found

    def _is_reached(self, leader: int) -> bool:
        if leader == NOBODY or not self._cluster.is_connected(leader):
            return False
        return not self._cluster.network.is_silent(self._cluster.brokers[leader].address)


class WorldFollower:
    """Follower of orders within the process that starts it."""

    def __init__(self, topic: OrderTopic, on_change: Callable[[OrderLog], None]) -> None:
        self._topic, self._on_change = topic, on_change
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())
        if process := CURRENT.get():
            process.at_kill.append(self.stop)

    def stop(self) -> None:
        if self._task:
            self._task.cancel()

    async def _run(self) -> None:
        offset, order_log, last = 0, OrderLog(), None
        while True:
            await asyncio.sleep(self._topic.poll_seconds())
            found = self._topic.read(offset)
            if found is None:
                continue
            offset, records = found
            order_log = order_log.after(records)
            if order_log != last:
                last = order_log
                self._on_change(order_log)


def _keyed(record: Record) -> KeyedRecord:
    return record.key or b"", None if record.value is None else decode(record.value)
