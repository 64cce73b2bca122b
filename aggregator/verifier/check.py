"""Check of a region's history: what was committed since a time is judged once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from aggregator.verifier.cluster_judge import ClusterJudge, Judgement
from aggregator.verifier.commit_reader import group_commits, judged_to_end
from aggregator.verifier.finding import Weight
from aggregator.verifier.object_check import ObjectCheck, ObjectCount, ObjectResult
from aggregator.verifier.object_rows import ObjectRowCheck
from aggregator.verifier.owners import Owners, judged_clusters
from aggregator.verifier.row_check import RowCheck, RowCount, RowResult
from aggregator.verifier.topic_probe import TopicProbe
from aggregator.verifier.upsert_check import UpsertCheck
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance
from replicator.config.upsert_table import UpsertTable
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.admin.listening import check_listening
from replicator.kafka.tail.topic_tailer import LogUnreadable

THREADS = 8


@dataclass(frozen=True, slots=True)
class OwnerRow:
    """Result for one feed or route in one cluster; all None if nothing could be read there.

    Args:
        partitions: with an entry today.
        entries: judged since the time asked for.
        counts: findings by weight.
    """

    cluster: ClusterName
    owner: str
    partitions: int | None
    entries: int | None
    counts: Mapping[Weight, int] | None

    def count(self, weight: Weight) -> int | None:
        """Returns the number of findings of a weight."""
        return None if self.counts is None else self.counts.get(weight, 0)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result for a region.

    Args:
        judgements: those with findings, by time.
        problems: reasons why a server could not be asked.
        row_counts: of tables and objects, if rows were asked for.
        object_counts: of feeds into objects, if objects were asked for.
    """

    region: str
    since_ms: int
    rows: tuple[OwnerRow, ...]
    judgements: tuple[Judgement, ...]
    problems: tuple[str, ...] = ()
    row_counts: tuple[RowCount, ...] | None = None
    object_counts: tuple[ObjectCount, ...] | None = None

    @property
    def has_anomaly(self) -> bool:
        return (
            self._has(Weight.ANOMALY)
            or any(it.is_different for it in self.row_counts or ())
            or any(it.is_different for it in self.object_counts or ())
        )

    @property
    def has_unknown(self) -> bool:
        return self._has(Weight.UNKNOWN) or any(it.doubts for it in self.row_counts or ())

    def _has(self, weight: Weight) -> bool:
        return any(each.weight is weight for it in self.judgements for each in it.findings)


@dataclass(slots=True)
class _Judged:
    """Judge of one cluster, its judgements, and the reason why they are not all there."""

    judge: ClusterJudge
    judgements: list[Judgement] = field(default_factory=list)
    problem: str = ""


