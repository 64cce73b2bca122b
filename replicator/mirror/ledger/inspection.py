"""Inspection of a partition's logs at both ends: reports the records that are lost, if any.

Done whenever a partition is acquired, and again whenever a leader changes or a log's answer is
unexpected.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.cluster_metadata import Topic
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.loss import LogView, Loss, LossKind, source_loss, target_loss
from replicator.mirror.ledger.tail import mark_holds
from replicator.runtime.gather import gather_or_cancel

LOOK_AGAIN_SECONDS = 1.0
"""Time in which a broker that was paused learns of its successor."""


@dataclass(frozen=True, slots=True)
class TargetFindings:
    """State of a partition's target log, checked under the leader epoch `leader`.

    Args:
        loss: records that the entry counts as landed and the log no longer holds.
    """

    start: int
    end: int
    leader: int
    loss: Loss | None


@dataclass(frozen=True, slots=True)
class SourceFindings:
    """State of a partition's source log, checked under the leader epoch `leader`.

    Args:
        loss: the reason why reading cannot continue at the position that was checked.
    """

    start: int
    leader: int
    loss: Loss | None


async def inspect_target(
    cluster: Cluster, partition: TopicPartition, entry: Entry
) -> TargetFindings:
    """Checks that the target still holds every record that the entry counts as landed.

    Reports a loss only when the same leader reports it twice and no broker names another leader.
    """
    while True:
        leader = cluster.leader(*partition)
        found = await _look_at_target(cluster, partition, entry)
        if found.loss is None:
            return found
        # A loss stops the partition for good. A leader that was paused may not know its successor
        # yet: every broker is asked for the leader, and the leader for its log once more.
        await asyncio.sleep(LOOK_AGAIN_SECONDS)
        await cluster.refresh_everywhere()
        if cluster.leader(*partition) == leader:
            again = await _look_at_target(cluster, partition, entry)
            if again.loss:
                return again


async def _look_at_target(
    cluster: Cluster, partition: TopicPartition, entry: Entry
) -> TargetFindings:
    leader = cluster.leader(*partition)
    start, end = await gather_or_cancel(cluster.log_start(*partition), cluster.log_end(*partition))
    # After the log's end: a newly elected leader answers ListOffsets once it knows the high
    # watermark, and until then shows nothing after an older one.
    holds = await mark_holds(cluster, partition, entry.mark)
    topic = cluster.topic(partition.topic)
    view = LogView(
        topic_id_differs=bool(topic and entry.target_topic and topic.id != entry.target_topic),
        start=start,
        end=end,
        mark_holds=holds,
    )
    loss = None
    if entry.custody is not Custody.VIRGIN:
        loss = target_loss(entry.target_offset, view)
    return TargetFindings(start, end, leader.epoch if leader else -1, loss)


async def inspect_source(
    cluster: Cluster, partition: TopicPartition, entry: Entry, position: int
) -> SourceFindings:
    """Checks that the source's log can be read from a position on.

    A leader whose epoch is older than that of the last batch read does not know that batch. Its log
    is not judged, and the result has leader -1 and no loss. A topic that was deleted or created
    again during the checks is checked once more, since the answers may be of either topic.

    Args:
        entry: gives the topic's id and the leader epoch of the last batch read.
    """
    while True:
        topic = cluster.topic(partition.topic)
        if topic is None:
            return SourceFindings(-1, -1, Loss(LossKind.SOURCE_DELETED, position, None))
        found = await _look_at_source(cluster, partition, entry, position, topic)
        after = cluster.topic(partition.topic)
        if after is not None and after.id == topic.id:
            return found


async def _look_at_source(
    cluster: Cluster, partition: TopicPartition, entry: Entry, position: int, topic: Topic
) -> SourceFindings:
    leader = cluster.leader(*partition)
    differs = bool(entry.source_topic and topic.id != entry.source_topic)
    if leader and not differs and leader.epoch < entry.source_epoch:
        return SourceFindings(-1, -1, None)
    epoch_end = -1
    if entry.source_epoch >= 0 and not differs:
        epoch_end = await cluster.epoch_end(*partition, entry.source_epoch)
    start, end = await gather_or_cancel(cluster.log_start(*partition), cluster.log_end(*partition))
    view = LogView(topic_id_differs=differs, start=start, end=end, epoch_end=epoch_end)
    return SourceFindings(start, leader.epoch if leader else -1, source_loss(position, view))
