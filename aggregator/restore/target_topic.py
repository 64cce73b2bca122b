"""Target topic of a restore: whether it can take the records as they were."""

from __future__ import annotations

from decimal import Decimal

from aggregator.formats.record_slice import NO_TIME
from aggregator.restore.restore_plan import CannotRestore
from replicator.kafka.admin.topic import UNLIMITED, Topic
from replicator.kafka.admin.topic_changes import Create

MESSAGE_BYTES = 1 << 20
"""Largest batch of a topic that does not tell its max.message.bytes."""


def new_topic(name: str, partitions: int, replication_factor: int) -> Create:
    """Returns a topic to be created. It keeps old records: retention would take them at once."""
    return Create(name, partitions, (("retention.ms", "-1"),), replication_factor)


def check_topic(topic: Topic, partitions: int, oldest_ms: int, now_ms: int) -> None:
    """Raises CannotRestore if the topic would lose or change records.

    Args:
        partitions: of the source topic.
        oldest_ms: least timestamp that may come; -1: none has one.
    """
    if topic.partitions != partitions:
        raise CannotRestore(
            f"topic {topic.name} has {topic.partitions} partitions, the source has {partitions}: "
            "records keep their partitions; create it with as many"
        )
    if topic.configs.values.get("message.timestamp.type") == "LogAppendTime":
        raise CannotRestore(
            f"topic {topic.name} replaces timestamps: set message.timestamp.type=CreateTime"
        )
    if oldest_ms == NO_TIME:
        return
    age = Decimal(now_ms - oldest_ms)
    retention = topic.configs.number("retention.ms") or UNLIMITED
    if "delete" in topic.configs.policies and retention < age:
        raise CannotRestore(
            f"topic {topic.name} would delete the oldest records at once: set retention.ms=-1, or "
            f"above {age}"
        )
    allowed = topic.configs.number("message.timestamp.before.max.ms") or UNLIMITED
    if allowed < age:
        raise CannotRestore(
            f"topic {topic.name} refuses the oldest records: set message.timestamp.before.max.ms "
            f"above {age}"
        )


def batch_bytes_max(topic: Topic) -> int:
    """Returns the size of the largest batch that the topic takes."""
    return int(topic.configs.number("max.message.bytes") or MESSAGE_BYTES)
