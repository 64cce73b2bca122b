"""Rewinds that operators have asked for, each as the ledger shows it, and what they repeat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.entry import Entry
from tests.world.checks.entry_view import EntryView
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.mirror.mirroring import ROUTE


@dataclass(frozen=True, slots=True)
class Repeated:
    """Source offsets goes_on_at..was_at-1, which are carried once more."""

    was_at: int
    goes_on_at: int


class Rewinds:
    """Rewinds of one route.

    An entry that goes back counts as a rewind only where an operator has asked for just that, and
    if it says that a rewind was made. So it does not matter whether the operator learns of it.
    """

    def __init__(self, target: KafkaCluster) -> None:
        self._asked: dict[TopicPartition, set[int]] = {}
        self._done: dict[TopicPartition, list[Repeated]] = {}
        self._entries: dict[TopicPartition, Entry] = {}
        EntryView(target, ROUTE, self._seen)

    def are_asked(self, place: TopicPartition) -> bool:
        """Returns True if an operator has wanted to rewind a partition."""
        return place in self._asked

    def ask(self, place: TopicPartition, offset: int) -> None:
        """Notes that an operator is about to rewind a partition to a source offset."""
        self._asked.setdefault(place, set()).add(offset)

    def done(self, place: TopicPartition) -> Sequence[Repeated]:
        """Returns the rewinds of a partition that the ledger has shown, in order."""
        return self._done.get(place, ())

    def expected(self, place: TopicPartition, records: Iterable[tuple[int, bytes]]) -> list[bytes]:
        """Returns the values that the target has to have, from the source's records by offset."""
        known, begin, found = list(records), 0, []
        for each in self.done(place):
            found += [value for offset, value in known if begin <= offset < each.was_at]
            begin = each.goes_on_at
        return found + [value for offset, value in known if offset >= begin]

    def _seen(self, place: TopicPartition, entry: Entry) -> None:
        before, self._entries[place] = self._entries.get(place), entry
        if (
            before is not None
            and entry.losses == before.losses + 1
            and entry.source_offset in self._asked.get(place, ())
        ):
            repeated = Repeated(before.source_offset, entry.source_offset)
            self._done.setdefault(place, []).append(repeated)
