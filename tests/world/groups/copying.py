"""Copiers of a world: the product's, each in a process, from an aggregate into the other's Redis.

In place of librdkafka's consumer, a tailer reads the committed log of the leader. What it makes of
the log, and what the copier and the Redis do with that, is the product's code.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

from replicator.config.names import PRIMARY_REGIONS_TOPIC, runs_topic_name
from replicator.config.topology import Route
from replicator.groups.copies.commit_store import CommitStore
from replicator.groups.copies.copier import Copier, Store
from replicator.groups.copies.runs_copies import RunsCopies
from replicator.groups.copies.runs_tailer import RunsRecord
from replicator.groups.membership.primary_store import PrimaryCopies
from replicator.kafka.protocol.commit_record import Commit, Committed
from replicator.kafka.tail.consumer_offsets import CommitRecord
from replicator.kafka.tail.tail_position import (
    Portion,
    Reading,
    TailPosition,
    VersionedRecord,
    beginnings,
)
from replicator.mirror.offset_map.runs_topic import decode_key
from tests.replicator.batches.source_batches import decoded
from tests.world.blocking import in_thread, pause
from tests.world.groups.primary_log import decisions
from tests.world.kafka.group_requests import OffsetCommit
from tests.world.kafka.kafka_cluster import GROUPS, KafkaCluster
from tests.world.kafka.partition import NOBODY, Partition
from tests.world.kafka.replica_log import Batch, ReplicaLog
from tests.world.process import Process

Record = TypeVar("Record")


class WorldTailer(Generic[Record]):
    """Tailer of one topic.

    Args:
        records: returns the records of a batch.
    """

    def __init__(
        self,
        cluster: KafkaCluster,
        topic: str,
        records: Callable[[Batch], list[Record]],
        dice: random.Random,
        poll_seconds: tuple[float, float] = (0.05, 0.6),
    ) -> None:
        self.name = f"{cluster.name}: {topic}"
        self._cluster, self._topic, self._records = cluster, topic, records
        self._dice, self._poll_seconds = dice, poll_seconds

    def follow(
        self, positions: Mapping[int, TailPosition]
    ) -> Generator[dict[int, Portion[Record]], None, None]:
        topic = self._cluster.topics[self._topic]
        begun = beginnings(positions, topic.id.hex, range(len(topic.partitions)))
        yield {number: Portion(it, it) for number, it in begun.items()}
        readings: dict[int, Reading[list[Record]]] = {n: Reading(it) for n, it in begun.items()}
        while not any(it.is_cut for it in readings.values()):
            pause(self._dice.uniform(*self._poll_seconds))
            for number, reading in readings.items():
                log = self._log(topic.partitions[number])
                if log is not None and self._dice.random() < 0.8:
                    self._read(reading, log)
            taken = {number: it.take() for number, it in readings.items()}
            yield {number: _spread(it) for number, it in taken.items() if it is not None}

    def _log(self, partition: Partition) -> ReplicaLog | None:
        leader = partition.decided.leader
        if leader == NOBODY or not self._cluster.is_connected(leader):
            return None
        return partition.logs[leader]

    def _read(self, reading: Reading[list[Record]], log: ReplicaLog) -> None:
        reading.expect(log.high_watermark, int(time.time() * 1000))
        for batch in _committed(log, reading.position.offset):
            reading.read(batch.base_offset, -1, self._records(batch) or None)
        reading.reach(log.stable_offset)


def _committed(log: ReplicaLog, begin: int) -> Iterator[Batch]:
    """Yields the batches that a consumer sees with read_committed."""
    for batch in log.from_offset(begin, log.stable_offset):
        is_aborted = batch.is_transactional and any(
            it.producer_id == batch.producer_id
            and it.first_offset <= batch.base_offset <= it.marker
            for it in log.aborted
        )
        if batch.end <= log.stable_offset and not batch.is_marker and not is_aborted:
            yield batch


def _spread(portion: Portion[list[Record]]) -> Portion[Record]:
    """Returns a portion whose records have the versions of their batches."""
    told = tuple(
        VersionedRecord(version, record) for version, some in portion.told for record in some
    )
    return replace(portion, told=told)  # type: ignore[arg-type,return-value]


def commit_records(batch: Batch) -> list[CommitRecord]:
    """Returns the commits of a batch of the groups' topic."""
    if not isinstance(batch.value, OffsetCommit):
        return []
    group, rows = batch.value.group, batch.value.rows
    return [CommitRecord(Committed(group, *place), Commit(*row, 0)) for place, row in rows]


def runs_records(batch: Batch) -> list[RunsRecord]:
    return [RunsRecord(decode_key(it.key), it.value or b"") for it in decoded(batch.data)]


class _Pausing(threading.Event):
    """Event that nobody sets, waited for in virtual time."""

    def wait(self, timeout: float | None = None) -> bool:
        pause(timeout or 0.0)
        return False


def copy_commits(cluster: KafkaCluster, region: str, url: str, dice: random.Random) -> Process:
    """Starts a copier of a region's commits into a Redis."""
    tailer = WorldTailer(cluster, GROUPS, commit_records, dice)
    return _started(tailer, lambda: CommitStore(url, region))


def copy_runs(cluster: KafkaCluster, route: Route, url: str, dice: random.Random) -> Process:
    """Starts a copier of a route's runs into a Redis."""
    tailer = WorldTailer(cluster, runs_topic_name(route.key), runs_records, dice)
    return _started(tailer, lambda: RunsCopies(url, route.key))


def copy_decisions(cluster: KafkaCluster, region: str, url: str, dice: random.Random) -> Process:
    """Starts a copier of a region's decisions into a Redis, its own included."""
    tailer = WorldTailer(cluster, PRIMARY_REGIONS_TOPIC, decisions, dice, (0.3, 2.0))
    return _started(tailer, lambda: PrimaryCopies(url, region))


def _started(tailer: WorldTailer[Any], make_store: Callable[[], Store[Any]]) -> Process:
    def run() -> None:
        Copier(tailer, make_store(), _Pausing()).run()

    return Process(f"copier of {tailer.name}").start(in_thread(run))