class Check:
    """Check of one region. Blocking.

    Args:
        since_ms: entries committed before are compared with, and not judged.
        timeout_seconds: for each answer of a server.
        with_rows: compares the rows of all tables and objects with the records as well.
        with_objects: compares what is told of objects with the store as well.
        only: names of owners (see Owner); None: all of the region.
    """

    def __init__(
        self,
        appliance: Appliance,
        region: str,
        since_ms: int,
        timeout_seconds: float,
        *,
        with_rows: bool = False,
        with_objects: bool = False,
        only: Collection[str] | None = None,
    ) -> None:
        self._appliance = appliance
        self._region = region
        self._since_ms = since_ms
        self._timeout_seconds = timeout_seconds
        self._with_rows = with_rows
        self._with_objects = with_objects
        self._only = only

    def run(self) -> CheckResult:
        """Judges all clusters at once. Raises NothingJudged, UnknownRegion."""
        clusters = {
            name: own
            for name, owners in judged_clusters(self._appliance, self._region).items()
            if (own := {group: it for group, it in owners.items() if self._is_asked(it.name)})
        }
        with ThreadPoolExecutor(THREADS) as threads:
            found = list(threads.map(self._cluster, clusters, clusters.values()))
        judgements = sorted(
            (each for it in found for each in it.judgements), key=lambda each: each.at_ms
        )
        problems = [it.problem for it in found if it.problem]
        counts: list[RowCount] | None = None
        if self._with_rows:
            counts = []
            for result in map(self._compared, found):
                counts += result.counts
                problems += result.problems
        objects: list[ObjectCount] | None = None
        if self._with_objects:
            objects = []
            for checked in map(self._object_check, self._object_feeds()):
                objects += checked.counts
                problems += checked.problems
        return CheckResult(
            self._region,
            self._since_ms,
            tuple(row for it in found for row in _rows(it)),
            tuple(judgements),
            tuple(dict.fromkeys(problems)),
            None if counts is None else tuple(counts),
            None if objects is None else tuple(objects),
        )

    def _upsert_tables(self, home: ClusterName) -> Iterator[tuple[ClickHouseFeed, UpsertTable]]:
        for feed in self._appliance.feeds_of(self._region):
            if isinstance(feed, ClickHouseFeed):
                for table in feed.upsert_tables:
                    is_asked = self._is_asked(f"table {feed.name}.{table.name}")
                    if is_asked and feed.home_of(table) == home:
                        yield feed, table

    def _is_asked(self, owner: str) -> bool:
        return self._only is None or owner in self._only

    def _object_feeds(self) -> Iterator[tuple[ObjectFeed, ClusterName]]:
        for feed in self._appliance.feeds_of(self._region):
            if isinstance(feed, ObjectFeed) and self._is_asked(f"feed {feed.name}"):
                yield from ((feed, cluster) for cluster in feed.clusters)

    def _object_check(self, asked: tuple[ObjectFeed, ClusterName]) -> ObjectResult:
        check = ObjectCheck(self._appliance, *asked, self._since_ms, self._timeout_seconds)
        return check.run()

    def _cluster(self, name: ClusterName, owners: Owners) -> _Judged:
        settings, cluster = self._appliance.aggregator, self._appliance.cluster(name)
        admin = Admin(name, cluster, self._timeout_seconds)
        judge = ClusterJudge(
            name,
            owners,
            int(settings.skew_seconds * 1000),
            is_gone=TopicProbe(admin).is_gone,
            since_ms=self._since_ms,
        )
        done = _Judged(judge)
        try:
            check_listening(name, cluster)
            tailer = group_commits(judge, cluster, admin)
            done.judgements.extend(judged_to_end(judge, tailer, self._timeout_seconds))
            now_ms = time.time_ns() // 1_000_000
            done.judgements.extend(judge.stale(now_ms, int(settings.stale_seconds * 1000)))
        except (AdminError, LogUnreadable) as error:
            done.problem = str(error)
        return done

    def _compared(self, judged: _Judged) -> RowResult:
        """Returns the rows of all feeds that read a cluster."""
        counts: list[RowCount] = []
        problems: list[str] = []
        cluster = judged.judge.cluster
        for feed in self._appliance.feeds_of(self._region):
            entries = judged.judge.entries(f"feed {feed.name}")
            if cluster not in feed.clusters or not entries:
                continue
            within = cluster, entries, self._since_ms, self._timeout_seconds
            check: RowCheck | ObjectRowCheck
            if isinstance(feed, ObjectFeed):
                check = ObjectRowCheck(self._appliance, feed, *within)
            else:
                assert isinstance(feed, ClickHouseFeed)
                check = RowCheck(self._appliance, feed, *within)
            found = check.run()
            counts += found.counts
            problems += found.problems
        for feed, table in self._upsert_tables(cluster):
            entries = judged.judge.entries(f"table {feed.name}.{table.name}")
            last = next((each.entry for each in entries.values()), None)
            limits = self._since_ms, self._timeout_seconds
            found = UpsertCheck(self._appliance, feed, table, last, *limits).run()
            counts += found.counts
            problems += found.problems
        return RowResult(tuple(counts), tuple(problems))


def _rows(found: _Judged) -> Iterator[OwnerRow]:
    judge, counts = found.judge, dict[str, Counter[Weight]]()
    for judgement in found.judgements:
        by_weight = counts.setdefault(judgement.subject.owner, Counter())
        by_weight.update(each.weight for each in judgement.findings)
    partitions = judge.partitions
    for owner in sorted({each.name for each in judge.owners.values()}):
        if found.problem and not judge.judged[owner]:
            yield OwnerRow(judge.cluster, owner, None, None, None)
            continue
        yield OwnerRow(
            judge.cluster,
            owner,
            partitions[owner],
            judge.judged[owner],
            dict(counts.get(owner, {})),
        )
