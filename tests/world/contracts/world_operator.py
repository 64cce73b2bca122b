"""Operator of a cluster of the world."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from replicator.kafka.client.cluster import Cluster
from tests.replicator.batches.source_batches import decoded
from tests.world.contracts.dialogue import PATIENCE_SECONDS
from tests.world.contracts.operator import ClusterOperator
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.partition import Partition

THROTTLE_SECONDS = 0.2


class WorldOperator(ClusterOperator):
    """Operator of one cluster.

    Args:
        client: its metadata are read again after each change.
    """

    def __init__(self, cluster: KafkaCluster, client: Cluster) -> None:
        self._cluster, self._client = cluster, client

    async def elect_another(self, topic: str) -> None:
        partition = self._partition(topic)
        before = partition.decided.leader
        await _until(lambda: len(partition.decided.in_sync) > 1)
        self._cluster.elect_another(partition)
        await self._until_led(partition)
        assert partition.decided.leader != before

    async def stop(self, topic: str, node: int) -> None:
        partition = self._partition(topic)
        self._cluster.kill(node)
        await _until(lambda: node not in partition.told[partition.decided.leader].in_sync)
        await self._client.refresh_everywhere()

    async def start(self, topic: str, node: int) -> None:
        partition = self._partition(topic)
        self._cluster.start(node)
        await _until(lambda: node in partition.decided.in_sync)
        await self._client.refresh_everywhere()

    async def elect_unclean(self, topic: str, node: int) -> None:
        partition = self._partition(topic)
        former = partition.decided.leader
        self._cluster.kill(former)
        self._cluster.start(node)
        await _until(lambda: partition.decided.leader != former)
        self._cluster.elect(partition, node)
        await self.start(topic, former)
        await self._until_led(partition)

    async def delete_before(self, topic: str, offset: int) -> None:
        for log in self._partition(topic).logs.values():
            log.delete_before(offset)

    async def compact(self, topic: str) -> None:
        for log in self._partition(topic).logs.values():
            end = log.batches[-1].base_offset
            records = [it for batch in log.batches[:-1] for it in decoded(batch.data)]
            newest = {it.key: it.offset for it in records}
            log.compact(0, end, frozenset(newest.values()).__contains__)

    async def throttle(self, batch_bytes: int) -> None:
        self._throttle(THROTTLE_SECONDS)

    async def end_throttle(self) -> None:
        self._throttle(0.0)

    def _throttle(self, seconds: float) -> None:
        for broker in self._cluster.brokers.values():
            broker.throttle_seconds = seconds

    def _partition(self, topic: str) -> Partition:
        found = self._cluster.partition(topic, 0)
        assert found is not None
        return found

    async def _until_led(self, partition: Partition) -> None:
        def is_told() -> bool:
            return all(it == partition.decided for it in partition.told.values())

        await _until(is_told)
        await self._client.refresh_everywhere()


async def _until(is_done: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if is_done():
                return
            await asyncio.sleep(0.01)
