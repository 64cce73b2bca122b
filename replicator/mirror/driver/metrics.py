"""Prometheus metrics of one region's replication, on a local port when [metrics] asks for it.

An unknown value has no sample: a gap in the graph, never a 0.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from replicator.config.settings import MetricsSettings
from replicator.config.topology import Appliance
from replicator.mirror.offset_map.carrier_reports import CarrierReports
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.mirror.offset_map.totals import LATENCY_BOUNDS, NO_LATENCIES, CarrierTotals
from replicator.notices.notice_store import NoticeStore
from replicator.runtime.growing_sums import GrowingSums
from replicator.runtime.metrics_server import MetricsServer

logger = logging.getLogger(__name__)

SCRAPE_SECONDS = 2.0
"""Timeout of each collector's Redis: all of them stay below Prometheus's ten seconds."""
Reports = Callable[[], Iterable[PartitionReport]]
Totals = Callable[[], Mapping[str, Mapping[str, CarrierTotals]]]
"""Returns totals by route name and carrier id."""
LABELS = ("route", "topic", "partition")


@dataclass(frozen=True, slots=True)
class Gauge:
    """A metric: its name, its meaning, and its value in a report."""

    name: str
    help: str
    value: Callable[[PartitionReport], float | None]


GAUGES = (
    Gauge(
        "sluice_source_end_offset",
        "End of what can be mirrored of the source partition.",
        lambda report: report.source_end,
    ),
    Gauge(
        "sluice_mirrored_offset",
        "Next source offset: all before it is in the target.",
        lambda report: report.mirrored_to,
    ),
    Gauge(
        "sluice_lag_records", "Source offsets not mirrored yet.", lambda report: report.lag_records
    ),
    Gauge(
        "sluice_lag_seconds",
        "How long the oldest record that is not mirrored could have been read.",
        lambda report: report.lag_seconds,
    ),
    Gauge(
        "sluice_source_high_watermark",
        "High watermark of the source partition: open transactions are below it.",
        lambda report: report.source_high,
    ),
    Gauge(
        "sluice_written_lag_records",
        "Source offsets not mirrored yet, those of open transactions included.",
        lambda report: report.written_lag_records,
    ),
    Gauge(
        "sluice_written_lag_seconds",
        "Age of the oldest record that is not mirrored, committed or not.",
        lambda report: report.written_lag_seconds,
    ),
    Gauge(
        "sluice_open_transaction_seconds",
        "How long records have waited for a transaction of the source to end.",
        lambda report: report.open_transaction_seconds,
    ),
    Gauge(
        "sluice_records_per_second",
        "Records mirrored per second.",
        lambda report: report.records_per_second,
    ),
    Gauge(
        "sluice_bytes_per_second",
        "Bytes of record batches mirrored per second.",
        lambda report: report.bytes_per_second,
    ),
    Gauge(
        "sluice_parked",
        "1 where the partition is stopped until an operator's word.",
        lambda report: float(bool(report.parked)),
    ),
    Gauge("sluice_carrier", "Number of the carrier.", lambda report: report.carrier),
    Gauge(
        "sluice_report_timestamp_seconds",
        "When the carrier said all this; alert when it stands still.",
        lambda report: report.at,
    ),
)


class ReportCollector(Collector):
    """Reads the reports each time Prometheus asks for the metrics."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    def describe(self) -> Iterable[Metric]:
        """Returns nothing, so that registering the collector reads no reports."""
        return ()

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("sluice_reports_up", "1 when the carriers' reports could be read.")
        try:
            reports = list(self._reports())
        except Exception as error:
            # Any error: metrics never fail the daemon, and sluice_reports_up shows it.
            logger.warning("event=metrics-blind %s", error)
            up.add_metric((), 0)
            yield up
            return
        up.add_metric((), 1)
        yield up
        for gauge in GAUGES:
            family = GaugeMetricFamily(gauge.name, gauge.help, labels=LABELS)
            for report in reports:
                value = gauge.value(report)
                if value is not None:
                    family.add_metric((report.route, report.topic, str(report.partition)), value)
            yield family


class ConditionCollector(Collector):
    """Counts the conditions of a region each time Prometheus asks for the metrics.

    Args:
        notices: of the region.
    """

    def __init__(self, notices: NoticeStore) -> None:
        self._notices = notices

    def describe(self) -> Iterable[Metric]:
        """Returns nothing, so that registering the collector reads no conditions."""
        return ()

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "sluice_conditions",
            "Reasons why something is not carried, as `sluice status` lists them.",
            labels=("route", "kind"),
        )
        try:
            counts = Counter((each.route, each.kind) for each in self._notices.conditions())
        except Exception as error:
            # Nothing, not 0: sluice_reports_up shows that Redis does not answer.
            logger.debug("event=metrics-blind %s", error)
            return
        for labels, count in sorted(counts.items()):
            family.add_metric(labels, count)
        yield family


