"""Ledger of one route: its entries, kept as committed offsets in the target cluster.

Entries are spread over a few consumer groups, so that their commits spread over the brokers. For
each topic a witness says how many of its partitions were ever adopted. The witness is committed
under the runs topic's name, so it outlives the topic, whose deletion removes the entries.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from balancer.plan import TopicPartition
from replicator.config.names import ledger_group, runs_topic_name, unheld_id, witness_group
from replicator.config.topology import Route
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.kafka.client.fenced_committer import FencedCommitter, OffsetRows
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.mirror.ledger.entry import (
    Custody,
    Entry,
    UnreadableEntry,
    decode,
    encode,
    unreadable,
)
from replicator.mirror.offset_map.runs_tail import RunsTail
from replicator.runtime.gather import gather_or_cancel

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


async def read_commits(
    cluster: Cluster, route: Route, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Returns the committed offsets that hold the entries of a route's partitions."""
    groups: dict[str, dict[str, list[int]]] = {}
    for partition in partitions:
        topics = groups.setdefault(group_of(route, partition), {})
        topics.setdefault(partition.topic, []).append(partition.partition)
    found = await gather_or_cancel(
        *(cluster.commits(group, list(topics.items())) for group, topics in groups.items())
    )
    return {partition: commit for commits in found for partition, commit in commits.items()}


class Ledger:
    """Reads and commits the entries of one route.

    Args:
        runs: tails the runs topic; its positions go into the committed entries.
    """

    def __init__(self, cluster: Cluster, route: Route, runs: RunsTail | None = None):
        self.route = route
        self._runs = runs
        self._cluster = cluster

    async def read(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Entry]:
        """Returns the entries that exist; one that cannot be read is returned as parked."""
        commits = await read_commits(self._cluster, self.route, partitions)
        return {partition: _decoded(commit) for partition, commit in commits.items()}

    async def read_as_holder(
        self, holder: FencedCommitter, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Entry]:
        """Returns today's entries, from coordinators that have just proved that they can write.

        Entries that name the holder's id cannot change until another client opens that id.
        """
        partitions = list(partitions)
        # 15 to 29 ms on an idle lab broker, of 240 to 450 ms for a takeover of 64 partitions.
        groups = {group_of(self.route, partition) for partition in partitions}
        await holder.confirm_coordinators(sorted(groups))
        return await self.read(partitions)

    async def commit(
        self, fenced_committer: FencedCommitter, entries: Mapping[TopicPartition, Entry]
    ) -> None:
        """Commits entries that name the committer's id, all or none. Raises Fenced."""

        def was_there(_: TopicPartition, shown: OffsetAndMetadata | None) -> bool:
            if _is_held(fenced_committer, shown):
                return True
            own_id = fenced_committer.transactional_id
            raise Fenced(f"{own_id}: another producer has replaced its entries")

        await fenced_committer.commit(self.offsets(entries), was_there)

    async def release(
        self, fenced_committer: FencedCommitter, entries: Mapping[TopicPartition, Entry]
    ) -> None:
        """Commits entries that free the committer's partitions, all or none. Raises Fenced.

        Other carriers may acquire these entries at once, so a replaced entry is no sign of a fence.
        """
        await fenced_committer.commit(
            self.offsets(entries), lambda _, shown: _is_held(fenced_committer, shown)
        )

    async def replace(
        self,
        holder: FencedCommitter,
        before: Mapping[TopicPartition, Entry],
        entries: Mapping[TopicPartition, Entry],
    ) -> None:
        """Replaces entries of any producer, all or none, in a transaction of the id that they name.

        Args:
            before: the entries as `read_as_holder` returned them. If another entry is shown, it is
                not known who may write it: an entry can come to name the same id again without
                that id being opened.

        Raises:
            Fenced: a newer holder of the id exists, or another producer has replaced an entry.
        """

        def was_there(partition: TopicPartition, shown: OffsetAndMetadata | None) -> bool:
            if (_decoded(shown) if shown else None) == before.get(partition):
                return True
            raise Fenced(f"{holder.transactional_id}: another producer was faster")

        await holder.commit(self.offsets(entries), was_there)

    def offsets(self, entries: Mapping[TopicPartition, Entry]) -> dict[str, OffsetRows]:
        """Returns entries as offsets to commit, by group."""
        groups: dict[str, list[tuple[str, int, int, str]]] = {}
        for partition, entry in entries.items():
            row = (*partition, *encode(self._with_runs_ends(entry)))
            groups.setdefault(group_of(self.route, partition), []).append(row)
        return dict(groups)

    def _with_runs_ends(self, entry: Entry) -> Entry:
        """Returns the entry with the current end offsets of the runs topic.

        A parked entry keeps the ends under which it was parked: the runs that parked it lie after
        them.
        """
        is_kept = entry.parked and entry.runs
        if is_kept or self._runs is None or not self._runs.positions:
            return entry
        return replace(entry, runs=self._runs.positions)

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


def _is_held(fenced_committer: FencedCommitter, shown: OffsetAndMetadata | None) -> bool:
    own_id = fenced_committer.transactional_id
    return shown is None or _decoded(shown).transactional_id == own_id


def _decoded(commit: OffsetAndMetadata) -> Entry:
    try:
        return decode(commit.offset, commit.metadata)
    except UnreadableEntry as error:
        return unreadable(commit.offset, error)


def virgin(ledger: Ledger, target_end: int) -> Entry:
    """Returns the entry of a partition that was adopted and never carried."""
    return Entry(
        custody=Custody.VIRGIN,
        source_offset=0,
        target_offset=target_end,
        producer_id=-1,
        epoch=-1,
        sequence=0,
        transactional_id=unheld_id(ledger.route.key),
    )
