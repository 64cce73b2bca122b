"""Prometheus metrics of a region's feeds, from what their loaders leave in Redis.

An unknown value has no sample: a gap in the graph, never a 0.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from aggregator.loader.counters import COUNTERS
from aggregator.loader.loader_counts import Labels, LoaderTotals
from aggregator.loader.report_store import ReportStore
from aggregator.loader.reports import LoaderReport
from aggregator.upsert.upsert_metrics import UpsertCollector, UpsertReport
from replicator.config.topology import Appliance
from replicator.runtime.growing_sums import GrowingSums
from replicator.runtime.metrics_server import MetricsServer

log = logging.getLogger(__name__)

FEED = ("feed", "cluster")
LABELS = (*FEED, "topic", "partition")


@dataclass(frozen=True, slots=True)
class Gauge:
    """A metric: its name, its meaning, and its value in a report."""

    name: str
    help: str
    value: Callable[[LoaderReport], float | None]


GAUGES = (
    Gauge("sluice_feed_position", "Next offset to read.", lambda r: r.position),
    Gauge("sluice_feed_offset", "Offset below which everything is loaded.", lambda r: r.offset),
    Gauge("sluice_feed_committed_offset", "Offset of the last intent.", lambda r: r.committed),
    Gauge("sluice_feed_lag_records", "Offsets not loaded yet.", lambda r: r.lag_records),
    Gauge(
        "sluice_feed_lag_seconds",
        "Age of records when they are stored, or of those that wait for it.",
        lambda r: r.end_to_end_seconds,
    ),
    Gauge("sluice_feed_buffered_bytes", "Bytes read and not loaded.", lambda r: r.buffered_bytes),
    Gauge("sluice_feed_rows_per_second", "Rows loaded per second.", lambda r: r.rows_per_second),
    Gauge("sluice_feed_dead_letters", "Records set aside so far.", lambda r: r.dead_letters),
    Gauge("sluice_feed_losses_accepted", "Losses that operators accepted.", lambda r: r.losses),
    Gauge("sluice_feed_replaying", "1 while blocks are repeated.", lambda r: r.mode == "replay"),
    Gauge("sluice_feed_parked", "1 where an operator has to decide.", lambda r: bool(r.parked)),
    Gauge("sluice_feed_frozen", "1 while an order stops the reading.", lambda r: r.is_frozen),
    Gauge("sluice_feed_blocks_in_flight", "Blocks not known to be stored.", lambda r: r.in_flight),
    Gauge("sluice_feed_tables_held", "Tables with too many parts.", lambda r: r.held_tables),
    Gauge(
        "sluice_feed_intent_seconds",
        "Age of the oldest block that is not known to be stored.",
        lambda r: r.intent_seconds,
    ),
    Gauge(
        "sluice_feed_window_used",
        "Largest part of a deduplication window that has passed since such a block was sealed.",
        lambda r: r.window_used,
    ),
    Gauge(
        "sluice_feed_open_objects",
        "Encoded partitions with an open object.",
        lambda r: r.open_objects,
    ),
    Gauge(
        "sluice_feed_open_object_seconds",
        "Age of the oldest open object.",
        lambda r: r.open_seconds,
    ),
    Gauge("sluice_feed_report_timestamp_seconds", "When all this was so.", lambda r: r.at_ms / 1e3),
)


class FeedCollector(Collector):
    """Reads the reports each time Prometheus asks for the metrics."""

    def __init__(self, reports: Callable[[], Iterable[LoaderReport]]) -> None:
        self._reports = reports

    def describe(self) -> Iterable[Metric]:
        """Returns nothing, so that registering the collector reads no reports."""
        return ()

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("sluice_feed_reports_up", "1 when reports could be read.")
        try:
            reports = list(self._reports())
        except Exception as error:
            log.warning("event=metrics-blind %s", error)
            up.add_metric((), 0)
            yield up
            return
        up.add_metric((), 1)
        yield up
        yield _partitions(reports)
        for gauge in GAUGES:
            family = GaugeMetricFamily(gauge.name, gauge.help, labels=LABELS)
            for each in reports:
                value = gauge.value(each)
                if value is not None:
                    labels = (each.feed, each.cluster, each.topic, str(each.partition))
                    family.add_metric(labels, float(value))
            yield family


class CountsCollector(Collector):
    """Adds up the totals of loaders each time Prometheus asks for the metrics."""

    def __init__(self, totals: Callable[[], Mapping[str, LoaderTotals]]) -> None:
        self._totals = totals
        self._counting = Counting()
        self._lock = threading.Lock()

    def describe(self) -> Iterable[Metric]:
        """Returns nothing, so that registering the collector reads no totals."""
        return ()

    def look(self) -> None:
        """Adds what loaders have counted since the last look."""
        try:
            found = self._totals()
        except Exception as error:
            # Sums stay as they are. FeedCollector shows that Redis does not answer.
            log.debug("event=metrics-blind %s", error)
            return
        with self._lock:
            self._counting.add(found, time.monotonic())

    def collect(self) -> Iterator[Metric]:
        self.look()
        with self._lock:
            sums = self._counting.sums()
        for counter in COUNTERS:
            labels = (*FEED, *counter.labels)
            family = CounterMetricFamily(counter.name, counter.help, labels=labels)
            for own, value in sorted(sums.get(counter.name, {}).items()):
                family.add_metric(own, value)
            yield family


def _partitions(reports: Iterable[LoaderReport]) -> Metric:
    """Returns the number of partitions of each loader."""
    family = GaugeMetricFamily(
        "sluice_feed_partitions", "Partitions that a loader holds.", labels=(*FEED, "loader")
    )
    held = Counter((each.feed, each.cluster, each.loader) for each in reports if not each.parked)
    for (feed, cluster, loader), count in sorted(held.items()):
        family.add_metric((feed, cluster, str(loader)), count)
    return family


def serve(
    appliance: Appliance, region: str, upsert_reports: Callable[[], list[UpsertReport]] = list
) -> MetricsServer:
    """Serves the metrics if the configuration has a port; returns the server, to be stopped.

    What loaders counted before is left out.

    Args:
        upsert_reports: returns those of the upsert tables that this process keeps.
    """
    port = appliance.aggregator.metrics_port
    counts = CountsCollector(lambda: totals_of(appliance, region))
    if port:
        counts.look()
    registry = CollectorRegistry()
    registry.register(FeedCollector(lambda: reports_of(appliance, region)))
    registry.register(counts)
    registry.register(UpsertCollector(upsert_reports))
    server = MetricsServer(port, appliance.metrics.address, registry)
    server.start()
    return server


def reports_of(appliance: Appliance, region: str) -> list[LoaderReport]:
    """Returns the loaders' reports of all feeds of a region. Raises StoreUnreachable."""
    with ReportStore(appliance.region(region).redis_url()) as store:
        feeds = appliance.feeds_of(region)
        return [report for feed in feeds for report in store.read(feed.name).values()]


