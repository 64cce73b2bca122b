"""Block partition: a partition whose records become blocks of tables."""

from __future__ import annotations

import time

from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.intent import Intent
from aggregator.loader.forced_flush import ForcedFlush
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.partition_progress import PartitionProgress
from balancer.topic_partition import TopicPartition

BlockPartition = HeldPartition[PartitionProgress[RecordSlice]]


def held_for_blocks(place: TopicPartition, intent: Intent, leader_epoch: int) -> BlockPartition:
    """Returns a partition that was just acquired."""
    flush = ForcedFlush(time.monotonic())
    return HeldPartition(place, intent, PartitionProgress(intent), leader_epoch, flush=flush)
