"""Prometheus metrics of `sluice verify`. An unknown value has no sample, never a 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from aggregator.verifier.commit_reader import CommitReader
from aggregator.verifier.finding import Weight
from aggregator.verifier.finding_log import FindingLog


class VerifierCollector(Collector):
    """Collector of what is known when Prometheus asks; it sends no requests."""

    def __init__(self, readers: Sequence[CommitReader], finding_log: FindingLog) -> None:
        self._readers = readers
        self._finding_log = finding_log

    def collect(self) -> Iterator[Metric]:
        found = CounterMetricFamily(
            "sluice_verify_findings_total",
            "Findings by kind; weight: anomaly, accepted by an operator, or unknown.",
            labels=("cluster", "kind", "weight"),
        )
        anomalies = CounterMetricFamily(
            "sluice_verify_anomalies_total",
            "Findings that are anomalies: records may be lost, or stored twice.",
            labels=("cluster",),
        )
        judged = CounterMetricFamily(
            "sluice_verify_entries_total", "Entries judged.", labels=("cluster", "of")
        )
        partitions = GaugeMetricFamily(
            "sluice_verify_partitions", "Partitions with an entry.", labels=("cluster", "of")
        )
        stale = GaugeMetricFamily(
            "sluice_verify_partitions_stale",
            "Partitions whose holder does not renew the entry.",
            labels=("cluster",),
        )
        time = GaugeMetricFamily(
            "sluice_verify_judged_timestamp_seconds",
            "Everything that was committed up to then is judged.",
            labels=("cluster",),
        )
        up = GaugeMetricFamily(
            "sluice_verify_up",
            "1 while it reads, 0 while something is in the way.",
            labels=("cluster",),
        )
        for reader in self._readers:
            judge, cluster = reader.judge, reader.judge.cluster
            kinds = dict(judge.kinds)
            for (kind, weight), count in sorted(kinds.items()):
                found.add_metric((cluster, kind, weight), count)
            bad = sum(n for (_, weight), n in kinds.items() if weight is Weight.ANOMALY)
            anomalies.add_metric((cluster,), bad)
            for owner, count in sorted(dict(judge.judged).items()):
                judged.add_metric((cluster, owner), count)
            for owner, count in sorted(judge.partitions.items()):
                partitions.add_metric((cluster, owner), count)
            stale.add_metric((cluster,), judge.stale_count)
            if (judged_to_ms := judge.judged_to_ms) is not None:
                time.add_metric((cluster,), judged_to_ms / 1000)
            up.add_metric((cluster,), float(reader.is_reading))
        yield from (found, anomalies, judged, partitions, stale, time, up)
        yield CounterMetricFamily(
            "sluice_verify_board_dropped_total",
            "Findings that Redis never received; the log has them.",
            value=self._finding_log.dropped,
        )
