"""Check of a region's history: what was committed since a time is judged once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from aggregator.verifier.cluster_judge import ClusterJudge, Judgement
from aggregator.verifier.commit_stream import group_commits, judged_to_end
from aggregator.verifier.finding import Weight
from aggregator.verifier.owners import Owners, judged_clusters
from aggregator.verifier.topic_probe import TopicProbe
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.topic_tailer import LogUnreadable

THREADS = 8


@dataclass(frozen=True, slots=True)
class OwnerRow:
    """Result for one feed or route in one cluster.

    Args:
        partitions: with an entry today.
        entries: judged since the time asked for.
        counts: findings by weight.
    """

    cluster: ClusterName
    owner: str
    partitions: int
    entries: int
    counts: Mapping[Weight, int]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result for a region.

    Args:
        judgements: those with findings, by time.
        problems: reasons why a cluster could not be read.
    """

    region: str
    since_ms: int
    rows: tuple[OwnerRow, ...]
    judgements: tuple[Judgement, ...]
    problems: tuple[str, ...] = ()

    def has(self, weight: Weight) -> bool:
        return any(each.weight is weight for it in self.judgements for each in it.findings)


class Check:
    """Check of one region. Blocking.

    Args:
        since_ms: entries committed before are compared with, and not judged.
        timeout_seconds: for each answer of a cluster.
    """

    def __init__(
        self, appliance: Appliance, region: str, since_ms: int, timeout_seconds: float
    ) -> None:
        self._appliance = appliance
        self._region = region
        self._since_ms = since_ms
        self._timeout_seconds = timeout_seconds

    def run(self) -> CheckResult:
        """Judges all clusters at once. Raises NothingJudged, UnknownRegion."""
        clusters = judged_clusters(self._appliance, self._region)
        with ThreadPoolExecutor(THREADS) as threads:
            found = list(threads.map(self._cluster, clusters, clusters.values()))
        judgements = sorted(
            (each for _, some, _ in found for each in some), key=lambda each: each.at_ms
        )
        return CheckResult(
            self._region,
            self._since_ms,
            tuple(row for rows, _, _ in found for row in rows),
            tuple(judgements),
            tuple(problem for _, _, problem in found if problem),
        )

    def _cluster(
        self, name: ClusterName, owners: Owners
    ) -> tuple[list[OwnerRow], list[Judgement], str]:
        """Returns the rows and judgements of one cluster, and why they are not all there."""
        settings, cluster = self._appliance.aggregator, self._appliance.cluster(name)
        judge = ClusterJudge(
            name,
            owners,
            int(settings.skew_seconds * 1000),
            is_gone=TopicProbe(Admin(name, cluster, self._timeout_seconds)).is_gone,
            since_ms=self._since_ms,
        )
        found: list[Judgement] = []
        problem = ""
        try:
            tailer = group_commits(judge, cluster)
            found.extend(judged_to_end(judge, tailer, self._timeout_seconds))
            now_ms = time.time_ns() // 1_000_000
            found.extend(judge.stale(now_ms, int(settings.stale_seconds * 1000)))
        except (AdminError, LogUnreadable) as error:
            problem = str(error)
        return list(_rows(judge, found)), found, problem


def _rows(judge: ClusterJudge, found: list[Judgement]) -> Iterator[OwnerRow]:
    counts: dict[str, Counter[Weight]] = {}
    for judgement in found:
        by_weight = counts.setdefault(judgement.subject.owner, Counter())
        by_weight.update(each.weight for each in judgement.findings)
    partitions = judge.partitions
    for owner in sorted({each.name for each in judge.owners.values()}):
        yield OwnerRow(
            judge.cluster,
            owner,
            partitions[owner],
            judge.judged[owner],
            dict(counts.get(owner, {})),
        )
