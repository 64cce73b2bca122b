"""Prometheus metrics of a balancer: the results of its last rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from balancer.decision.balance_alerts import AlertName
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
            "Predicted load of a carrier, as a part of its time.",
            labels=(*STREAM, "carrier"),
        )
        alerts = GaugeMetricFamily(
            "sluice_balance_alerts",
            "Number of alerts of this name.",
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
            ("generation", "Generation of the active placement.", lambda it: it.generation),
            ("carriers", "Carriers of the active placement.", lambda it: len(it.loads)),
            ("carriers_needed", "Number of carriers that the loads need.", lambda it: it.needed),
            (
                "bound",
                "Lower bound of the heaviest load among carriers without a hot partition.",
                lambda it: it.bound,
            ),
            ("moves", "Moves of the active placement.", lambda it: it.moves_count),
            (
                "measured_part",
                "Part of the partitions whose own traffic was measured lately.",
                lambda it: it.measured_part,
            ),
            (
                "round_timestamp_seconds",
                "Time of the last round, Unix time in seconds.",
                lambda it: it.at_ms / 1000,
            ),
        )
        for name, text, value in gauges:
            family = GaugeMetricFamily(f"sluice_balance_{name}", text, labels=STREAM)
            for status in statuses:
                found = value(status)
                if found is not None:
                    family.add_metric((status.route, status.stream), found)
            yield family