def totals_of(appliance: Appliance, region: str) -> dict[str, LoaderTotals]:
    """Returns what loaders of a region's feeds have counted, by their ids.

    Raises StoreUnreachable.
    """
    with ReportStore(appliance.region(region).redis_url()) as store:
        found = [store.totals(feed.name) for feed in appliance.feeds_of(region)]
        return {loader: totals for each in found for loader, totals in each.items()}


class Counting:
    """Sums over all loaders of a region that were ever found."""

    def __init__(self) -> None:
        self._growing: GrowingSums[tuple[str, Labels]] = GrowingSums()
        self._has_begun = False

    def add(self, found: Mapping[str, LoaderTotals], now: float) -> None:
        """Adds the growth of totals, given by the loaders' ids as of the time `now`.

        The first look only notes the totals: those loaders ran before the process counted.
        """
        counts = {loader: _by_key(totals) for loader, totals in found.items()}
        (self._growing.add if self._has_begun else self._growing.note)(counts, now)
        self._has_begun = True

    def sums(self) -> Mapping[str, Mapping[Labels, float]]:
        """Returns the sums by the counter's name, and by the labels feed, cluster and its own."""
        sizes = {counter.name: len(counter.labels) + 2 for counter in COUNTERS}
        found: dict[str, dict[Labels, float]] = defaultdict(dict)
        for (name, labels), value in self._growing.sums.items():
            # A version with other labels may have written totals.
            if sizes.get(name) == len(labels):
                found[name][labels] = value
        return found


def _by_key(totals: LoaderTotals) -> dict[tuple[str, Labels], float]:
    return {
        (name, (totals.feed, totals.cluster, *labels)): value
        for name, values in totals.counts.items()
        for labels, value in values.items()
    }
