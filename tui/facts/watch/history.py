"""History of routes in memory: an hour of lag and throughput, and the last minute by partition.

All times are Unix seconds, and are passed in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from balancer.topic_partition import TopicPartition
from replicator.mirror.offset_map.reports import PartitionReport
from tui.facts.route_facts import Past, Place
from tui.facts.route_view import RouteView

MINUTES = 60
SAMPLE_SECONDS = 10.0
"""Time between two samples of the lag of all partitions."""
EARLIER_SECONDS = 60.0
"""Age of the sample that a lag is compared with; a younger one counts while there is none."""
EARLIER_SECONDS_MIN = 9.0
HEARD_SECONDS = 600.0
"""Time for which the last report of a partition is remembered."""


class RouteHistory:
    """History of one route."""

    def __init__(self) -> None:
        self._lag: dict[int, float | None] = {}
        self._rate: dict[int, float | None] = {}
        self._samples: deque[tuple[float, dict[Place, int]]] = deque()
        self._still: dict[Place, tuple[int, float]] = {}
        self._heard: dict[TopicPartition, PartitionReport] = {}
        self._pruned_at = self._added_at = 0.0

    def add(self, view: RouteView, now: float) -> None:
        """Adds a view of the route."""
        if not 0 <= now - self._added_at <= 2 * EARLIER_SECONDS:
            self._begin_again(now)
        self._added_at = now
        minute = int(now // 60)
        self._lag[minute] = view.lag_records
        if view.records_per_second is not None:
            self._rate[minute] = view.records_per_second
        for kept in (self._lag, self._rate):
            for old in [each for each in kept if each <= minute - MINUTES]:
                del kept[old]
        if view.topics is not None:
            self._add_partitions(view, now)

    def add_rates(self, rates: Mapping[int, float]) -> None:
        """Adds records per second by minute since 1970, for minutes of which nothing is known."""
        for minute, rate in rates.items():
            if self._rate.get(minute) is None:
                self._rate[minute] = rate

    def hear(self, reports: Mapping[TopicPartition, PartitionReport], now: float) -> None:
        """Remembers the last report of each partition."""
        self._heard.update(reports)
        if abs(now - self._pruned_at) > HEARD_SECONDS / 10:
            self._pruned_at = now
            fresh = {
                place: each for place, each in self._heard.items() if now - each.at < HEARD_SECONDS
            }
            self._heard = fresh

    def past(self, now: float) -> Past:
        """Returns what is known about the time before."""
        at, lags = self._earlier(now)
        minute = int(now // 60)
        hour = range(minute - MINUTES + 1, minute + 1)
        return Past(
            lag_at=at,
            lags=lags,
            still=self._still,
            heard=self._heard,
            lag_history=tuple(self._lag.get(each) for each in hour),
            rate_history=tuple(self._rate.get(each) for each in hour),
        )

    def _begin_again(self, now: float) -> None:
        """Forgets the last minute: nothing was seen for long, or the clock was set."""
        self._samples.clear()
        self._still = {}
        for kept in (self._lag, self._rate):
            for later in [each for each in kept if each > int(now // 60)]:
                del kept[later]

    def _add_partitions(self, view: RouteView, now: float) -> None:
        still, before = {}, self._still
        is_sampled = not self._samples or now - self._samples[-1][0] >= SAMPLE_SECONDS
        sample: dict[Place, int] = {}
        for topic in view.topics or ():
            for each in topic.partitions:
                lag, position = each.lag_records, each.mirrored_to
                if lag is None:
                    continue
                place = (each.topic, each.partition)
                if is_sampled:
                    sample[place] = lag
                if lag and position is not None:
                    known = before.get(place)
                    still[place] = (
                        known if known is not None and known[0] == position else (position, now)
                    )
        # Replaced, not changed: a snapshot that is being made may read the one before.
        self._still = still
        if is_sampled:
            self._samples.append((now, sample))
        while len(self._samples) > 1 and now - self._samples[1][0] >= EARLIER_SECONDS:
            self._samples.popleft()

    def _earlier(self, now: float) -> tuple[float | None, Mapping[Place, int]]:
        """Returns the sample of about a minute ago, or the oldest one there is."""
        for at, sample in self._samples:
            if now - at < EARLIER_SECONDS_MIN:
                break
            if now - at <= 2 * EARLIER_SECONDS:
                return at, sample
        return None, {}


class History:
    """History of all routes, by name."""

    def __init__(self) -> None:
        self._routes: dict[str, RouteHistory] = {}

    def of(self, route: str) -> RouteHistory:
        """Returns the history of a route."""
        return self._routes.setdefault(route, RouteHistory())
