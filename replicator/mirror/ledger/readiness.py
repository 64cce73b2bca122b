"""Readiness: the partitions that can be acquired now, and the reasons for the others."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import MISSING_SECONDS_MAX, Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import is_over
from replicator.mirror.ledger.acquired import Acquired
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.ledger import Ledger

LOOK_AGAIN_SECONDS = 0.2
NOT_SHOWN = "the source does not show the topic"
ONE_TOPIC = (
    "source and target have the same topic id {}: both are one cluster, or one was made from a "
    "copy of the other's disks; mend the bootstrap addresses of the route's clusters"
)
REFUSED = "a right is missing in the {}: grant Describe (it comes with {}) on the topic"


class ParkedEntries:
    """Parked entries: which of them stay parked, and which are tried again.

    Args:
        fenced_committer, accept, limits, refusing: see Takeover.
    """

    def __init__(
        self,
        fenced_committer: FencedCommitter,
        accept: Collection[TopicPartition],
        limits: Mapping[str, int],
        refusing: Mapping[str, Collection[str]],
    ):
        self._fenced_committer = fenced_committer
        self._accept = accept
        self._limits, self._refusing = limits, refusing

    def keeps(self, partition: TopicPartition, entry: Entry) -> bool:
        """Returns True for a partition that is to stay parked.

        Another session than the one that parked it tries a record again that was too large, or that
        a config of the topic refused: a changed one begins an epoch, and a session cannot fence
        itself.
        """
        if entry.parked is None or partition in self._accept:
            return False
        if entry.is_held_by(self._fenced_committer.producer_id, self._fenced_committer.epoch):
            return True
        if entry.needs:
            return entry.needs.size_bytes > self._limits.get(partition.topic, 0)
        refusing = self._refusing.get(partition.topic)
        return refusing is None or not is_over(entry.parked, refusing)


class Readiness:
    """Checks entries and metadata before partitions are acquired.

    Args:
        accept: partitions whose losses an operator has accepted.
        parked: decides which entries stay parked.
        look_again_seconds: pause before missing entries are read once more.
    """

    def __init__(
        self,
        ledger: Ledger,
        source: Cluster,
        target: Cluster,
        accept: Collection[TopicPartition],
        parked: ParkedEntries,
        *,
        look_again_seconds: float = LOOK_AGAIN_SECONDS,
    ):
        self._ledger = ledger
        self._source = source
        self._target = target
        self._accept = accept
        self._parked = parked
        self._look_again_seconds = look_again_seconds

    async def exclude_unready(
        self,
        todo: set[TopicPartition],
        entries: Mapping[TopicPartition, Entry],
        acquired: Acquired,
    ) -> None:
        """Moves the partitions that cannot be acquired now out of `todo` and into `acquired`."""
        witnessed: dict[str, int] = {}
        gone: list[TopicPartition] = []
        for partition in list(todo):
            topic = partition.topic
            entry = entries.get(partition)
            if entry is None:
                if topic not in witnessed:
                    witnessed[topic] = await self._ledger.witnessed(topic)
                if partition.partition >= witnessed[topic]:
                    acquired.waiting[partition] = "not adopted yet"
                else:
                    gone.append(partition)
            elif self._parked.keeps(partition, entry):
                acquired.parked[partition] = str(entry.parked)
            elif self._target.is_refused(topic):
                acquired.waiting[partition] = REFUSED.format("target", "Write")
            elif self._target.leader(*partition) is None:
                acquired.waiting[partition] = "no leader in the target"
            elif self._source.is_refused(topic):
                acquired.waiting[partition] = REFUSED.format("source", "Read")
            elif shared_id := self._shared_topic_id(topic):
                acquired.waiting[partition] = ONE_TOPIC.format(shared_id)
            elif self._source.topic(topic) and self._source.leader(*partition) is None:
                acquired.waiting[partition] = "no leader in the source"
            elif entry.source_topic is None and self._source.topic(topic) is None:
                acquired.waiting[partition] = "no such topic in the source"
            elif self._source.topic(topic) is None and not self.is_deleted(partition):
                acquired.waiting[partition] = NOT_SHOWN
            else:
                continue
            todo.discard(partition)
        if gone:
            await self._look_again(gone, acquired)

    def _shared_topic_id(self, name: str) -> UUID | None:
        """Returns the topic id if both ends report the same one.

        A topic that is mirrored onto itself would grow forever.
        """
        source, target = self._source.topic(name), self._target.topic(name)
        return source.id if source and target and source.id == target.id else None

    def is_deleted(self, partition: TopicPartition) -> bool:
        """Returns True when a topic that the source does not show was deleted.

        A broker that is starting does not know any topic. So the topic counts as deleted only after
        MISSING_SECONDS_MAX, or when an operator has accepted its loss.
        """
        seconds = self._source.missing_seconds(partition.topic)
        return partition in self._accept or seconds >= MISSING_SECONDS_MAX

    async def _look_again(self, gone: list[TopicPartition], acquired: Acquired) -> None:
        """Reads missing entries once more: their adoption may have ended after the first read."""
        await asyncio.sleep(self._look_again_seconds)
        entries = await self._ledger.read(gone)
        acquired.waiting |= dict.fromkeys(entries, "adopted just now")
        lost = (
            "the ledger entry is gone: the target topic was deleted, or its cluster let committed "
            "offsets expire (offsets.retention.minutes)"
        )
        acquired.parked |= {partition: lost for partition in gone if partition not in entries}
