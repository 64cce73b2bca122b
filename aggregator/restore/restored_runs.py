"""Restored runs: where the records of a source topic are in a restored one, and where a consumer
group of the source topic goes on there.

They are produced to RESTORED_TOPIC in the transaction that has the records, as the runs of a mirror
are to its runs topic.
"""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Message

from aggregator.loader.produced import Produced
from aggregator.restore.restore_entry import RestoreEntry
from balancer.topic_partition import TopicPartition
from replicator.config.names import PLAN_TOPIC, RESTORED_TOPIC
from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.topic_changes import Create
from replicator.kafka.tail.topic_tailer import TopicTailer
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.packed_map import BrokenPiece, Piece, UnknownVersion
from replicator.mirror.offset_map.run_segment import RunSegment
from replicator.mirror.offset_map.runs_topic import CONFIGS, PARTITIONS, RunsKey, decode, encode

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GroupPosition:
    """Position of a group of the source topic in the restored one.

    Args:
        source_offset: committed by the group.
        target_offset: of the first record that it has not read; None: not restored yet.
    """

    partition: int
    source_offset: int
    target_offset: int | None


def position_of(
    partition: int, source_offset: int, entry: RestoreEntry, runs: OffsetMap
) -> GroupPosition:
    """Returns where a group goes on."""
    if source_offset > entry.position and not entry.is_done:
        return GroupPosition(partition, source_offset, None)
    found = runs.target_floor(min(source_offset, entry.position))
    return GroupPosition(partition, source_offset, found.offset if found else entry.target_offset)


def own_topics(replication_factor: int) -> list[Create]:
    """Returns the topics that a restore needs in the target's cluster: the one of the runs, and the
    one under which fenced committers try what their coordinators can write."""
    return [
        Create(RESTORED_TOPIC, PARTITIONS, tuple(CONFIGS.items()), replication_factor),
        Create(PLAN_TOPIC, 1, (), replication_factor),
    ]


def runs_record(job: str, topic_id: str, place: TopicPartition, segment: RunSegment) -> Produced:
    """Returns the record of the runs of one transaction and partition."""
    key, value = encode(RunsKey(place.topic, place.partition, job, topic_id), segment)
    partition = zlib.crc32(f"{place.topic}/{place.partition}".encode()) % PARTITIONS
    return Produced(RESTORED_TOPIC, partition, time.time_ns() // 1_000_000, key, value)


class RunsTailer(TopicTailer[tuple[RunsKey, Piece]]):
    """Tailer of the runs of all restored topics. Logs unreadable records, and leaves them out."""

    def __init__(self, name: str, cluster: KafkaCluster) -> None:
        """`name` is the cluster's name for people, such as "west aggregate"."""
        super().__init__(name, cluster, RESTORED_TOPIC, RESTORED_TOPIC, self._decoded)

    def _decoded(self, message: Message) -> tuple[RunsKey, Piece] | None:
        key, value = message.key(), message.value()
        try:
            if isinstance(key, bytes) and isinstance(value, bytes):
                return decode(key, value)
        except (BrokenPiece, UnknownVersion) as error:
            log.warning("event=runs-unreadable %s: %s; the record is left out", self.name, error)
        return None


def restored_runs(
    name: str, cluster: KafkaCluster, topic_id: str, timeout_seconds: float
) -> Mapping[int, OffsetMap]:
    """Returns the runs of a restored topic, by partition. Blocking.

    Raises:
        AdminError, LogUnreadable: the cluster gives no answer.
    """
    pieces: dict[int, list[Piece]] = {}
    for key, piece in RunsTailer(name, cluster).read(timeout_seconds):
        if key.target_topic_id == topic_id:
            pieces.setdefault(key.partition, []).append(piece)
    maps: dict[int, OffsetMap] = {}
    for partition, some in pieces.items():
        maps[partition] = OffsetMap()
        maps[partition].join(some)
    return maps
