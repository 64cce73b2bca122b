"""Retention of progress: committed offsets and transactional ids that a cluster forgets by its
clock, and the configs that tell when.

Source: OffsetMetadataManager.cleanupExpiredOffsets for groups without members,
TransactionStateManager.enableTransactionalIdExpiration.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from replicator.kafka.client.progress_expiry import IDS_CONFIG, RETENTION_CONFIG
from tests.world.kafka.broker import Broker
from tests.world.kafka.coordinator_log import write
from tests.world.kafka.group_requests import CommitsExpired, committed
from tests.world.kafka.kafka_cluster import GROUPS, KafkaCluster
from tests.world.kafka.log_batch import Refused
from tests.world.kafka.requests import Asked
from tests.world.kafka.transactional_ids import forget_ids

DESCRIBE_CONFIGS = 32
TOPIC, BROKER = 2, 4
"""Types of resources."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Times after which a cluster forgets what is not used.

    Args:
        offsets_seconds: offsets.retention.minutes.
        ids_seconds: transactional.id.expiration.ms.
        check_seconds: pause between two looks for both.
    """

    offsets_seconds: float = 60.0
    ids_seconds: float = 60.0
    check_seconds: float = 5.0

    async def describe_configs(self, broker: Broker, asked: Asked) -> Any:
        """Answers a request for configs: of a broker the times, of a topic its largest batch."""
        found = []
        for kind, name, wanted in asked.body.resources:
            configs = self._configs(broker.cluster, kind, name)
            rows = [
                (key, value, False, False, False)
                for key, value in configs.items()
                if wanted is None or key in wanted
            ]
            found.append((0, None, kind, name, rows))
        return (0, found)

    def _configs(self, cluster: KafkaCluster, kind: int, name: str) -> dict[str, str]:
        if kind == BROKER:
            return {
                RETENTION_CONFIG: f"{self.offsets_seconds / 60:g}",
                IDS_CONFIG: f"{self.ids_seconds * 1000:.0f}",
            }
        partition = cluster.partition(name, 0)
        return {"max.message.bytes": str(partition.max_message_bytes)} if partition else {}

    async def keep_forgetting(self, cluster: KafkaCluster) -> None:
        """Forgets what is older, again and again."""
        while True:
            await asyncio.sleep(self.check_seconds)
            await forget_ids(cluster, self.ids_seconds)
            for partition in cluster.topics[GROUPS].partitions:
                leader = cluster.brokers.get(partition.decided.leader)
                if leader is None or not cluster.is_connected(leader.node):
                    continue
                for commit in self._expired(leader, partition):
                    try:
                        await write(leader, partition, value=commit)
                    except Refused:
                        break  # another coordinator will look

    def _expired(self, broker: Broker, partition: Any) -> list[CommitsExpired]:
        """Returns the expiry of commits that are old, and that no open transaction replaces."""
        groups = committed(broker, partition)
        before = broker.cluster.network.loop.time() - self.offsets_seconds
        pending = {
            (commit.group, place)
            for commits in groups.pending.values()
            for _, commit in commits
            for place, _ in commit.rows
        }
        return [
            CommitsExpired(group, place)
            for group, rows in groups.shown.items()
            for place in rows
            if (group, place) not in pending
            and groups.committed_at.get((group, place), before) < before
        ]


RETENTION = Retention()


def begin_retention(cluster: KafkaCluster, retention: Retention) -> None:
    """Has a cluster tell these times, and forget what is older."""
    for broker in cluster.brokers.values():
        broker.handlers[DESCRIBE_CONFIGS] = retention.describe_configs
    cluster.network.loop.in_background(retention.keep_forgetting(cluster))
