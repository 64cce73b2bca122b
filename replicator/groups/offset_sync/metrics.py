"""Prometheus metrics of `sluice offsets`: the ages of its copies, and what works.

An unknown value has no sample: a gap in the graph, never a 0.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from replicator.groups.offset_sync.activity_pass import ActivityPass
from replicator.groups.offset_sync.own_copies import Copy
from replicator.groups.offset_sync.passes import PassLoop
from replicator.groups.offset_sync.sync import OffsetSync
from replicator.runtime.store_errors import StoreUnreachable


class Ages:
    """Times at which the copies in one region's Redis last had everything that their logs held."""

    def __init__(self, copies: Iterable[Copy]) -> None:
        """`copies` are all in the same Redis."""
        self._copies = tuple(copies)
        self._caught_up_ms: dict[str, int] = {}

    def look(self) -> None:
        """Reads the ages from Redis. If that is away, none is known; its copiers log the outage."""
        found: dict[str, int] = {}
        try:
            for copy in self._copies:
                now_ms = time.time_ns() // 1_000_000
                age_ms = copy.store.age(now_ms)
                if age_ms is not None:
                    found[copy.of] = now_ms - age_ms
        except StoreUnreachable:
            found = {}
        self._caught_up_ms = found

    def seconds(self, now_ms: int) -> Iterator[tuple[Copy, float]]:
        """Yields each copy whose age is known, with its age."""
        known = self._caught_up_ms
        for copy in self._copies:
            if copy.of in known:
                yield copy, max(0, now_ms - known[copy.of]) / 1000


class CopiesCollector(Collector):
    """Collector of what is known when Prometheus asks; it sends no requests."""

    def __init__(
        self, copies: Sequence[Copy], ages: Sequence[Ages], passes: Sequence[PassLoop]
    ) -> None:
        self._copies = copies
        self._ages = ages
        self._passes = passes

    def collect(self) -> Iterator[Metric]:
        labels = ("region", "of")
        age = GaugeMetricFamily(
            "sluice_copies_age_seconds",
            "So long ago all that the log held is in this region's Redis.",
            labels=labels,
        )
        now_ms = time.time_ns() // 1_000_000
        for ages in self._ages:
            for copy, seconds in ages.seconds(now_ms):
                age.add_metric((copy.region, copy.of), seconds)
        yield age
        up = GaugeMetricFamily(
            "sluice_copier_up", "1 while it copies, 0 while something is in the way.", labels=labels
        )
        for copy in self._copies:
            up.add_metric((copy.region, copy.of), float(copy.copier.is_copying))
        yield up
        done = GaugeMetricFamily(
            "sluice_pass_timestamp_seconds",
            "When this was last done without trouble.",
            labels=("name",),
        )
        for each in self._passes:
            if each.succeeded_at is not None:
                done.add_metric((each.name,), each.succeeded_at)
        yield done


class OutOfPlaceCollector(Collector):
    """Collector of groups with members outside their primary region."""

    def __init__(self, activity: ActivityPass) -> None:
        self._activity = activity

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "sluice_group_out_of_place",
            "1 where a group has members in a region that it does not live in.",
            labels=("group", "region"),
        )
        for group, it in (self._activity.out_of_place or {}).items():
            for region in it.outside:
                family.add_metric((group, region), 1.0)
        yield family


class SyncCollector(Collector):
    """Collector for groups of other regions whose offsets are kept in step here."""

    def __init__(self, sync: OffsetSync) -> None:
        self._sync = sync

    def collect(self) -> Iterator[Metric]:
        counts = self._sync.counts
        for name, text, value in (
            ("sluice_offset_sync_groups", "Groups that live in another region.", counts.groups),
            (
                "sluice_offset_sync_groups_active",
                "Of these, with members here: they are not written.",
                counts.active,
            ),
            (
                "sluice_offset_sync_positions_unknown",
                "Their positions of which nothing is known.",
                counts.unknown,
            ),
            (
                "sluice_offset_sync_positions_refused",
                "Their positions that stay where they are: Redis contradicts Kafka about them.",
                counts.refused,
            ),
        ):
            yield GaugeMetricFamily(name, text, value=value)
        yield CounterMetricFamily(
            "sluice_offset_sync_positions_written_total", "Positions written.", value=counts.written
        )
