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
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from balancer.plan import TopicPartition
from replicator.config.names import OWN_PREFIX, runs_topic_name, witness_group
from replicator.config.topology import Appliance, Route
from replicator.groups.copies.commit_store import CommitStore
from replicator.groups.copies.runs_copies import RunsCopies
from replicator.groups.failover.known_runs import KnownRuns, read_runs
from replicator.groups.failover.ledger_view import LedgerView, word
from replicator.groups.failover.source_facts import SourceFacts, SourceQuestions
from replicator.groups.failover.target_logs import TargetLogs, first_look, offsets_at, ranges
from replicator.groups.membership.groups import Groups, admin_errors
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.groups.planning.knowledge import (
    Knowledge,
    LogRange,
    PartitionFacts,
    Progress,
    Request,
)
from replicator.groups.progress.aggregate import Aggregate, Known
from replicator.groups.progress.vector_metadata import decode
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.cluster import Commit
from replicator.mirror.ledger.entries import Entries, decoded, entries_of
from replicator.mirror.ledger.ledger import groups_of
from replicator.mirror.offset_map.offset_map import OffsetMap

SOURCE_SECONDS_MAX = 2.0
"""Time for answers of a region that may be lost. A switchover, whose groups must have stopped,
allows more.
"""
THREADS = 8

Commits = Mapping[str, Mapping[TopicPartition, Progress]]
Words = Mapping[Route, Mapping[TopicPartition, LedgerView]]
Runs = Mapping[Route, KnownRuns]


