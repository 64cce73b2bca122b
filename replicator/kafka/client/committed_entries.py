"""Committed entries: the progress of partitions, kept as committed offsets with metadata.

Custody: an entry names a transactional id, and is replaced only inside a transaction of that id. Of
any number of competing holders exactly one has the newest epoch of the id when it commits; the
others are fenced.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.kafka.client.fenced_committer import Effects, FencedCommitter, OffsetRows, Row
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.runtime.gather import gather_or_cancel

GroupOf = Callable[[TopicPartition], str]
"""Returns the consumer group that keeps a partition's entry."""


class HeldEntry(Protocol):
    """Entry of a partition; values that compare equal are one entry."""

    @property
    def transactional_id(self) -> str:
        """The id whose transactions may replace the entry."""


E = TypeVar("E", bound=HeldEntry)


async def read_commits(
    cluster: Cluster, group_of: GroupOf, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Returns the committed offsets that hold the entries of partitions, as far as they exist."""
    groups: dict[str, dict[str, list[int]]] = {}
    for partition in partitions:
        topics = groups.setdefault(group_of(partition), {})
        topics.setdefault(partition.topic, []).append(partition.partition)
    found = await gather_or_cancel(
        *(cluster.commits(group, list(topics.items())) for group, topics in groups.items())
    )
    return {partition: commit for commits in found for partition, commit in commits.items()}


class CommittedEntries(ABC, Generic[E]):
    """Reads and commits entries of partitions, in the form that a subclass gives them."""

    def __init__(self, cluster: Cluster):
        self._cluster = cluster

    @abstractmethod
    def group_for(self, partition: TopicPartition) -> str:
        """Returns the consumer group that keeps a partition's entry.

        Spreads the entries over groups; never changed once entries exist.
        """

    @abstractmethod
    def to_commit(self, entry: E) -> tuple[int, str]:
        """Returns an entry as an offset to commit, and its metadata."""

    @abstractmethod
    def from_commit(self, commit: OffsetAndMetadata) -> E:
        """Returns the entry of a committed offset; does not raise."""

    async def read(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, E]:
        """Returns the entries that exist."""
        commits = await read_commits(self._cluster, self.group_for, partitions)
        return {partition: self.from_commit(commit) for partition, commit in commits.items()}

    async def read_as_holder(
        self, holder: FencedCommitter, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, E]:
        """Returns today's entries, from coordinators that have just proved that they can write.

        Entries that name the holder's id cannot change until another client opens that id.
        """
        partitions = list(partitions)
        # 15 to 29 ms on an idle lab broker, of 240 to 450 ms for a takeover of 64 partitions.
        await holder.confirm_coordinators(sorted({self.group_for(each) for each in partitions}))
        return await self.read(partitions)

    async def commit(
        self,
        fenced_committer: FencedCommitter,
        entries: Mapping[TopicPartition, E],
        *,
        effects: Effects | None = None,
    ) -> None:
        """Commits entries that name the fenced committer's id, all or none. Raises Fenced.

        Args:
            effects: further writes of the same transaction (see FencedCommitter.commit).
        """

        def was_there(_: TopicPartition, shown: OffsetAndMetadata | None) -> bool:
            if self._is_held(fenced_committer, shown):
                return True
            raise Fenced(
                f"{fenced_committer.transactional_id}: another producer has replaced its entries"
            )

        await fenced_committer.commit(self.offsets(entries), was_there, effects)

    async def release(
        self, fenced_committer: FencedCommitter, entries: Mapping[TopicPartition, E]
    ) -> None:
        """Commits entries that free the fenced committer's partitions, all or none. Raises Fenced.

        Others may acquire these entries at once, so a replaced entry is no sign of a fence.
        """
        await fenced_committer.commit(
            self.offsets(entries), lambda _, shown: self._is_held(fenced_committer, shown)
        )

    async def replace(
        self,
        holder: FencedCommitter,
        before: Mapping[TopicPartition, E],
        entries: Mapping[TopicPartition, E],
        *,
        effects: Effects | None = None,
    ) -> None:
        """Replaces entries of any producer, all or none, in a transaction of the id that they name.

        Args:
            before: the entries as `read_as_holder` returned them. If another entry is shown, it is
                not known who may write it: an entry can come to name the same id again without
                that id being opened.
            effects: further writes of the same transaction (see FencedCommitter.commit).

        Raises:
            Fenced: a newer holder of the id exists, or another producer has replaced an entry.
        """

        def was_there(partition: TopicPartition, shown: OffsetAndMetadata | None) -> bool:
            if (self.from_commit(shown) if shown else None) == before.get(partition):
                return True
            raise Fenced(f"{holder.transactional_id}: another producer was faster")

        await holder.commit(self.offsets(entries), was_there, effects)

    def offsets(self, entries: Mapping[TopicPartition, E]) -> dict[str, OffsetRows]:
        """Returns entries as offsets to commit, by group."""
        groups: dict[str, list[Row]] = {}
        for partition, entry in entries.items():
            row = (*partition, *self.to_commit(entry))
            groups.setdefault(self.group_for(partition), []).append(row)
        return dict(groups)

    def _is_held(self, fenced_committer: FencedCommitter, shown: OffsetAndMetadata | None) -> bool:
        own_id = fenced_committer.transactional_id
        return shown is None or self.from_commit(shown).transactional_id == own_id
