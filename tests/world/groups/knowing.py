"""Knowledge of a planner in a world: what it may have heard of both aggregates, by the dice.

The product's own code turns entries and pieces of runs into knowledge. Here they are of different
moments, some are missing, and the order of the survey's questions is kept: of the target, log ends,
then entries, then runs, then the logs again.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from balancer.topic_partition import TopicPartition
from replicator.config.names import runs_topic_name, witness_group
from replicator.config.topology import Route
from replicator.groups.failover.known_runs import known_of
from replicator.groups.failover.ledger_view import LedgerView, ledger_view
from replicator.groups.planning.knowledge import (
    Knowledge,
    LogRange,
    PartitionFacts,
    progress_of,
)
from replicator.groups.progress.partition_in_region import Known, PartitionInRegion
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.mirror.ledger.ledger import group_of
from replicator.mirror.ledger.ledger_reader import decoded
from replicator.mirror.offset_map.offset_store import maps_by_losses
from replicator.mirror.offset_map.runs_topic import RunsKey
from tests.world.groups.past import Past
from tests.world.groups.two_regions import TOPIC, TwoRegions
from tests.world.kafka.kafka_cluster import INTERNAL_PARTITIONS

Commits = Mapping[str, Mapping[TopicPartition, OffsetAndMetadata]]


@dataclass(frozen=True, slots=True)
class Lacks:
    """Shares of what a planner does not know.

    Args:
        seconds: greatest age of anything that it heard.
        pieces: share of the pieces of runs that are missing.
        entries: share of the routes whose ledger says nothing.
        is_cut_off: True if the ledger's coordinators in the target are cut off from their peers,
            and answer with old entries.
    """

    seconds: float = 0.0
    pieces: float = 0.0
    entries: float = 0.0
    is_cut_off: bool = False


NOTHING = Lacks()


class Knowing:
    """Knowledge of one world.

    Args:
        dice: decides what is old and what is missing.
    """

    def __init__(self, regions: TwoRegions, pasts: Mapping[str, Past], dice: random.Random) -> None:
        self._regions, self._pasts, self._dice = regions, pasts, dice

    def knowledge(self, source: str, target: str, groups: Iterable[str], lacks: Lacks) -> Knowledge:
        """Returns what is known for a move of groups from a source to a target region."""
        now = self._regions.world.loop.time()
        copied = {
            number: now - self._dice.uniform(0.0, lacks.seconds)
            for number in range(INTERNAL_PARTITIONS)
        }
        commits = self._pasts[source].commits(copied)
        shown = dict.fromkeys(range(INTERNAL_PARTITIONS), now)
        held = self._pasts[target].commits(shown)
        here = self._views(source, commits, self._highest(commits, groups), lacks, is_current=False)
        ends_at = now - self._dice.uniform(0.0, lacks.seconds)
        entries_at = self._dice.uniform(ends_at, now)
        if lacks.is_cut_off:
            entries_at = now - self._dice.uniform(0.0, lacks.seconds)
        ends = {place: self._pasts[target].end(place, ends_at) for place in self._regions.places}
        entries = self._pasts[target].commits(dict.fromkeys(range(INTERNAL_PARTITIONS), entries_at))
        there = self._views(target, entries, ends, lacks, is_current=True)
        return Knowledge(
            commits=progress_of({group: commits.get(group, {}) for group in groups}, commits),
            target_commits=progress_of({group: held.get(group, {}) for group in groups}, held),
            partitions={
                place: PartitionFacts(
                    here=self._aggregate(
                        source, place, here, lacks, self._source_end(source, place, lacks)
                    ),
                    there=self._aggregate(target, place, there, lacks, ends[place]),
                    there_log=LogRange(0, self._pasts[target].end(place, now)),
                )
                for place in self._regions.places
            },
            mirrored_topics=frozenset({TOPIC}),
            active_in_target=frozenset(),
            age_ms=0,
        )

    def _source_end(self, source: str, place: TopicPartition, lacks: Lacks) -> int | None:
        """Returns the end of the log in the source region, if it answers."""
        now = self._regions.world.loop.time()
        is_lost = lacks != NOTHING and self._dice.random() < 0.5
        return None if is_lost else self._pasts[source].end(place, now)

    def _highest(self, commits: Commits, groups: Iterable[str]) -> dict[TopicPartition, int]:
        highest = dict.fromkeys(self._regions.places, 0)
        for group in groups:
            for place, commit in commits.get(group, {}).items():
                highest[place] = max(highest[place], commit.offset)
        return highest

    def _views(
        self,
        region: str,
        commits: Commits,
        untouched_up_to: Mapping[TopicPartition, int],
        lacks: Lacks,
        *,
        is_current: bool,
    ) -> dict[Route, dict[TopicPartition, LedgerView]]:
        found = {}
        topic = self._regions.aggregate[region].topics[TOPIC]
        for route in self._regions.appliance.routes_into(region):
            rows = {
                place: commit
                for place in self._regions.places
                if (commit := commits.get(group_of(route, place), {}).get(place))
                and self._dice.random() >= lacks.entries
            }
            witnesses = commits.get(witness_group(route.key, TOPIC), {})
            witness = witnesses.get(TopicPartition(runs_topic_name(route.key), 0))
            adopted = {TOPIC: witness.offset} if witness else {}
            entries = decoded(rows, adopted)
            found[route] = {
                place: ledger_view(
                    route,
                    place,
                    entries,
                    untouched_up_to=untouched_up_to[place],
                    target_topic=topic.id.hex if is_current else None,
                    is_current=is_current,
                )
                for place in self._regions.places
            }
        return found

    def _aggregate(
        self,
        region: str,
        place: TopicPartition,
        views: Mapping[Route, Mapping[TopicPartition, LedgerView]],
        lacks: Lacks,
        log_end: int | None,
    ) -> PartitionInRegion:
        known: dict[str, Known] = {}
        for route, by_place in views.items():
            key = by_place[place].key or self._key(route, place)
            pieces = self._pieces(region, route, key, lacks)
            maps = maps_by_losses(dict.fromkeys(pieces, 0))
            known[route.source] = known_of(by_place[place], key.source_topic_id, maps)
        return PartitionInRegion(known, log_end)

    def _key(self, route: Route, place: TopicPartition) -> RunsKey:
        source = self._regions.regional[route.source].topics[TOPIC].id.hex
        target = self._regions.aggregate[route.target].topics[TOPIC].id.hex
        return RunsKey(*place, source, target)

    def _pieces(self, region: str, route: Route, key: RunsKey, lacks: Lacks) -> list[bytes]:
        now = self._regions.world.loop.time()
        at = now - self._dice.uniform(0.0, lacks.seconds)
        pieces = self._pasts[region].pieces(key, route, at)
        return [it for it in pieces if self._dice.random() >= lacks.pieces]
