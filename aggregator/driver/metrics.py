"""Prometheus metrics of a region's feeds, from the reports of their loaders in Redis.

An unknown value has no sample: a gap in the graph, never a 0.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from aggregator.loader.report_store import ReportStore
from aggregator.loader.reports import LoaderReport
from replicator.config.topology import Appliance
from replicator.runtime import metrics_server

log = logging.getLogger(__name__)

LABELS = ("feed", "cluster", "topic", "partition")


@dataclass(frozen=True, slots=True)
class Gauge:
    """A metric: its name, its meaning, and its value in a report."""

    name: str
    help: str
    value: Callable[[LoaderReport], float | None]


GAUGES = (
    Gauge("sluice_feed_position", "Next offset to read.", lambda r: r.position),
    Gauge("sluice_feed_offset", "Offset below which everything is loaded.", lambda r: r.offset),
    Gauge("sluice_feed_buffered_bytes", "Bytes read and not loaded.", lambda r: r.buffered_bytes),
    Gauge("sluice_feed_rows_per_second", "Rows loaded per second.", lambda r: r.rows_per_second),
    Gauge("sluice_feed_dead_letters", "Records set aside so far.", lambda r: r.dead_letters),
    Gauge("sluice_feed_replaying", "1 while blocks are repeated.", lambda r: r.mode == "replay"),
    Gauge("sluice_feed_parked", "1 where an operator has to decide.", lambda r: bool(r.parked)),
    Gauge(
        "sluice_feed_intent_seconds",
        "Age of the oldest block that is not known to be stored.",
        lambda r: (
            max(
                (r.at_ms - t.since_ms for t in r.tables.values() if t.state == "loading"), default=0
            )
            / 1000
        ),
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
        for gauge in GAUGES:
            family = GaugeMetricFamily(gauge.name, gauge.help, labels=LABELS)
            for each in reports:
                value = gauge.value(each)
                if value is not None:
                    labels = (each.feed, each.cluster, each.topic, str(each.partition))
                    family.add_metric(labels, float(value))
            yield family


def serve(appliance: Appliance, region: str) -> Callable[[], None]:
    """Serves the metrics if the configuration has a port; returns a function that ends it."""
    registry = CollectorRegistry()
    registry.register(FeedCollector(lambda: reports_of(appliance, region)))
    port = appliance.aggregator.metrics_port
    return metrics_server.serve(port, appliance.metrics.address, registry)


def reports_of(appliance: Appliance, region: str) -> list[LoaderReport]:
    """Returns the loaders' reports of all feeds of a region. Raises StoreUnreachable."""
    with ReportStore(appliance.region(region).redis_url()) as store:
        feeds = appliance.feeds_of(region)
        return [report for feed in feeds for report in store.read(feed.name).values()]
