"""Losses in the logs of a cluster, and what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from tests.world.kafka.log_batch import Batch, marker_of
from tests.world.kafka.partition import NOBODY, Partition
from tests.world.kafka.replica_log import ReplicaLog

if TYPE_CHECKING:
    from tests.world.kafka.kafka_cluster import KafkaCluster

NEWEST_COORDINATOR = 1 << 30
"""Coordinator epoch of markers that no coordinator wrote."""


class LossCause(StrEnum):
    """Cause of a loss in a log."""

    UNCLEAN_ELECTION = "unclean election"
    RETENTION = "retention"
    RECREATION = "recreation"
    RESTORATION = "restoration"


@dataclass(frozen=True, slots=True)
class LostRange:
    """Offsets begin..end-1 that a partition has lost.

    Args:
        end: end of the log that lost them, whether or not they were committed.
        log: its batches, as they stood before.
    """

    place: tuple[str, int]
    cause: LossCause
    begin: int
    end: int
    log: Sequence[Batch]


def elect_unclean(cluster: KafkaCluster, partition: Partition, node: int, kept: int) -> None:
    """Elects a replica that stopped to follow at offset `kept`; all brokers learn of it at once.

    Batches behind that offset are lost. Transactions that would be open for ever are aborted.
    Source: PartitionChangeBuilder.electAnyLeader; AbstractFetcherThread.truncateToEpochEndOffsets.
    """
    log = partition.logs[partition.decided.leader]
    _note(cluster, partition, LossCause.UNCLEAN_ELECTION, (kept, log.end), log)
    left = partition.logs[node]
    left.truncate(kept)
    partition.decide(node, [node])
    cluster.tell_at_once(partition)
    _abort_open(partition, node)
    cluster.replicate(partition)


def restore(cluster: KafkaCluster, partition: Partition, epoch: int, end: int) -> None:
    """Puts the disks of all replicas back to the end of a leader epoch, metadata included.

    Transactions that would be open for ever are aborted.

    Args:
        end: offset behind the last batch of that epoch.
    """
    leader = partition.decided.leader
    log = partition.logs[leader]
    _note(cluster, partition, LossCause.RESTORATION, (end, log.end), log)
    for each in partition.logs.values():
        each.truncate(end)
    partition.decided = replace(partition.decided, epoch=epoch)
    cluster.tell_at_once(partition)
    _abort_open(partition, leader)
    cluster.replicate(partition)


def _abort_open(partition: Partition, leader: int) -> None:
    for producer_id, producer in list(partition.logs[leader].producers.items()):
        if producer.transaction_start >= 0:
            marker = marker_of(
                producer_id,
                producer.epoch,
                is_commit=False,
                coordinator_epoch=NEWEST_COORDINATOR,
            )
            partition.append(leader, marker, all_acks=False)


def delete_unread(cluster: KafkaCluster, partition: Partition, end: int) -> None:
    """Lets retention delete records before an offset, whoever still needs them."""
    log = partition.logs[partition.decided.leader]
    _note(cluster, partition, LossCause.RETENTION, (log.start, end), log)
    for each in partition.logs.values():
        each.delete_before(end)


def recreate(cluster: KafkaCluster, name: str) -> None:
    """Deletes a topic and creates it again under its name."""
    topic = cluster.topics[name]
    for partition in topic.partitions:
        leader = partition.decided.leader
        log = partition.logs[partition.replicas[0] if leader == NOBODY else leader]
        _note(cluster, partition, LossCause.RECREATION, (0, log.end), log)
    cluster.delete(name)
    for act in cluster.on_deleted:
        act(cluster, name)
    cluster.create(name, len(topic.partitions), **topic.config)


def _note(
    cluster: KafkaCluster,
    partition: Partition,
    cause: LossCause,
    offsets: tuple[int, int],
    log: ReplicaLog,
) -> None:
    place = (partition.topic, partition.number)
    cluster.lost.append(LostRange(place, cause, *offsets, tuple(log.everything)))
