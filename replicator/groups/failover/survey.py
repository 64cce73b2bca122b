"""Survey of what is known about a move between two regions, made in the target region.

The target's own servers have everything that a plan needs. Its Redis has copies of the source
region's commits, of the runs into that region, and of its ledger. Answers of the source itself are
used if they arrive in time.

The order of the questions ensures that no answer claims more than is true. Of the target: log ends,
ledger, runs, then the logs again. Of the copies: their age, the commits (the ledger's among them),
then the runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, KafkaCluster, Route
from replicator.groups.failover.known_runs import KnownRuns, read_runs
from replicator.groups.failover.ledger_view import LedgerView, ledger_view
from replicator.groups.failover.source_copies import LedgerViews, SourceCopies
from replicator.groups.failover.source_facts import SourceFacts, SourceQuestions
from replicator.groups.membership.group_types import unmovable
from replicator.groups.membership.groups import Groups
from replicator.groups.planning.knowledge import (
    GroupProgress,
    Knowledge,
    LogRange,
    PartitionFacts,
    Request,
    progress_of,
    vectors_groups,
)
from replicator.groups.progress.partition_in_region import Known, PartitionInRegion
from replicator.kafka.admin.admin import Admin, PartitionOffsets
from replicator.kafka.admin.admin_error import AdminUnreachable, admin_errors
from replicator.mirror.ledger.ledger_reader import Entries, entries_of
from replicator.mirror.offset_map.offset_map import OffsetMap

SOURCE_SECONDS_MAX = 2.0
"""Time for answers of a region that may be lost. A switchover, whose groups must have stopped,
allows more.
"""
THREADS = 8

Runs = Mapping[Route, KnownRuns]


@dataclass(frozen=True, slots=True)
class Makers:
    """Makers of a survey's clients of the target, and of its threads.

    Args:
        entries: reads ledger entries, as entries_of() does.
    """

    admin: Callable[[str, KafkaCluster, float], Admin] = Admin
    groups: Callable[[str, KafkaCluster, float], Groups] = Groups
    entries: Callable[
        [str, KafkaCluster, Mapping[Route, Iterable[TopicPartition]], float], dict[Route, Entries]
    ] = entries_of
    threads: Callable[[int], Executor] = ThreadPoolExecutor


MAKERS = Makers()


class Survey:
    """Survey of one target region's servers, and of one source region's if they answer.

    Keeps its connections from one call to the next. Blocking; not to be called on an event loop.

    Args:
        timeout_seconds: for each server's answer.
        asks_source: True if the source region's servers are asked at all.
        makers: of the clients.
    """

    def __init__(
        self,
        appliance: Appliance,
        source: str,
        target: str,
        *,
        timeout_seconds: float = 10.0,
        asks_source: bool = True,
        makers: Makers = MAKERS,
    ) -> None:
        self._makers = makers
        self._into_target = appliance.routes_into(target)
        self._timeout_seconds = timeout_seconds
        region = appliance.region(target)
        self._url = region.redis_url()
        self._copies = SourceCopies(
            self._url, source, appliance.routes_into(source), timeout_seconds
        )
        name = ClusterName.aggregate(target)
        self._admin = makers.admin(name, region.aggregate, timeout_seconds)
        self._groups = makers.groups(name, region.aggregate, timeout_seconds)
        self._questions = (
            SourceQuestions(appliance.region(source), timeout_seconds) if asks_source else None
        )

    def groups(self) -> list[str]:
        """Returns the groups known to have committed in the source. Raises StoreUnreachable."""
        return self._copies.groups()

    def cluster_id(self) -> str:
        """Returns the id of the target's aggregate. Raises AdminError."""
        return self._admin.cluster_id()

    def knowledge(self, request: Request, now_ms: int) -> Knowledge:
        """Returns what is known now, for the groups and topics of a request.

        Takes 24 bytes of memory for each run of the partitions that the groups have committed on,
        in both aggregates, and of the partitions that a switchover awaits. A partition and route
        with the most runs that are kept take 24 MB.

        Raises StoreUnreachable, or AdminError where the target's aggregate does not answer.
        """
        age_ms = self._copies.age(now_ms)
        commits, left_out = self._copies.commits(request)
        partitions = sorted({partition for of_group in commits.values() for partition in of_group})
        answers = self._questions and self._questions.ask(partitions)
        patience = self._timeout_seconds if request.is_planned else SOURCE_SECONDS_MAX
        give_up_at = time.monotonic() + patience
        with self._makers.threads(THREADS) as threads:
            active = threads.submit(self._groups.active, request.groups)
            held = threads.submit(self._held, request.groups, partitions)
            copied = threads.submit(self._copies.ledgers, commits, is_whole=age_ms is not None)
            logs = first_look(self._admin, {partition.topic for partition in partitions})
            # A group may have committed on some partitions of a topic only, and a switchover
            # awaits all of them.
            everywhere = sorted({*partitions, *logs.ends})
            ledgers = self._ledgers(everywhere, logs)
            mirrored = _mirrored(ledgers)
            awaited = everywhere if request.is_planned else partitions
            needed = [p for p in awaited if p in logs.ends and p.topic in mirrored]
            reads = [
                {route: threads.submit(self._runs, route, views[route], needed) for route in views}
                for views in (copied.result(), ledgers)
            ]
            here, there = ({route: it.result() for route, it in side.items()} for side in reads)
            now = ranges(self._admin, logs.ends)
            times_ms = {it.at_ms for it in request.choices.values() if it.at_ms is not None}
            answered = offsets_at(self._admin, times_ms, now)
            facts = answers.until(give_up_at) if answers else SourceFacts()
            return Knowledge(
                commits=commits,
                target_commits=held.result(),
                partitions={
                    partition: _facts(partition, here, there, logs, now[partition], facts)
                    for partition in logs.ends
                },
                mirrored_topics=frozenset(mirrored),
                active_in_target=active.result(),
                active_in_source=facts.active,
                age_ms=age_ms,
                unmovable=self._unmovable(facts),
                primary_regions=self._copies.primary_regions(),
                topics_left_out=left_out,
                offsets_at=answered,
            )

    def unmovable(self) -> Mapping[str, str]:
        """Returns the source's groups that no plan moves, with their types, as far as known.

        Raises StoreUnreachable.
        """
        give_up_at = time.monotonic() + SOURCE_SECONDS_MAX
        answers = self._questions and self._questions.ask([])
        return self._unmovable(answers.until(give_up_at) if answers else SourceFacts()) or {}

    def _unmovable(self, facts: SourceFacts) -> Mapping[str, str] | None:
        if facts.groups is None:
            return self._copies.unmovable()
        return unmovable({name: group.type for name, group in facts.groups.items()})

    def _held(
        self, groups: Collection[str], partitions: Collection[TopicPartition]
    ) -> GroupProgress:
        commits = self._groups.commits(groups, partitions)
        return progress_of(commits, self._groups.commits(vectors_groups(commits), partitions))

    def _ledgers(self, partitions: Collection[TopicPartition], logs: TargetLogs) -> LedgerViews:
        """Returns the views of the ledgers of the routes into the target."""
        found: Mapping[Route, Entries] = {}
        if partitions:
            asked = dict.fromkeys(self._into_target, partitions)
            with admin_errors(self._admin.name, "reading the ledger"):
                found = self._makers.entries(
                    self._admin.name, self._admin.cluster, asked, self._timeout_seconds
                )
        return {
            route: {
                partition: ledger_view(
                    route,
                    partition,
                    entries,
                    untouched_up_to=logs.ends.get(partition, 0),
                    target_topic=logs.topic_ids.get(partition.topic),
                    is_current=True,
                )
                for partition in partitions
            }
            for route, entries in found.items()
        }

    def _runs(
        self,
        route: Route,
        views: Mapping[TopicPartition, LedgerView],
        partitions: Iterable[TopicPartition],
    ) -> KnownRuns:
        return read_runs(self._url, route, views, partitions, self._timeout_seconds)


