"""Prometheus metrics of one region's replication, on a local port when [metrics] asks for it.

What is not known has no sample: a gap in the graph, never a 0.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from replicator.config.settings import MetricsSettings
from replicator.config.topology import Appliance
from replicator.daemon import metrics_server
from replicator.offsets.offset_store import OffsetStore
from replicator.offsets.reports import PartitionReport

logger = logging.getLogger(__name__)

Reports = Callable[[], Iterable[PartitionReport]]
LABELS = ("route", "topic", "partition")


@dataclass(frozen=True, slots=True)
class Gauge:
    """One metric: its name, what it means, and where a report has it."""

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
    Gauge("sluice_lag_seconds", "How far the mirror is behind.", lambda report: report.lag_seconds),
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
    """Asks for the reports each time Prometheus asks for the metrics."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    def describe(self) -> Iterable[Metric]:
        """Empty, so that nothing is asked for when the collector is registered."""
        return ()

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("sluice_reports_up", "1 when the carriers' reports could be read.")
        try:
            reports = list(self._reports())
        except Exception as error:
            # Whatever it was: metrics never fail the daemon, and this one says so.
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


def reports_into(appliance: Appliance, region: str) -> Reports:
    """Asks the region's Redis for what its carriers last said, of every route into it."""
    url = appliance.region(region).redis_url()
    stores = [OffsetStore(url, route.key) for route in appliance.routes_into(region)]
    return lambda: [report for store in stores for report in store.reports().values()]


def serve(settings: MetricsSettings, reports: Reports) -> Callable[[], None]:
    """Serves until the returned function is called; does nothing when port is 0.

    `reports` is called from threads of the server, once for each scrape. Raises PortTaken.
    """
    registry = CollectorRegistry()
    registry.register(ReportCollector(reports))
    return metrics_server.serve(settings.port, settings.address, registry)
