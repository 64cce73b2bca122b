"""Prometheus metrics of a balancer: the results of its last rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from balancer.decision.alerts import AlertName
from replicator.orders.round_status import RoundStatus

Statuses = Callable[[], Iterable[RoundStatus]]
STREAM = ("route", "stream")


class BalanceCollector(Collector):
    """Reads the statuses at each scrape."""

    def __init__(self, statuses: Statuses) -> None:
        self._statuses = statuses

    def describe(self) -> Iterable[Metric]:
        """Returns nothing, so that registering the collector reads no statuses."""
        return ()

    def collect(self) -> Iterator[Metric]:
        statuses = list(self._statuses())
        yield from self._of_streams(statuses)
        loads = GaugeMetricFamily(
            "sluice_balance_carrier_load",
            "Predicted load of a carrier, of its time.",
            labels=(*STREAM, "carrier"),
        )
        alerts = GaugeMetricFamily(
            "sluice_balance_alerts",
            "How many things of this name are the matter.",
            labels=(*STREAM, "alert"),
        )
        for status in statuses:
            labels = status.route, status.stream
            for carrier, load in status.loads.items():
                loads.add_metric((*labels, str(carrier)), load)
            for name in AlertName:
                count = sum(alert.name == name.value for alert in status.alerts)
                alerts.add_metric((*labels, name.name.lower()), count)
        yield loads
        yield alerts

    def _of_streams(self, statuses: Iterable[RoundStatus]) -> Iterator[Metric]:
        gauges: tuple[tuple[str, str, Callable[[RoundStatus], float | None]], ...] = (
            ("partitions", "Partitions to be carried.", lambda it: it.partitions),
            ("generation", "Of the placement that holds.", lambda it: it.generation),
            ("carriers", "Carriers of the placement.", lambda it: len(it.loads)),
            ("carriers_needed", "Carriers that the loads ask for.", lambda it: it.needed),
            (
                "bound",
                "The heaviest carrier has this at least, with hot partitions alone.",
                lambda it: it.bound,
            ),
            ("moves", "Moves of the last placement.", lambda it: it.moves_count),
            ("measured_part", "Partitions whose traffic is known.", lambda it: it.measured_part),
            ("round_timestamp_seconds", "When the last round was.", lambda it: it.at_ms / 1000),
        )
        for name, text, value in gauges:
            family = GaugeMetricFamily(f"sluice_balance_{name}", text, labels=STREAM)
            for status in statuses:
                found = value(status)
                if found is not None:
                    family.add_metric((status.route, status.stream), found)
            yield family
