"""Logs of the target, read before its ledger and again after its runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from balancer.plan import TopicPartition
from replicator.groups.planning.knowledge import LogRange
from replicator.kafka.admin.admin import Admin, PartitionOffsets
from replicator.kafka.admin.admin_error import AdminUnreachable


@dataclass(frozen=True, slots=True)
class TargetLogs:
    """All partitions of some topics at the time of the first reading.

    Args:
        topic_ids: by topic, in hex; a topic that does not exist is left out.
        ends: of the logs; everything that could be read stood before them.
    """

    topic_ids: Mapping[str, str]
    ends: PartitionOffsets


def first_look(admin: Admin, topics: Collection[str]) -> TargetLogs:
    """Reads the ids and the log ends of topics. Raises AdminError."""
    described = admin.topics(topics)
    partitions = [
        TopicPartition(topic.name, number)
        for topic in described
        for number in range(topic.partitions)
    ]
    ids = {topic.name: topic.topic_id.hex for topic in described}
    return TargetLogs(ids, _all(admin, partitions, "latest"))


def ranges(admin: Admin, partitions: Collection[TopicPartition]) -> dict[TopicPartition, LogRange]:
    """Returns the logs' starts and ends as they are now. Raises AdminError."""
    starts, ends = _all(admin, partitions, "earliest"), _all(admin, partitions, "latest")
    return {partition: LogRange(starts[partition], ends[partition]) for partition in partitions}


def offsets_at(
    admin: Admin, times_ms: Iterable[int], logs: Mapping[TopicPartition, LogRange]
) -> dict[int, dict[TopicPartition, int]]:
    """Returns by time the offset of the first record of that time or later; else the log's end."""
    found: dict[int, dict[TopicPartition, int]] = {}
    for at_ms in times_ms:
        offsets = _all(admin, logs, at_ms)
        found[at_ms] = {p: log.end if offsets[p] < 0 else offsets[p] for p, log in logs.items()}
    return found


def _all(
    admin: Admin, partitions: Collection[TopicPartition], which: Literal["earliest", "latest"] | int
) -> dict[TopicPartition, int]:
    found = admin.offsets(partitions, which)
    for partition in partitions:
        if partition not in found:
            # If it were left out, the target would seem not to have the partition.
            raise AdminUnreachable(
                admin.name, f"{partition.topic}-{partition.partition} does not answer"
            )
    return {TopicPartition(*partition): offset for partition, offset in found.items()}
