"""Releases: what a stint shall not take before whoever holds it has let go of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

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

    @property
    def is_any_promised(self) -> bool:
        return bool(self._promised)

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

    def spared(self, entries: Mapping[TopicPartition, Entry], now: float) -> set[TopicPartition]:
        """Those that have not been left yet, and those that there is nothing to reclaim of."""
        for partition in [each for each, until in self._promised.items() if until < now]:
            del self._promised[partition]
        return {
            partition
            for partition, entry in entries.items()
            if (partition in self._promised and self._is_held(entry, by_us=False))
            or (partition in self._reclaimed and not self._is_held(entry, by_us=True))
        }

    def lost(self, spared: Collection[TopicPartition]) -> set[TopicPartition]:
        """Those of them that were to be reclaimed: they have been released, or taken from us."""
        return self._reclaimed & set(spared)

    def _is_held(self, entry: Entry, *, by_us: bool) -> bool:
        is_held = entry.custody is Custody.HELD and not entry.parked
        return is_held and by_us == (base_id(entry.transactional_id) == base_id(self._own_id()))
