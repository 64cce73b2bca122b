"""Checks of a feed into objects whose partitions get other logs.

Each object names a log in which there is its content, and no name is of two logs. What is in
today's log is in one object, under whichever name; what a former one had is in at most one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import Manifest
from aggregator.objects.object_name import ObjectName
from aggregator.objects.told_object import ToldObject
from balancer.topic_partition import TopicPartition
from tests.world.kafka.log_losses import LossCause
from tests.world.objects.object_feeding import ObjectFeeding
from tests.world.objects.object_load import Destination, ExpectedRecord
from tests.world.objects.server import Stored
from tests.world.objects.step_checks import Seen, StepChecks
from tests.world.sinks.log_watch import LogWatch
from tests.world.sinks.seen_logs import RecordOfLog, SeenLog
from tests.world.virtual_loop import VirtualLoop

Log = SeenLog[ExpectedRecord]


class LogChecks(LogWatch[ExpectedRecord], StepChecks):
    """Checks of one feed. Whatever they find ends the history at that moment."""

    def __init__(self, loop: VirtualLoop, feeding: ObjectFeeding) -> None:
        self.key_of: dict[RecordOfLog, str] = {}
        """Keys of objects by the records of their ranges."""
        super().__init__(loop, feeding)

    # -- objects

    def _take(
        self, place: TopicPartition, name: ObjectName, manifest: Manifest, stored: Stored
    ) -> None:
        content = self._feeding.settings.read(stored.data)
        self._note_range(place, name.encoded_partition, manifest, name.incarnation, content)

    def _take_empty(
        self, place: TopicPartition, folder: str, manifest: Manifest, incarnation: int
    ) -> None:
        if self._layout.key(place, folder, manifest.sealed_begin, incarnation) not in self.seen:
            self._note_range(place, folder, manifest, incarnation, [])

    def _note_range(
        self,
        place: TopicPartition,
        folder: str,
        manifest: Manifest,
        incarnation: int,
        content: list[Any],
    ) -> None:
        begin, end = manifest.begin, manifest.end
        key = self._layout.key(place, folder, manifest.sealed_begin, incarnation)
        found = [
            [RecordOfLog(place, log.origins[it], it) for it in offsets]
            for log in self._named_logs(place, incarnation, begin)
            if (offsets := self._offsets(log, folder, begin, end))
            and len(offsets) == manifest.records
            and content == _content(log, offsets)
        ]
        if not found:
            self._wrong(place, f"{key} is of no log that it names (56): {manifest}, {content[:3]}")
            return
        new = [each for each in found if all(self.key_of.get(it, key) == key for it in each)]
        if not new:
            taken = next(it for it in found[0] if self.key_of.get(it, key) != key)
            self._wrong(place, f"{taken} is in {self.key_of[taken]} and in {key} (39, 56)")
            return
        for it in new[0]:
            self.key_of[it] = key
            self._check_name(place, incarnation, it.origin, it.offset)
        told = manifest.sealed_begin, manifest.sealed_end
        self.seen[key] = Seen(place, folder, *told, len(new[0]), content)

    @staticmethod
    def _offsets(log: Log, folder: str, begin: int, end: int) -> list[int]:
        return [it for it in log.between(begin, end) if log.records[it].folder == folder]

    # -- intents

    def _goes_to(self, record: ExpectedRecord, table: str) -> bool:
        return record.folder == table

    def _fault(self, place: TopicPartition, intent: Intent, log: Log) -> str:
        if text := super()._fault(place, intent, log):
            return text
        if intent.position is not None:
            count = len(log.between(intent.reference, intent.position))
            if count != intent.count + intent.open_records:
                return f"{count} records up to the reading position"
        for name, each in intent.tables.items():
            for offset in self._offsets(log, name, each.begin, each.end):
                if not self._has_letter(place, log, offset):
                    return f"{offset} has no dead letter, and is named (42)"
        return ""

    def _is_stored(self, place: TopicPartition, log: Log, offset: int) -> bool:
        key = self.key_of.get(RecordOfLog(place, log.origins[offset], offset))
        # What retention has taken of a sealed object is told of with it, if that is complete.
        return self._is_deleted(place, offset) or (
            key in self.told_view.sent and self._has_letter(place, log, offset)
        )

    def _is_deleted(self, place: TopicPartition, offset: int) -> bool:
        """Returns True if retention took a record that was not passed: an operator accepts that."""
        lost = (it for it in self._cluster.lost if it.place == tuple(place))
        return any(it.cause is LossCause.RETENTION and offset < it.end for it in lost)

    def _has_letter(self, place: TopicPartition, log: Log, offset: int) -> bool:
        """Returns True if a record has a dead letter, or needs none."""
        record = log.records[offset]
        letters = self._letters_of(place, offset, record, self.letters.sent)
        return record.fate is not Destination.DEAD or any(letters)

    # -- the end

    def differences(self) -> list[str]:
        """Returns a text for each difference between the logs of today and the store."""
        found = self._passing_differences()
        for place in self._feeding.places:
            log = self.source.today(place)
            missing = [*self._missing(place, log)]
            if missing:
                found.append(f"{place}: {len(missing)} are not stored once: {missing[:3]}")
        return found

    def _missing(self, place: TopicPartition, log: Log) -> Iterator[str]:
        """Yields a text for each record of a log that is not in one object that is told of, or not
        one dead letter."""
        for offset, record in log.records.items():
            key = self.key_of.get(RecordOfLog(place, log.origins[offset], offset))
            if key is None and self._is_deleted(place, offset):
                continue
            if key is None or key not in self.told:
                yield f"{offset} is in {key}: {record}"
            elif record.fate is Destination.OBJECT and key not in self._feeding.server.objects:
                yield f"{offset}: {key} is gone"
            letters = self._letters_of(place, offset, record, self.letters.committed)
            count = sum(self.letters.committed[each] for each in letters)
            if count != (record.fate is Destination.DEAD):
                yield f"{offset} has {count} dead letters: {record}"

    def _told_object(self, told: ToldObject) -> None:
        place = TopicPartition(told.topic, told.partition)
        folder = told.encoded_partition
        if self._layout.key(place, folder, told.begin, told.incarnation) != told.key:
            self._wrong(place, f"{told} is told of another log (56)")
        super()._told_object(told)


def _content(log: Log, offsets: list[int]) -> list[Any]:
    """Returns the records of an object, as readers see them."""
    records = (log.records[it] for it in offsets)
    return [it.seen for it in records if it.fate is Destination.OBJECT]
