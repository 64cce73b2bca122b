"""Releases: partitions that a carrier session may not acquire until their holders release them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import inf

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.fenced_committer import base_id
from replicator.mirror.ledger.entry import Custody, Entry


class Releases:
    """Decides which partitions may be acquired, from their entries. It has no clock and no ledger.

    Args:
        own_id: our transactional id, rotated or not. Nobody else releases what is held under it.
        promise_seconds: longest wait for another carrier's release. It exceeds the time that a live
            carrier waits for an unacknowledged batch.
    """

    def __init__(self, own_id: str, promise_seconds: float) -> None:
        self._own_id = base_id(own_id)
        self._promise_seconds = promise_seconds
        self._promised: dict[TopicPartition, float] = {}
        self._reclaimed: set[TopicPartition] = set()
        self._seen: dict[TopicPartition, float] = {}
        """Time since when a partition is known to be held by another carrier."""
        self._heard = -inf

    @property
    def is_awaiting(self) -> bool:
        """True if a partition that cannot be acquired now may be soon."""
        return bool(self._promised) or any(at >= self._heard for at in self._seen.values())

    def heard(self, asked_at: float) -> None:
        """Notes that a driver command read at `asked_at` or later has been applied."""
        self._heard = asked_at

    def promise(self, partitions: Iterable[TopicPartition], now: float) -> None:
        """Leaves partitions to carriers that must release them, for promise_seconds at most."""
        for partition in partitions:
            self._promised[partition] = now + self._promise_seconds
            self._reclaimed.discard(partition)

    def reclaim(self, partitions: Iterable[TopicPartition]) -> None:
        """Allows acquiring partitions only while they are held under our own id."""
        self._reclaimed |= set(partitions)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Drops all rules for partitions that were acquired or are not wanted any more."""
        for partition in partitions:
            self._promised.pop(partition, None)
            self._reclaimed.discard(partition)
            self._seen.pop(partition, None)

    def spared(
        self, entries: Mapping[TopicPartition, Entry | None], now: float
    ) -> set[TopicPartition]:
        """Returns the partitions that may not be acquired: not released yet, or nothing to reclaim.

        A holder seen for the first time after the last applied command was read is not fenced until
        a newer command has been read: that command may have given it the partition.
        """
        for partition in [each for each, until in self._promised.items() if until < now]:
            del self._promised[partition]
        return {each for each, entry in entries.items() if self._is_spared(each, entry, now)}

    def _is_spared(self, partition: TopicPartition, entry: Entry | None, now: float) -> bool:
        if partition in self._reclaimed:
            return not self._is_held(entry, by_us=True)
        if not self._is_held(entry, by_us=False):
            self._seen.pop(partition, None)
            return False
        seen = self._seen.setdefault(partition, now)
        return partition in self._promised or seen >= self._heard

    def lost(self, spared: Collection[TopicPartition]) -> set[TopicPartition]:
        """Returns the spared partitions that were to be reclaimed: this carrier has lost them."""
        return self._reclaimed & set(spared)

    def _is_held(self, entry: Entry | None, *, by_us: bool) -> bool:
        if entry is None or entry.custody is not Custody.HELD or entry.parked:
            return False
        return by_us == (base_id(entry.transactional_id) == self._own_id)