class TotalsCollector(Collector):
    """Adds up the totals of carriers each time Prometheus asks for the metrics."""

    def __init__(self, totals: Totals) -> None:
        self._totals = totals
        self._counting: dict[str, Counting] = defaultdict(Counting)
        self._has_begun = False
        self._lock = threading.Lock()

    def describe(self) -> Iterable[Metric]:
        """Returns nothing, so that registering the collector reads no totals."""
        return ()

    def begin(self) -> None:
        """Counts from here on: Redis keeps the totals of carriers that ended for some minutes."""
        found = self._found()
        if found is not None:
            with self._lock:
                self._add(found)

    def collect(self) -> Iterator[Metric]:
        found = self._found()
        with self._lock:
            self._add(found or {})
            yield from self._families()

    def _found(self) -> Mapping[str, Mapping[str, CarrierTotals]] | None:
        try:
            return self._totals()
        except Exception as error:
            # Sums stay as they are; ReportCollector shows that Redis does not answer.
            logger.debug("event=metrics-blind %s", error)
            return None

    def _add(self, found: Mapping[str, Mapping[str, CarrierTotals]]) -> None:
        for route, totals in found.items():
            counting = self._counting[route]
            (counting.add if self._has_begun else counting.begin)(totals, time.monotonic())
        self._has_begun |= bool(found)

    def _families(self) -> list[Metric]:
        records = CounterMetricFamily("sluice_records", "Records mirrored.", labels=LABELS)
        size = CounterMetricFamily(
            "sluice_bytes", "Bytes of record batches mirrored.", labels=LABELS
        )
        restarts = CounterMetricFamily(
            "sluice_restarts", "How often carriers began anew from the ledger.", labels=("route",)
        )
        losses = CounterMetricFamily(
            "sluice_losses", "How often carriers parked a partition.", labels=("route",)
        )
        latency = HistogramMetricFamily(
            "sluice_latency_seconds",
            "Records by time from readable at the source to acknowledged by the target.",
            labels=("route",),
        )
        for route, counting in sorted(self._counting.items()):
            counts = counting.counts
            for family, values in ((records, counts.records), (size, counts.bytes)):
                for (topic, partition), value in sorted(values.items()):
                    family.add_metric((route, topic, str(partition)), value)
            restarts.add_metric((route,), counts.restarts)
            losses.add_metric((route,), counts.losses)
            bounds = [*map(str, LATENCY_BOUNDS), "+Inf"]
            buckets = list(zip(bounds, accumulate(counts.latencies), strict=True))
            latency.add_metric((route,), buckets, counts.latency_seconds)
        return [records, size, restarts, losses, latency]


def totals_into(appliance: Appliance, region: str) -> Totals:
    """Returns a function that reads the totals of all routes into a region from Redis."""
    store, routes = _reports_of(appliance, region), appliance.routes_into(region)
    names, keys = [route.name for route in routes], [route.key for route in routes]
    return lambda: dict(zip(names, store.totals(keys), strict=True))


def reports_into(appliance: Appliance, region: str) -> Reports:
    """Returns a function that reads the last reports of all routes into a region from Redis."""
    store = _reports_of(appliance, region)
    keys = [route.key for route in appliance.routes_into(region)]
    return lambda: [report for found in store.reports(keys) for report in found.values()]


def _reports_of(appliance: Appliance, region: str) -> CarrierReports:
    return CarrierReports(appliance.region(region).redis_url(), timeout_seconds=SCRAPE_SECONDS)


def serve(settings: MetricsSettings, reports: Reports, *others: Collector) -> MetricsServer:
    """Serves metrics until the returned server is stopped; does nothing when the port is 0.

    Args:
        reports: called from threads of the server, once for each scrape.
        others: further collectors.
    """
    registry = CollectorRegistry()
    registry.register(ReportCollector(reports))
    for collector in others:
        registry.register(collector)
    server = MetricsServer(settings.port, settings.address, registry)
    server.start()
    return server


class _Count(NamedTuple):
    """A count of carriers; of records and bytes by partition, of latencies by bucket."""

    name: str
    topic: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class RouteCounts:
    """Sums of a route since this process began to count."""

    restarts: float
    losses: float
    latencies: list[float]
    latency_seconds: float
    records: Mapping[tuple[str, int], float]
    bytes: Mapping[tuple[str, int], float]


class Counting:
    """Sums over all carriers of one route that were ever found."""

    def __init__(self) -> None:
        self._growing: GrowingSums[_Count] = GrowingSums()

    def begin(self, found: Mapping[str, CarrierTotals], now: float) -> None:
        """Notes totals of carriers that ran before the daemon: only their growth counts later."""
        self._growing.note({carrier: _by_count(totals) for carrier, totals in found.items()}, now)

    def add(self, found: Mapping[str, CarrierTotals], now: float) -> None:
        """Adds the growth of totals, which are given by carrier id as of the time `now`."""
        self._growing.add({carrier: _by_count(totals) for carrier, totals in found.items()}, now)

    @property
    def counts(self) -> RouteCounts:
        """The sums of now."""
        buckets = range(len(NO_LATENCIES))
        return RouteCounts(
            restarts=self._sum(_Count("restarts")),
            losses=self._sum(_Count("losses")),
            latencies=[self._sum(_Count("latency", number=bucket)) for bucket in buckets],
            latency_seconds=self._sum(_Count("latency_seconds")),
            records=self._by_partition("records"),
            bytes=self._by_partition("bytes"),
        )

    def _sum(self, count: _Count) -> float:
        return self._growing.sums.get(count, 0)

    def _by_partition(self, name: str) -> dict[tuple[str, int], float]:
        sums = self._growing.sums
        return {(each.topic, each.number): sums[each] for each in sums if each.name == name}


def _by_count(totals: CarrierTotals) -> dict[_Count, float]:
    counts: dict[_Count, float] = {
        _Count("restarts"): totals.restarts,
        _Count("losses"): totals.losses,
        _Count("latency_seconds"): totals.latency_seconds,
    }
    for bucket, records in enumerate(totals.latencies):
        counts[_Count("latency", number=bucket)] = records
    for topic, partition, records, size in totals.carried:
        counts[_Count("records", topic, partition)] = records
        counts[_Count("bytes", topic, partition)] = size
    return counts
