"""Query of a partition's leader: its memory of a producer, and the epoch in which it leads."""

from __future__ import annotations

from balancer.plan import TopicPartition
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.cluster_metadata import Leader
from replicator.kafka.protocol.leader_epoch import LeaderEpochRequest
from replicator.mirror.ledger.landed import Memory


class _LeaderChanged(Exception):
    """The metadata no longer names the leader that was to be asked."""


async def ask_memory(cluster: Cluster, partition: TopicPartition, producer_id: int) -> Memory:
    """Returns the leader's memory of a producer, and an epoch in which it led before it was asked.

    Any replica answers DescribeProducers, from its local log. So the broker confirms its epoch
    first; after another election no marker is written in that epoch.
    """
    epoch = await _confirmed_epoch(cluster, partition)
    states = await cluster.producer_states(*partition)
    return Memory(epoch, states.get(producer_id))


async def _confirmed_epoch(cluster: Cluster, partition: TopicPartition) -> int:
    """Returns the leader epoch once the leader confirms it; -1 when the topic is gone.

    Metadata may name an epoch before the broker leads in it.
    """
    while True:
        leader = cluster.leader(*partition)
        try:
            await _confirm(cluster, partition, leader)
        except _LeaderChanged:
            if cluster.topic(partition.topic) is None:
                return -1
        else:
            return leader.epoch if leader else -1


async def _confirm(cluster: Cluster, partition: TopicPartition, leader: Leader | None) -> None:
    """Returns once the broker answers as the leader of this epoch. Raises _LeaderChanged."""
    is_refused = False

    async def find() -> int | None:
        if is_refused or leader is None:
            await cluster.refresh()
        if cluster.leader(*partition) != leader or cluster.topic(partition.topic) is None:
            raise _LeaderChanged
        return leader.node if leader else None

    def refuse() -> None:
        nonlocal is_refused
        is_refused = True

    epoch = leader.epoch if leader else -1
    await cluster.ask(
        find,
        LeaderEpochRequest(*partition, epoch, current_leader_epoch=epoch),
        lambda r: [row[0] for _, rows in r.topics for row in rows],
        forget=refuse,
    )
