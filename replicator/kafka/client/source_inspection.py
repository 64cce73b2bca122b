"""Inspection of a source partition's log: reports the records that can no longer be read, if any.

Done whenever a partition is acquired, and again whenever its leader changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.loss import LogView, Loss, LossKind, source_loss
from replicator.runtime.gather import gather_or_cancel


@dataclass(frozen=True, slots=True)
class SourceFindings:
    """State of a partition's source log, checked under the leader epoch `leader`.

    Args:
        loss: the reason why reading cannot continue at the position that was checked.
    """

    start: int
    leader: int
    loss: Loss | None


async def inspect_source(
    cluster: Cluster,
    partition: TopicPartition,
    *,
    topic_id: UUID | None,
    leader_epoch: int,
    position: int,
    sealed_end: int = 0,
) -> SourceFindings:
    """Checks that the source's log can be read from a position on.

    A leader whose epoch is older than that of the last batch read does not know that batch. Its log
    is not judged, and the result has leader -1 and no loss. A topic that was deleted or recreated
    during the checks is checked once more, since the answers may be of either topic.

    Args:
        topic_id: of the topic that was read until now (None: not known).
        leader_epoch: of the last batch read (-1: none yet).
        position: the next source offset to read.
        sealed_end: end of what was read and may be stored, behind the position: a log that was cut
            below it is another one there.
    """
    while True:
        topic = cluster.topic(partition.topic)
        if topic is None:
            return SourceFindings(-1, -1, Loss(LossKind.SOURCE_DELETED, position, None))
        differs = bool(topic_id and topic.id != topic_id)
        found = await _look(cluster, partition, differs, leader_epoch, position, sealed_end)
        if found.loss and not differs:
            # The log is asked by name: the answers may be those of a topic that was recreated
            # since the metadata was read.
            await cluster.refresh()
        after = cluster.topic(partition.topic)
        if after is not None and after.id == topic.id:
            return found


async def _look(
    cluster: Cluster,
    partition: TopicPartition,
    differs: bool,
    leader_epoch: int,
    position: int,
    sealed_end: int,
) -> SourceFindings:
    leader = cluster.leader(*partition)
    if leader and not differs and leader.epoch < leader_epoch:
        return SourceFindings(-1, -1, None)
    epoch_end = -1
    if leader_epoch >= 0 and not differs:
        epoch_end = await cluster.epoch_end(*partition, leader_epoch)
    start, end = await gather_or_cancel(cluster.log_start(*partition), cluster.log_end(*partition))
    view = LogView(topic_id_differs=differs, start=start, end=end, epoch_end=epoch_end)
    loss = source_loss(position, view, sealed_end)
    return SourceFindings(start, leader.epoch if leader else -1, loss)
