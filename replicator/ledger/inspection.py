"""Looks at the logs of both ends and says what of a partition is lost, if anything.

Done whenever a partition is taken, and again whenever a leader changes or a log answers oddly.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.kafka.brokers import Topic
from replicator.kafka.cluster import Cluster
from replicator.kafka.together import together
from replicator.ledger.entry import Custody, Entry
from replicator.ledger.loss import LogView, Loss, LossKind, source_loss, target_loss
from replicator.ledger.tail import mark_holds

LOOK_AGAIN_SECONDS = 1.0
"""A broker that wakes hears of its successor within a moment."""


@dataclass(frozen=True, slots=True)
class TargetFindings:
    """A partition's target log, checked under the leader epoch `leader`.

    Args:
        loss: what the entry calls landed and the log no longer holds.
    """

    start: int
    end: int
    leader: int
    loss: Loss | None


@dataclass(frozen=True, slots=True)
class SourceFindings:
    """A partition's source log, checked under the leader epoch `leader`.

    Args:
        loss: why reading cannot simply go on at the entry's source offset.
    """

    start: int
    end: int
    leader: int
    loss: Loss | None


async def inspect_target(
    cluster: Cluster, partition: TopicPartition, entry: Entry
) -> TargetFindings:
    """Whether the target still holds what the entry says it holds."""
    while True:
        leader = cluster.leader(*partition)
        found = await _look_at_target(cluster, partition, entry)
        if found.loss is None:
            return found
        # A loss stops the partition for good, so it must not be a leader that was stopped and has
        # not heard yet of its successor: all brokers shall name it, and it shall say so again.
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
    start, end = await together(cluster.log_start(*partition), cluster.log_end(*partition))
    # Only now: a leader that was just elected tells its log's end once it knows the high watermark,
    # and shows nothing behind an older one until then.
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
    """Whether the source's log can be read on from a position.

    A leader that is older than what was read already knows nothing of it: found under leader -1,
    as if it had not been asked. A topic that was made anew meanwhile has answered for the one that
    was asked for, perhaps: it is looked at once more.

    Args:
        entry: gives the topic's id and the leader epoch of the last batch read.
    """
    while True:
        topic = cluster.topic(partition.topic)
        if topic is None:
            return SourceFindings(-1, -1, -1, Loss(LossKind.SOURCE_DELETED, position, None))
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
        return SourceFindings(-1, -1, -1, None)
    epoch_end = -1
    if entry.source_epoch >= 0 and not differs:
        epoch_end = await cluster.epoch_end(*partition, entry.source_epoch)
    start, end = await together(cluster.log_start(*partition), cluster.log_end(*partition))
    view = LogView(topic_id_differs=differs, start=start, end=end, epoch_end=epoch_end)
    return SourceFindings(start, end, leader.epoch if leader else -1, source_loss(position, view))
