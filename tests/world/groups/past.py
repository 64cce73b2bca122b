"""Past of an aggregate: its commits, runs and log ends as they were at any moment.

A copy of it may be of any moment, and of another one for each partition of an internal topic.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

from balancer.topic_partition import TopicPartition
from replicator.config.names import runs_topic_name
from replicator.config.topology import Route
from replicator.kafka.protocol.commit_record import Committed
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.mirror.offset_map.runs_topic import RunsKey, decode_key
from tests.replicator.batches.source_batches import decoded
from tests.world.checks.log_reading import LogReading
from tests.world.kafka.group_requests import OffsetCommit
from tests.world.kafka.kafka_cluster import GROUPS, KafkaCluster
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Partition

T = TypeVar("T")


@dataclass(slots=True)
class Moments(Generic[T]):
    """Values with the times at which they came."""

    rows: list[tuple[float, T]] = field(default_factory=list)

    def until(self, at: float) -> list[T]:
        """Returns the values up to a time, oldest first."""
        return [value for _, value in self.rows[: self._count(at)]]

    def last(self, at: float) -> T | None:
        count = self._count(at)
        return self.rows[count - 1][1] if count else None

    def _count(self, at: float) -> int:
        return bisect_right(self.rows, at, key=itemgetter(0))


class Made(NamedTuple):
    """Commit that counts: since when, and where it stands in the groups' topic."""

    time: float
    number: int
    log_offset: int
    committed: Committed
    value: OffsetAndMetadata


class _Follows:
    """Observer of one partition that hands on its batches."""

    def __init__(self, partition: Partition, take: Callable[[Partition, Batch], object]) -> None:
        self._reading, self._take = LogReading(partition), take
        partition.observers.append(self)

    def appended(self, partition: Partition, broker: int, batch: Batch) -> None:
        pass

    def advanced(self, partition: Partition) -> None:
        for batch in self._reading.batches():
            self._take(partition, batch)


class Past:
    """Past of one region's aggregate.

    Args:
        routes: into the region.
        topic: that both regions mirror.
        now: returns the time.
    """

    def __init__(
        self,
        cluster: KafkaCluster,
        routes: tuple[Route, ...],
        topic: str,
        now: Callable[[], float],
    ) -> None:
        self._cluster, self._now = cluster, now
        self._commits: dict[tuple[str, TopicPartition], Moments[OffsetAndMetadata]] = {}
        self._group_numbers: dict[str, int] = {}
        self._pending: dict[tuple[int, int], list[tuple[int, OffsetCommit]]] = {}
        self.made: list[Made] = []
        """All commits that count, by the time at which they did."""
        self.on_made: list[Callable[[Made], None]] = []
        self.runs: dict[Route, dict[RunsKey, Moments[bytes]]] = {route: {} for route in routes}
        self._ends: dict[TopicPartition, Moments[int]] = {}
        self._kept: list[Any] = []
        for partition in cluster.topics[topic].partitions:
            self._kept.append(_Follows(partition, self._growing))
        for partition in cluster.topics[GROUPS].partitions:
            self._kept.append(_Follows(partition, self._committing))
        for route in routes:
            for partition in cluster.topics[runs_topic_name(route.key)].partitions:
                take = self._publishing(route)
                self._kept.append(_Follows(partition, take))

    # -- what happened

    def _committing(self, partition: Partition, batch: Batch) -> None:
        writer = partition.number, batch.producer_id
        if batch.is_marker:
            for at, commit in self._pending.pop(writer, []):
                if batch.is_commit:
                    self._show(partition.number, at, commit)
        elif batch.is_transactional:
            self._pending.setdefault(writer, []).append((batch.base_offset, batch.value))
        elif isinstance(batch.value, OffsetCommit):
            self._show(partition.number, batch.base_offset, batch.value)

    def _show(self, number: int, at: int, commit: OffsetCommit) -> None:
        self._group_numbers[commit.group] = number
        for place, row in commit.rows:
            committed = Committed(commit.group, *place)
            made = Made(self._now(), number, at, committed, OffsetAndMetadata(*row))
            self.made.append(made)
            for act in self.on_made:
                act(made)
        for place, row in commit.rows:
            moments = self._commits.setdefault((commit.group, TopicPartition(*place)), Moments())
            moments.rows.append((self._now(), OffsetAndMetadata(*row)))

    def _publishing(self, route: Route) -> Callable[[Partition, Batch], None]:
        def take(_: Partition, batch: Batch) -> None:
            for record in decoded(batch.data):
                moments = self.runs[route].setdefault(decode_key(record.key), Moments())
                moments.rows.append((self._now(), record.value or b""))

        return take

    def _growing(self, partition: Partition, batch: Batch) -> None:
        place = TopicPartition(partition.topic, partition.number)
        self._ends.setdefault(place, Moments()).rows.append((self._now(), batch.end))

    # -- what it was

    def end(self, place: TopicPartition, at: float) -> int:
        """Returns the end of a partition's log."""
        moments = self._ends.get(place)
        return (moments and moments.last(at)) or 0

    def commits(
        self, at: Mapping[int, float]
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        """Returns all groups' commits at a moment of each partition of the groups' topic."""
        found: dict[str, dict[TopicPartition, OffsetAndMetadata]] = {}
        for (group, place), moments in self._commits.items():
            last = moments.last(at[self._group_numbers[group]])
            if last is not None:
                found.setdefault(group, {})[place] = last
        return found

    def pieces(self, key: RunsKey, route: Route, at: float) -> list[bytes]:
        """Returns the packed pieces of a partition's runs up to a moment."""
        moments = self.runs[route].get(key)
        return moments.until(at) if moments else []