class Survey:
    """Survey of one target region's servers, and of one source region's if they answer.

    Keeps its connections from one call to the next. Blocking; not to be called on an event loop.

    Args:
        timeout_seconds: for each server's answer.
        asks_source: True if the source region's servers are asked at all.
    """

    def __init__(
        self,
        appliance: Appliance,
        source: str,
        target: str,
        *,
        timeout_seconds: float = 10.0,
        asks_source: bool = True,
    ) -> None:
        self._source = source
        self._into_source = appliance.routes_into(source)
        self._into_target = appliance.routes_into(target)
        self._timeout_seconds = timeout_seconds
        region = appliance.region(target)
        self._url = region.redis_url()
        self._admin = Admin(f"{target} aggregate", region.aggregate, timeout_seconds)
        self._groups = Groups(f"{target} aggregate", region.aggregate, timeout_seconds)
        self._questions = (
            SourceQuestions(appliance.region(source), timeout_seconds) if asks_source else None
        )

    def groups(self) -> list[str]:
        """Returns the groups known to have committed in the source. Raises StoreUnreachable."""
        with self._commit_store() as store:
            return [group for group in store.groups() if not group.startswith(OWN_PREFIX)]

    def knowledge(self, request: Request, now_ms: int) -> Knowledge:
        """Returns what is known now, for the groups and topics of a request.

        Takes 24 bytes of memory for each run of the partitions that the groups have committed on,
        in both aggregates. A partition and route with the most runs that are kept take 24 MB.

        Raises StoreUnreachable, or AdminError where the target's aggregate does not answer.
        """
        age_ms = self._age(now_ms)
        commits, left_out = self._commits(request)
        places = sorted({place for of_one in commits.values() for place in of_one})
        answers = self._questions and self._questions.ask(request.groups, places)
        patience = SOURCE_SECONDS_MAX
        if request.is_planned:
            patience = self._timeout_seconds
        give_up_at = time.monotonic() + patience
        with ThreadPoolExecutor(THREADS) as threads:
            active = threads.submit(self._groups.active, request.groups)
            before = threads.submit(self._groups.commits, request.groups, places)
            here = threads.submit(self._words_here, commits, is_whole=age_ms is not None)
            logs = first_look(self._admin, {place.topic for place in places})
            there = self._words_there(places, logs)
            mirrored = _mirrored(there)
            needed = [p for p in places if p in logs.ends and p.topic in mirrored]
            runs_here, runs_there = (
                {r: threads.submit(self._runs, r, words, needed) for r, words in side.items()}
                for side in (here.result(), there)
            )
            here_told, there_told = (
                {route: each.result() for route, each in side.items()}
                for side in (runs_here, runs_there)
            )
            now = ranges(self._admin, logs.ends)
            times_ms = {it.at_ms for it in request.choices.values() if it.at_ms is not None}
            answered = offsets_at(self._admin, times_ms, now)
            facts = answers.until(give_up_at) if answers else SourceFacts()
            return Knowledge(
                commits=commits,
                target_commits={
                    group: {
                        place: Progress(held.offset, decode(held.metadata))
                        for place, held in of_one.items()
                    }
                    for group, of_one in before.result().items()
                },
                partitions={
                    place: _facts(place, here_told, there_told, logs, now[place], facts)
                    for place in logs.ends
                },
                mirrored_topics=frozenset(mirrored),
                active_in_target=active.result(),
                active_in_source=facts.active,
                age_ms=age_ms,
                primary_regions=self._primary_regions(),
                topics_left_out=left_out,
                offsets_at=answered,
            )

    # -- copies

    def _age(self, now_ms: int) -> int | None:
        """Returns the age of the oldest copy; everything read afterwards is at least as recent."""
        with self._commit_store() as store:
            ages = [store.age(now_ms)]
        for route in self._into_source:
            with RunsCopies(self._url, route.key, timeout_seconds=self._timeout_seconds) as copies:
                ages.append(copies.age(now_ms))
        known = [age for age in ages if age is not None]
        return max(known) if len(known) == len(ages) else None

    def _commits(self, request: Request) -> tuple[Commits, dict[str, frozenset[str]]]:
        """Returns commits on the requested topics, and by group the other topics with commits."""
        with self._commit_store() as store:
            found = store.commits(sorted(request.groups))
        left_out = {
            group: frozenset({place.topic for place in of_one} - request.topics)
            for group, of_one in found.items()
            if request.topics is not None
        }
        commits = {
            group: {
                place: Progress(commit.offset, decode(commit.metadata))
                for place, commit in of_one.items()
                if request.topics is None or place.topic in request.topics
            }
            for group, of_one in found.items()
        }
        return commits, {group: topics for group, topics in left_out.items() if topics}

    def _words_here(self, commits: Commits, *, is_whole: bool) -> Words:
        """Returns the views of the source region's ledgers, from their copies.

        Args:
            is_whole: True if a commit that is not in the copies was never made.
        """
        most: dict[TopicPartition, int] = {}
        for of_one in commits.values():
            for place, progress in of_one.items():
                most[place] = max(most.get(place, 0), progress.offset)
        topics = {place.topic for place in most}
        with self._commit_store() as store:
            # Witnesses are read after the entries, as in entries_of().
            ledgers = {r: store.commits(groups_of(r)) for r in self._into_source}
            witnesses = {
                route: store.commits(witness_group(route.key, topic) for topic in topics)
                for route in self._into_source
            }
        words = {}
        for route in self._into_source:
            rows = {
                place: Commit(row.offset, row.metadata)
                for of_one in ledgers[route].values()
                for place, row in of_one.items()
                if place in most
            }
            adopted = {}
            for topic in topics:
                row = witnesses[route][witness_group(route.key, topic)].get(
                    TopicPartition(runs_topic_name(route.key), 0)
                )
                if row or is_whole:
                    adopted[topic] = row.offset if row else 0
            entries = decoded(rows, adopted)
            words[route] = {
                place: word(
                    route,
                    place,
                    entries,
                    untouched_up_to=offset,
                    target_topic=None,
                    is_of_now=False,
                )
                for place, offset in most.items()
            }
        return words

    def _primary_regions(self) -> dict[str, str]:
        with PrimaryStore(self._url, timeout_seconds=self._timeout_seconds) as store:
            found = store.all()
        return {group: it.region for group, it in found.items() if it.region is not None}

    def _commit_store(self) -> CommitStore:
        return CommitStore(self._url, self._source, timeout_seconds=self._timeout_seconds)

    # -- the target

    def _words_there(self, places: Collection[TopicPartition], logs: TargetLogs) -> Words:
        asked = dict.fromkeys(self._into_target, places)
        found: Mapping[Route, Entries] = {}
        if places:
            with admin_errors(self._admin.name, "reading the ledger"):
                found = entries_of(
                    self._admin.name, self._admin.cluster, asked, self._timeout_seconds
                )
        return {
            route: {
                place: word(
                    route,
                    place,
                    entries,
                    untouched_up_to=logs.ends.get(place, 0),
                    target_topic=logs.topic_ids.get(place.topic),
                    is_of_now=True,
                )
                for place in places
            }
            for route, entries in found.items()
        }

    def _runs(
        self,
        route: Route,
        words: Mapping[TopicPartition, LedgerView],
        places: Iterable[TopicPartition],
    ) -> KnownRuns:
        some = {place: words[place] for place in places}
        return read_runs(self._url, route, some, self._timeout_seconds)


def _mirrored(there: Words) -> set[str]:
    """Returns the topics that some route brings, or brought, to the target."""
    return {
        place.topic for words in there.values() for place, each in words.items() if each.is_mirrored
    }


def _facts(
    place: TopicPartition,
    here: Runs,
    there: Runs,
    logs: TargetLogs,
    now: LogRange,
    source: SourceFacts,
) -> PartitionFacts:
    return PartitionFacts(
        here=_aggregate(place, here, source.ends.get(place)),
        there=_aggregate(place, there, logs.ends[place]),
        here_start=source.starts.get(place),
        there_log=now,
        source_end=source.regional_ends.get(place),
        notes=tuple(
            told.notes[place] for told in (*here.values(), *there.values()) if place in told.notes
        ),
    )


def _aggregate(place: TopicPartition, told: Runs, log_end: int | None) -> Aggregate:
    """Returns what is known by every route, also if no group's position depends on it."""
    nothing = Known(OffsetMap())
    return Aggregate(
        {route.source: each.known.get(place, nothing) for route, each in told.items()}, log_end
    )
