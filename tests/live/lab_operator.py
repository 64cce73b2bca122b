"""Operator of a real cluster of the lab, for the parts of the contract."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.protocol.admin import AlterPartitionReassignmentsRequest, DeleteRecordsRequest

from deploy.lab.kafka import KafkaCluster
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import LATEST, Cluster
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.metadata import MetadataRequest
from tests.live.deposed_leader import ElectRequest
from tests.live.quotas import AlterClientQuotasRequest
from tests.live.topics import create, new_name
from tests.world.contracts.dialogue import PATIENCE_SECONDS, Dialogue
from tests.world.contracts.operator import ClusterOperator

QUOTA_SECONDS = 11.2
"""Time that a batch takes at its quota. By default a quota counts the last ten to eleven seconds
(quota.window.num), so a client waits for 0.2 to 1.2 s."""
REFUSED = {Code.NOT_LEADER_OR_FOLLOWER.name, Code.UNKNOWN_TOPIC_OR_PARTITION.name}
"""Errors of brokers that do not lead, the second of those without a replica."""
SILENT = (OSError, KafkaError, TimeoutError, KeyError, Unreachable)


class LabOperator(ClusterOperator):
    """Operator of one cluster.

    Args:
        client: sends requests of operators too; its metadata are read again after each change.
        client_id: of this client.
    """

    def __init__(self, cluster: KafkaCluster, client: Cluster, client_id: str) -> None:
        self._cluster, self._client, self._client_id = cluster, client, client_id

    async def elect_another(self, topic: str) -> None:
        former = self._leader(topic)
        await self._until(lambda: self._has_others_in_sync(topic))
        _, replicas, in_sync = await self._partition(topic, former)
        another = next(node for node in replicas if node != former and node in in_sync)
        order = [another, *(node for node in replicas if node != another)]
        rows: Any = [(0, order, {})]
        request = AlterPartitionReassignmentsRequest(10_000, [(topic, rows, {})], {})
        answer = await self._client.send(former, request)
        assert not answer.error_code and not answer.responses[0][1][0][1], answer
        answer = await self._client.send(former, ElectRequest(topic))
        assert not answer.error_code and not answer.topics[0][1][0][1], answer
        await self._until_led(topic, another)

    async def _has_others_in_sync(self, topic: str) -> bool:
        _, _, in_sync = await self._partition(topic, self._leader(topic))
        return len(in_sync) > 1

    async def stop(self, topic: str, node: int) -> None:
        self._cluster.kill(node)
        await self._until(lambda: self._is_in_sync(topic, node, False))
        await self._until_applied(self._leader(topic))

    async def start(self, topic: str, node: int) -> None:
        self._cluster.restart(node)
        await self._until(lambda: self._is_in_sync(topic, node, True))
        await self._client.refresh_everywhere()

    async def _is_in_sync(self, topic: str, node: int, expected: bool) -> bool:
        """Returns True once every broker of the cluster sees a replica in sync, or not."""
        await self._client.refresh()
        running = [it for it in self._cluster.brokers if it in self._cluster.processes]
        found = [await self._partition(topic, it) for it in running]
        return all((node in in_sync) is expected for _, _, in_sync in found)

    async def elect_unclean(self, topic: str, node: int) -> None:
        former = self._leader(topic)
        self._cluster.kill(former)
        self._cluster.restart(node)
        await self._until(lambda: self._leads(topic, node))
        await self.start(topic, former)
        await self._until_led(topic, node)

    async def _leads(self, topic: str, node: int) -> bool:
        leader, _, _ = await self._partition(topic, node)
        return leader == node

    async def _until_led(self, topic: str, node: int) -> None:
        """Waits until all brokers know the new leader, and act on it."""

        async def is_known() -> bool:
            await self._client.refresh_everywhere()
            leaders = await self._client.leader_by_each(topic, 0)
            if not all(it and it.node == node for it in leaders):
                return False
            # Replicas know a moment after their metadata show it.
            talk = Dialogue(self._client, topic, self)
            found = {it: (await talk.listed(LATEST, node=it))[0] for it in self._client.nodes}
            return found.pop(node) == "NONE" and REFUSED.issuperset(found.values())

        await self._until(is_known)

    async def _until_applied(self, node: int) -> None:
        """Waits until a broker has applied all that its metadata show.

        It shows changes a moment before its replicas know them, and applies them in order: a topic
        that is created now comes last.
        """
        last = new_name("last")
        create(self._cluster, last, replicas=[[node]])
        talk = Dialogue(self._client, last, self)

        async def is_applied() -> bool:
            return (await talk.listed(LATEST, node=node))[0] == "NONE"

        await self._until(is_applied)

    async def delete_before(self, topic: str, offset: int) -> None:
        request = DeleteRecordsRequest([(topic, [(0, offset)])], 30_000)
        answer = await self._client.send(self._leader(topic), request)
        _, low_watermark, code, *_ = answer.topics[0][1][0]
        assert (low_watermark, code) == (offset, 0), answer

    async def compact(self, topic: str) -> None:
        pass  # the cleaner looks for work every 100 ms

    async def throttle(self, batch_bytes: int) -> None:
        rate = int(batch_bytes / QUOTA_SECONDS)  # a broker refuses fractions
        await self._alter({"producer_byte_rate": rate, "consumer_byte_rate": rate})

    async def end_throttle(self) -> None:
        await self._alter({"producer_byte_rate": None, "consumer_byte_rate": None})

    async def _alter(self, quotas: dict[str, float | None]) -> None:
        request = AlterClientQuotasRequest(self._client_id, quotas)
        ask = self._client.ask
        await ask(self._client.any_node, request, lambda it: [row[0] for row in it.entries])

    # -- looks

    def _leader(self, topic: str) -> int:
        found = self._client.leader(topic, 0)
        assert found is not None
        return found.node

    async def _partition(self, topic: str, node: int) -> tuple[int, list[int], list[int]]:
        """Returns leader, replicas and in-sync replicas, as a broker knows them."""
        answer = await self._client.send(node, MetadataRequest([topic]))
        (_, _, leader, _, replicas, in_sync, *_), *_ = answer.topics[0][4]
        return leader, replicas, in_sync

    async def _until(self, is_done: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                with suppress(*SILENT):
                    if await is_done():
                        return
                await asyncio.sleep(0.05)
