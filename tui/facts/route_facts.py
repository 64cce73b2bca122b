"""Facts about one route, as servers told them, and its past."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.notices.condition import Condition

Place = tuple[str, int]
"""Topic and number of a partition."""


@dataclass(frozen=True, slots=True)
class Past:
    """Past of one route, as earlier snapshots saw it. Times are Unix seconds.

    Args:
        lag_at: time of the earlier lag, about a minute ago; None: none is known.
        lags: lag in records at that time, of the partitions whose lag was known.
        still: partitions with lag: the position they have not left, and since when.
        heard: last report of each partition, however old it is.
        lag_history: lag in records of the last hour, one value a minute, the oldest first.
        rate_history: records per second, likewise.
    """

    lag_at: float | None = None
    lags: Mapping[Place, int] = field(default_factory=dict)
    still: Mapping[Place, tuple[int, float]] = field(default_factory=dict)
    heard: Mapping[TopicPartition, PartitionReport] = field(default_factory=dict)
    lag_history: tuple[float | None, ...] = ()
    rate_history: tuple[float | None, ...] = ()


NO_PAST = Past()


@dataclass(frozen=True, slots=True)
class Loads:
    """Loads by the last round of the balancer, which may be why partitions lag.

    Args:
        carriers: load of each carrier as a part of its time.
        hot: advice of the balancer by partition, such as "orders-17".
    """

    carriers: Mapping[int, float] = field(default_factory=dict)
    hot: Mapping[str, str] = field(default_factory=dict)


NO_LOADS = Loads()


@dataclass(frozen=True, slots=True)
class RouteFacts:
    """Facts read about one route; a fact that could not be read is None, with a problem.

    Args:
        source_ends: last stable offsets of the source, where mirroring has to stop; in a single
            look they are read after the entries.
        unreadable: ledger entries that exist and cannot be decoded, with the reason.
        is_target_known: the target listed its topics.
        silence_of_ends, silence_of_entries, silence_of_reports: why these facts are old or missing;
            None: they are fresh. Ends that are older than the entries are old as well.
        topics_lacking: topics with partitions that the ledger was asked about and has nothing of;
            None: it was asked about all.
        conditions: of the target region.
        lag_seconds_max: lag from which a partition is behind.
    """

    route: Route
    entries: Mapping[TopicPartition, Entry] | None
    source_ends: Mapping[TopicPartition, int] | None
    reports: Mapping[TopicPartition, PartitionReport] | None = None
    unreadable: Mapping[TopicPartition, str] = field(default_factory=dict)
    is_target_known: bool = True
    problems: tuple[str, ...] = ()
    silence_of_ends: str | None = None
    silence_of_entries: str | None = None
    silence_of_reports: str | None = None
    topics_lacking: Set[str] | None = None
    conditions: tuple[Condition, ...] = ()
    past: Past = NO_PAST
    loads: Loads = NO_LOADS
    lag_seconds_max: float = float("inf")

    def has_no_entry(self, place: TopicPartition) -> bool:
        """Returns True if the ledger was asked about a partition and has nothing of it."""
        if self.entries is None or place in self.entries or place in self.unreadable:
            return False
        return self.topics_lacking is None or place.topic in self.topics_lacking

    def known_partitions(self) -> dict[str, list[TopicPartition]]:
        """Returns the partitions of each topic that the source or the ledger knows, in order."""
        known = {**(self.source_ends or {}), **(self.entries or {}), **self.unreadable}
        by_topic: defaultdict[str, list[TopicPartition]] = defaultdict(list)
        for place in known:
            by_topic[place.topic].append(place)
        for places in by_topic.values():
            places.sort()
        return by_topic
