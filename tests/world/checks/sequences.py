"""Sequences at each step: an entry names the sequence that follows its writer's last one."""

from __future__ import annotations

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.entry import SEQUENCE_MASK, Entry
from tests.world.checks.entry_view import EntryView
from tests.world.checks.log_reading import LogReading
from tests.world.checks.wrong import Wrong
from tests.world.kafka.partition import Observer, Partition
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.scene import Scene

Writer = tuple[TopicPartition, int, int]


class Sequences(Observer):
    """Check of one route. An entry that begins again under its writer's epoch ends the history.

    A broker takes a batch whose sequences it knows for a duplicate, and answers success.
    """

    def __init__(self, scene: Scene) -> None:
        self._loop = scene.loop
        self._last: dict[Writer, list[tuple[int, int]]] = {}
        """End offsets and last sequences of the batches, by writer of a partition."""
        self._readings: dict[TopicPartition, LogReading] = {}
        target = scene.mirroring.target
        for place in scene.places:
            partition = target.partition(*place)
            assert partition is not None
            self._readings[place] = LogReading(partition)
            partition.observers.append(self)
        EntryView(target, ROUTE, self._entry_seen)

    def advanced(self, partition: Partition) -> None:
        place = TopicPartition(partition.topic, partition.number)
        for batch in self._readings[place].batches():
            if not batch.is_marker:
                writer = (place, batch.producer_id, batch.producer_epoch)
                self._last.setdefault(writer, []).append((batch.end, batch.last_sequence))

    def _entry_seen(self, place: TopicPartition, entry: Entry) -> None:
        written = self._last.get((place, entry.producer_id, entry.epoch), [])
        before = [last for end, last in written if end <= entry.target_offset]
        before += [
            batch.last_sequence
            for batch in self._readings[place].ahead(entry.target_offset)
            if (batch.producer_id, batch.producer_epoch) == (entry.producer_id, entry.epoch)
            and not batch.is_marker
        ]
        if before and (before[-1] + 1) & SEQUENCE_MASK != entry.sequence:
            self._loop.fail(
                Wrong(
                    f"{place.topic}-{place.partition}: the entry goes on at sequence "
                    f"{entry.sequence}, and its writer's last one was {before[-1]}: {entry}"
                )
            )
