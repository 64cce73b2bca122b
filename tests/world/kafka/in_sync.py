"""In-sync sets of a cluster: replicas that fall behind, are taken out of them, and catch up.

Source: Partition.maybeShrinkIsr, maybeExpandIsr.
"""

from __future__ import annotations

from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.partition import NOBODY


def stall(cluster: KafkaCluster, node: int, lag_seconds: float) -> None:
    """Lets a broker's replicas follow no more, until `catch_up`.

    Args:
        lag_seconds: time until their leaders take them out of the in-sync sets.
    """
    cluster.stalled.add(node)
    cluster.later(lag_seconds, _shrink, cluster, node, lag_seconds)


def catch_up(cluster: KafkaCluster, node: int) -> None:
    """Lets a broker's replicas follow again."""
    cluster.stalled.discard(node)
    for partition in cluster.partitions():
        cluster.replicate(partition)


def shrink_to_leader(cluster: KafkaCluster, place: tuple[str, int]) -> None:
    """Takes all followers out of an in-sync set; they come back as soon as they caught up."""
    partition = cluster.partition(*place)
    if partition is not None and cluster.is_connected(partition.decided.leader):
        partition.change_in_sync([partition.decided.leader])
        cluster.replicate(partition)


def _shrink(cluster: KafkaCluster, node: int, lag_seconds: float) -> None:
    if node not in cluster.stalled:
        return
    for partition in cluster.partitions():
        decided = partition.decided
        leader = decided.leader
        is_behind = (
            node in decided.in_sync
            and leader not in (NOBODY, node)
            and cluster.is_connected(leader)
            and partition.logs[node].end < partition.logs[leader].end
        )
        if is_behind:
            partition.change_in_sync(decided.in_sync - {node})
    cluster.later(lag_seconds, _shrink, cluster, node, lag_seconds)
