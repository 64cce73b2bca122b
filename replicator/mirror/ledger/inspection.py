"""Inspection of a partition's target log: reports the records that it has lost, if any.

Done whenever a partition is acquired, and again whenever its leader changes or the log's answer is
unexpected.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.loss import LogView, Loss, target_loss
from replicator.mirror.ledger.entry import Custody, Entry
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


Inspect = Callable[[Cluster, TopicPartition, Entry], Awaitable[TargetFindings]]
"""Inspection of a partition's target log, such as `inspect_target`."""


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
