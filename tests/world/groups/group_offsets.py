"""Groups of a world's cluster, for the product: their members, their commits and writing offsets.

In place of librdkafka's admin client, requests of our own client go over the world's network.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from aiokafka.protocol.commit import OffsetCommitRequest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import KafkaCluster as Settings
from replicator.groups.membership.groups import UNKNOWN_MEMBER_ID, Groups
from replicator.kafka.admin.admin_error import admin_errors
from replicator.kafka.client.cluster import GROUP, Answered, Cluster
from replicator.kafka.client.progress_expiry import ASSUMED_SECONDS, RENEWED_PART
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from tests.world.blocking import wait
from tests.world.groups.members import Members
from tests.world.kafka.admin import WorldAdmin

Offsets = Mapping[TopicPartition, tuple[int, str]]
OnWrite = Callable[[str, Offsets], None]


class WorldGroups(Groups):
    """Consumer groups of one cluster.

    Args:
        on_write: called with a group's offsets just before they are sent.
    """

    def __init__(
        self,
        admin: WorldAdmin,
        settings: Settings,
        timeout_seconds: float,
        members: Members,
        on_write: OnWrite = lambda *_: None,
    ) -> None:
        super().__init__(admin.name, settings, timeout_seconds)
        self._admin, self._members, self._on_write = admin, members, on_write
        self.refused: set[str] = set()
        """Groups whose offsets a coordinator refused because they had members."""

    def members(self) -> dict[str, bool]:
        self._admin.cluster_id()  # raises while no broker answers
        return self._members.active()

    def commits(
        self, groups: Iterable[str], partitions: Iterable[TopicPartition]
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        topics: dict[str, list[int]] = {}
        for topic, partition in dict.fromkeys(partitions):
            topics.setdefault(topic, []).append(partition)
        wanted = list(dict.fromkeys(groups))
        if not topics or not wanted:
            return {group: {} for group in wanted}
        with admin_errors(self.name, "reading commits"):
            return wait(lambda: self._commits(wanted, list(topics.items())))

    def renewal_seconds(self) -> float:
        return ASSUMED_SECONDS * RENEWED_PART

    def write(self, group: str, offsets: Offsets) -> dict[TopicPartition, str]:
        self._on_write(group, offsets)
        return super().write(group, offsets)

    def _write(self, group: str, offsets: Offsets) -> dict[TopicPartition, int]:
        with admin_errors(self.name, f"setting offsets of group {group!r}"):
            codes = wait(lambda: self._sent(group, offsets))
        if UNKNOWN_MEMBER_ID in codes.values():
            self.refused.add(group)
        return codes

    async def _sent(self, group: str, offsets: Offsets) -> dict[TopicPartition, int]:
        topics: dict[str, list[tuple[int, int, str]]] = {}
        for (topic, number), row in offsets.items():
            topics.setdefault(topic, []).append((number, *row))
        cluster = Cluster(self.name, self.cluster, client_id="sluice-admin")
        codes: dict[TopicPartition, int] = {}

        def noted(answer: OffsetCommitRequest) -> list[int]:
            codes.update(
                {
                    TopicPartition(topic, n): code
                    for topic, some in answer.topics
                    for n, code in some
                }
            )
            return list(codes.values())

        request = OffsetCommitRequest(group, -1, "", -1, list(topics.items()))
        async with asyncio.timeout(self.timeout_seconds):
            await cluster.open()
            try:
                await cluster.ask_coordinator(GROUP, group, request, noted)
            except Answered:
                pass  # a refusal, which the codes tell
            finally:
                await cluster.close()
        return codes
