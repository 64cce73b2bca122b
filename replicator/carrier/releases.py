"""Releases: what a stint shall not take before whoever holds it has let go of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from math import inf

from balancer.plan import TopicPartition
from replicator.ledger.entry import Custody, Entry
from replicator.ledger.writer import base_id


class Releases:
    """Partitions that only certain entries allow to be acquired. It knows no clock and no ledger.

    Args:
        own_id: of the writer. What is held under it nobody else will release.
        promise_seconds: so long it is waited for what another carrier was told to leave. Longer
            than a living one takes for a batch that the target does not acknowledge.
    """

    def __init__(self, own_id: Callable[[], str], promise_seconds: float) -> None:
        self._own_id = own_id
        self._promise_seconds = promise_seconds
        self._promised: dict[TopicPartition, float] = {}
        self._reclaimed: set[TopicPartition] = set()
        self._seen: dict[TopicPartition, float] = {}
        """By partition that another holds, since when we know."""
        self._heard = -inf

    @property
    def is_awaiting(self) -> bool:
        """Whether something may soon be taken that may not be now."""
        return bool(self._promised) or any(at >= self._heard for at in self._seen.values())

    def heard(self, asked_at: float) -> None:
        """The driver's word, as it was at that time or later, has been followed."""
        self._heard = asked_at

    def promise(self, partitions: Iterable[TopicPartition], now: float) -> None:
        """Another carrier was told to leave them: theirs until then, or until its time is over."""
        for partition in partitions:
            self._promised[partition] = now + self._promise_seconds
            self._reclaimed.discard(partition)

    def reclaim(self, partitions: Iterable[TopicPartition]) -> None:
        """Ours only as long as they are held under our own id, by a writer before this one."""
        self._reclaimed |= set(partitions)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """They have been taken, or nobody wants them any more."""
        for partition in partitions:
            self._promised.pop(partition, None)
            self._reclaimed.discard(partition)
            self._seen.pop(partition, None)

    def spared(
        self, entries: Mapping[TopicPartition, Entry | None], now: float
    ) -> set[TopicPartition]:
        """Those that have not been left yet, and those that there is nothing to reclaim of.

        Nor is anything taken by force upon a word that is older than the sight of who holds it: by
        now it may be the holder's.
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
        """Those of them that were to be reclaimed: they have been released, or taken from us."""
        return self._reclaimed & set(spared)

    def _is_held(self, entry: Entry | None, *, by_us: bool) -> bool:
        if entry is None or entry.custody is not Custody.HELD or entry.parked:
            return False
        return by_us == (base_id(entry.transactional_id) == base_id(self._own_id()))
