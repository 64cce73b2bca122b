"""Ledger of one route: its entries, kept as committed offsets in the target cluster.

Entries are spread over a few consumer groups, so that their commits spread over the brokers. For
each topic a witness says how many of its partitions were ever adopted. The witness is committed
under the runs topic's name, so it outlives the topic, whose deletion removes the entries.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import replace

from typing_extensions import override

from balancer.topic_partition import TopicPartition
from replicator.config.names import ledger_group, runs_topic_name, unheld_id, witness_group
from replicator.config.topology import Route
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.committed_entries import CommittedEntries, read_commits
from replicator.kafka.client.fenced_committer import OffsetRows
from replicator.kafka.client.loss import LossKind
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.mirror.ledger.entry import (
    Begin,
    Custody,
    Entry,
    UnreadableEntry,
    decode,
    encode,
    unreadable,
)
from replicator.mirror.offset_map.runs_tail import RunsTail

GROUPS = 4
"""Number of groups. Never changed once records were mirrored: entries would be looked for in the
wrong group. Each group that a commit touches costs some 4 ms on a busy lab broker."""


def group_of(route: Route, partition: TopicPartition) -> str:
    """Returns the consumer group that keeps a partition's entry."""
    spread = zlib.crc32(f"{partition.topic}/{partition.partition}".encode()) % GROUPS
    return ledger_group(route.key, spread)


def groups_of(route: Route) -> tuple[str, ...]:
    """Returns all groups of a route's entries."""
    return tuple(ledger_group(route.key, number) for number in range(GROUPS))


class Ledger(CommittedEntries[Entry]):
    """Reads and commits the entries of one route; one that cannot be read is returned as parked.

    Args:
        runs: tails the runs topic; its positions go into the committed entries.
    """

    def __init__(self, cluster: Cluster, route: Route, runs: RunsTail | None = None):
        super().__init__(cluster)
        self.route = route
        self._runs = runs

    @override
    def group_for(self, partition: TopicPartition) -> str:
        return group_of(self.route, partition)

    @override
    def to_commit(self, entry: Entry) -> tuple[int, str]:
        return encode(self._with_runs_ends(entry))

    @override
    def from_commit(self, commit: OffsetAndMetadata) -> Entry:
        try:
            return decode(commit.offset, commit.metadata)
        except UnreadableEntry as error:
            return unreadable(commit.offset, error)

    def _with_runs_ends(self, entry: Entry) -> Entry:
        """Returns the entry with the current end offsets of the runs topic.

        A parked entry keeps the ends under which it was parked: the runs that parked it lie after
        them.
        """
        is_kept = entry.parked and entry.runs
        if is_kept or self._runs is None or not self._runs.positions:
            return entry
        return replace(entry, runs=self._runs.positions)

    async def needs(self, places: Iterable[TopicPartition]) -> dict[str, int]:
        """Returns, by topic, the limit of a batch that the next record of some partition needs."""
        found: dict[str, int] = {}
        commits = await read_commits(self._cluster, self.group_for, places)
        for place, commit in commits.items():
            # Nearly all entries need nothing, and are not decoded.
            if '"needs":' in commit.metadata or LossKind.RECORD_TOO_LARGE.name in commit.metadata:
                needs = self.from_commit(commit).needs
                if needs:
                    found[place.topic] = max(needs.least_bytes, found.get(place.topic, 0))
        return found

    async def witnessed(self, topic: str) -> int:
        """Returns how many partitions of a topic were adopted; each of them must have an entry."""
        runs = runs_topic_name(self.route.key)
        found = await self._cluster.commits(witness_group(self.route.key, topic), [(runs, [0])])
        return found.get(TopicPartition(runs, 0), OffsetAndMetadata(0)).offset

    def witness(self, topic: str, partitions: int) -> dict[str, OffsetRows]:
        """Returns the witness as an offset to commit after the entries of an adoption."""
        return {
            witness_group(self.route.key, topic): [
                (runs_topic_name(self.route.key), 0, partitions, "")
            ]
        }


def virgin(ledger: Ledger, target_end: int, begin: Begin | None = None) -> Entry:
    """Returns the entry of a partition that was adopted and never carried."""
    return Entry(
        custody=Custody.VIRGIN,
        source_offset=0,
        target_offset=target_end,
        producer_id=-1,
        epoch=-1,
        sequence=0,
        transactional_id=unheld_id(ledger.route.key),
        begin=begin,
    )