def _mirrored(ledgers: LedgerViews) -> set[str]:
    """Returns the topics that some route brings, or brought, to the target."""
    return {
        partition.topic
        for views in ledgers.values()
        for partition, view in views.items()
        if view.is_mirrored
    }


def _facts(
    partition: TopicPartition,
    here: Runs,
    there: Runs,
    logs: TargetLogs,
    now: LogRange,
    source: SourceFacts,
) -> PartitionFacts:
    return PartitionFacts(
        here=_aggregate(partition, here, source.ends.get(partition)),
        there=_aggregate(partition, there, logs.ends[partition]),
        here_start=source.starts.get(partition),
        there_log=now,
        source_end=source.regional_ends.get(partition),
        notes=tuple(
            runs.notes[partition]
            for runs in (*here.values(), *there.values())
            if partition in runs.notes
        ),
    )


def _aggregate(partition: TopicPartition, runs: Runs, log_end: int | None) -> PartitionInRegion:
    """Returns what is known by every route, also if no group's position depends on it."""
    nothing = Known(OffsetMap())
    return PartitionInRegion(
        {route.source: each.known.get(partition, nothing) for route, each in runs.items()}, log_end
    )


@dataclass(frozen=True, slots=True)
class TargetLogs:
    """All partitions of some topics at the time of the first reading.

    Args:
        topic_ids: by topic, in hex; a topic that does not exist is left out.
        ends: of the logs; everything that could be read stood before them.
    """

    topic_ids: Mapping[str, str]
    ends: PartitionOffsets


def first_look(admin: Admin, topics: Collection[str]) -> TargetLogs:
    """Reads the ids and the log ends of topics. Raises AdminError."""
    described = admin.topics(topics)
    partitions = [
        TopicPartition(topic.name, number)
        for topic in described
        for number in range(topic.partitions)
    ]
    ids = {topic.name: topic.topic_id.hex for topic in described}
    return TargetLogs(ids, _all(admin, partitions, "latest"))


def ranges(admin: Admin, partitions: Collection[TopicPartition]) -> dict[TopicPartition, LogRange]:
    """Returns the logs' starts and ends as they are now. Raises AdminError."""
    starts, ends = _all(admin, partitions, "earliest"), _all(admin, partitions, "latest")
    return {partition: LogRange(starts[partition], ends[partition]) for partition in partitions}


def offsets_at(
    admin: Admin, times_ms: Iterable[int], logs: Mapping[TopicPartition, LogRange]
) -> dict[int, dict[TopicPartition, int]]:
    """Returns by time the offset of the first record of that time or later; else the log's end."""
    found: dict[int, dict[TopicPartition, int]] = {}
    for at_ms in times_ms:
        offsets = _all(admin, logs, at_ms)
        found[at_ms] = {p: log.end if offsets[p] < 0 else offsets[p] for p, log in logs.items()}
    return found


def _all(
    admin: Admin, partitions: Collection[TopicPartition], which: Literal["earliest", "latest"] | int
) -> dict[TopicPartition, int]:
    found = admin.offsets(partitions, which)
    for partition in partitions:
        if partition not in found:
            # If it were left out, the target would seem not to have the partition.
            raise AdminUnreachable(
                admin.name, f"{partition.topic}-{partition.partition} does not answer"
            )
    return {TopicPartition(*partition): offset for partition, offset in found.items()}
