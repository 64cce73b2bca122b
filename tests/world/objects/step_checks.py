"""Checks at each step of a feed into objects: rules 38 to 43 and 48 of docs/invariants.md, and
the verifier's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crc32c import crc32c

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import Manifest
from aggregator.loader.object_layout import ObjectLayout
from aggregator.objects.forgotten import Forgotten, Removed
from aggregator.objects.object_name import ObjectName, parsed
from aggregator.objects.told_object import ToldObject
from aggregator.s3.object_listing import ToldRecord
from balancer.topic_partition import TopicPartition
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.client.loss import LossKind
from tests.aggregator.verifier.judged import judged
from tests.world.objects import losses
from tests.world.objects.forgetting import ForgottenView
from tests.world.objects.log_ranges import LogRanges
from tests.world.objects.object_feeding import PREFIX, ObjectFeeding
from tests.world.objects.object_load import Destination, ExpectedRecord
from tests.world.objects.server import Stored, etag_of
from tests.world.objects.told_view import ToldView
from tests.world.sinks.decided_intents import decided_intents
from tests.world.sinks.feed_checks import FeedChecks
from tests.world.sinks.letter_view import RecordPlace
from tests.world.sinks.loaded_feed import CLUSTER, FEED
from tests.world.virtual_loop import VirtualLoop

FOREIGN = b"of somebody else"
"""Begin of the content of objects that no loader wrote."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Object in the store.

    Args:
        records: number of records of its range, those that are not in it included.
        content: records in it, as readers see them.
    """

    place: TopicPartition
    folder: str
    begin: int
    end: int
    records: int
    content: Sequence[Any]


class StepChecks(FeedChecks[ExpectedRecord]):
    """Checks of one feed. Whatever they find ends the history at that moment.

    - An object is written only once an intent names its range, size and checksum (48). It holds
      exactly the records of its encoded partition in this range. It shares none with another one,
      and what is under a name never changes.
    - Where the log alone decides, each object is the one that it decides.
    - The offset of an intent passes only records that are in an object that is told of, dead
      letters, or left out (38, 39); the same holds below each range that it names for an encoded
      partition.
    - The reading position is the reference, and all records and holes behind it.
    - Manifests are removed only of objects that are gone and passed, and that are known as
      forgotten (63).
    - Objects are told of once, and only when they are there (48).
    - Dead letters of an object that an intent names are on disk when the intent is committed, and
      none is committed twice (42).
    - The verifier has nothing to say about any intent. None is parked but for another object under
      its name, or for records that the log has lost (43).
    """

    def __init__(self, loop: VirtualLoop, feeding: ObjectFeeding) -> None:
        settings = feeding.settings
        super().__init__(loop, feeding, settings.wanted)
        self._feeding = feeding
        self.told_view = ToldView(feeding.cluster, FEED, self._told)
        self.seen: dict[str, Seen] = {}
        """Objects of the feed by key."""
        self.told: dict[str, ToldObject] = {}
        self.forgotten = ForgottenView()
        self.shown: dict[str, set[str]] = {}
        """ETags, by key, of contents that an operator lets be overwritten."""
        self.log_ranges = {place: LogRanges(settings) for place in feeding.places}
        self._named: dict[tuple[TopicPartition, str, int, int], list[Manifest]] = {}
        """Manifests by partition, folder, begin and incarnation."""
        self.object_of: dict[TopicPartition, dict[int, str]] = {it: {} for it in feeding.places}
        self._settled = dict.fromkeys(feeding.places, 0)
        assert isinstance(feeding.feed, ObjectFeed)
        self._layout = ObjectLayout(feeding.feed, str(CLUSTER))
        self._watch_intents()
        feeding.server.written = self._written

    def between(
        self, place: TopicPartition, begin: int, end: int
    ) -> list[tuple[int, ExpectedRecord]]:
        """Returns the records with offsets begin..end-1, up to where the log lost some."""
        return self.source.between(place, begin, min(end, losses.intact_to(self._cluster, place)))

    # -- objects

    def _written(self, key: str, stored: Stored, before: Stored | None) -> None:
        name = parsed(key, PREFIX)
        assert name is not None, f"{key} is no name of an object"
        place = TopicPartition(name.topic, name.partition)
        is_given_up = before is not None and etag_of(before.data) in self.shown.get(key, ())
        if stored.data.startswith(FOREIGN):
            return
        if before is not None and before.data != stored.data and not is_given_up:
            self._wrong(place, f"{key} had {len(before.data)} other bytes (48, 51)")
        if before is not None and not is_given_up:
            return
        about = place, name.encoded_partition, name.begin, name.incarnation
        named = self._named.get(about, [])
        identity = len(stored.data), crc32c(stored.data)
        manifest = next((it for it in named if (it.size_bytes, it.crc32c) == identity), None)
        if manifest is None:
            manifest = self._decided(place, name, identity)
        if manifest is None:
            self._wrong(place, f"{key} is written, and no intent names it (48)")
        else:
            self._take(place, name, manifest, stored)

    def _take(
        self, place: TopicPartition, name: ObjectName, manifest: Manifest, stored: Stored
    ) -> None:
        """Takes in an object that an intent names."""
        if manifest.end > losses.intact_to(self._cluster, place):
            # Sealed before the log lost records, and completed behind that.
            folder, begin, end = name.encoded_partition, manifest.begin, manifest.end
            for offset, record in self.between(place, begin, end):
                if record.folder == folder:
                    self.object_of[place].setdefault(offset, name.key)
            self.seen[name.key] = Seen(place, folder, begin, end, manifest.records, ())
        else:
            self._check_content(place, name, manifest, stored)

    def _check_content(
        self, place: TopicPartition, name: ObjectName, manifest: Manifest, stored: Stored
    ) -> None:
        key, begin, end = name.key, manifest.begin, manifest.end
        mine = [
            (offset, record)
            for offset, record in self.between(place, begin, end)
            if record.folder == name.encoded_partition
        ]
        wanted = [record.seen for _, record in mine if record.fate is Destination.OBJECT]
        found = self._feeding.settings.read(stored.data)
        if found != wanted:
            text = f"[{begin}, {end}) has {len(wanted)} records, the object {len(found)}"
            self._wrong(place, f"{key}: {text}: {wanted[:3]}, {found[:3]}")
        if len(mine) != manifest.records or len(mine) - len(wanted) != manifest.left_out:
            self._wrong(place, f"{key}: {len(mine)} records of the range, {manifest}")
        for offset, _ in mine:
            other = self.object_of[place].setdefault(offset, key)
            if other != key:
                self._wrong(place, f"{offset} is in {other} and in {key} (39)")
        self.seen[key] = Seen(place, name.encoded_partition, begin, end, len(mine), found)
        # The log may have lost the record that has ended it, or undone it, before it was looked at.
        is_intact = losses.intact_to(self._cluster, place) == losses.EVERYTHING
        if self._feeding.settings.by_log and is_intact:
            ranges = self.ranges(place)
            if (name.encoded_partition, begin, end) not in ranges.ended:
                self._wrong(place, f"{key} ends at {end}; the log has no such object (39)")

    def _decided(
        self, place: TopicPartition, name: ObjectName, identity: tuple[int, int]
    ) -> Manifest | None:
        """Returns the manifest of an object, if the commit of its intent is decided."""
        for found, intent in decided_intents(self._cluster, FEED):
            it = intent.tables.get(name.encoded_partition)
            if (
                found == place
                and isinstance(it, Manifest)
                and (it.begin, it.size_bytes, it.crc32c) == (name.begin, *identity)
                and intent.incarnation_at(it.begin) == name.incarnation
            ):
                return it
        return None

    def _take_empty(
        self, place: TopicPartition, folder: str, manifest: Manifest, incarnation: int
    ) -> None:
        """Notes an object that is never written, as all its records are dead or left out."""
        key = self._layout.key(place, folder, manifest.begin, incarnation)
        begin, end = manifest.begin, manifest.end
        for offset, record in self.between(place, begin, end):
            if record.folder == folder:
                self.object_of[place].setdefault(offset, key)
                if record.fate is Destination.OBJECT:
                    self._wrong(place, f"{key} is not written, and {offset} belongs into it (38)")
        self.seen[key] = Seen(place, folder, begin, end, manifest.records, ())

    def ranges(self, place: TopicPartition) -> LogRanges:
        ranges = self.log_ranges[place]
        ranges.add(self.between(place, ranges.position, 1 << 60))
        return ranges

    # -- what is told

    def _told(self, record: ToldRecord) -> None:
        match record:
            case Forgotten(log):
                self.forgotten.of[log] = record
            case Removed(key):
                self._removed(key)
            case ToldObject():
                self._told_object(record)

    def _removed(self, key: str) -> None:
        told = self.told.get(key)
        place = TopicPartition(told.topic, told.partition) if told else self._feeding.places[0]
        is_there, seen = key in self._feeding.server.objects, self.intents[place]
        if text := self.forgotten.flaw(told, is_there, seen[-1] if seen else None):
            self._wrong(place, f"the manifest of {key} {text} (63)")

    def _told_object(self, told: ToldObject) -> None:
        place = TopicPartition(told.topic, told.partition)
        seen = self.seen.get(told.key)
        if told.key in self.told:
            self._wrong(place, f"{told.key} is told twice (48)")
        if seen is None:
            self._wrong(place, f"{told.key} is told, and is not there (48)")
        elif (seen.begin, seen.end, seen.records) != (told.begin, told.end, told.records):
            self._wrong(place, f"{told} is told, and {seen} is there (48)")
        self.told[told.key] = told

    # -- intents

    def _intent_seen(self, place: TopicPartition, intent: Intent) -> None:
        before = self.intents[place][-1:] if place not in self.rest.gone else []
        self._note(place, intent)
        is_lost = losses.explain(self._cluster, place, intent)
        is_known = is_lost or self._is_taken(intent) or self._is_failing(place, intent)
        if intent.parked and not (is_known or self.rest.explains(intent)):
            self._wrong(place, f"parked: {intent.parked}")
        if losses.is_of_other_log(self._cluster, place, intent):
            self._wrong(place, f"goes on in another topic of the name (43): {intent}")
        for finding in judged([*before, intent]) if before else ():
            self._wrong(place, f"the verifier says: {finding}")
        self._check_account(place, intent)
        for offset, record in self.between(place, self._settled[place], intent.offset):
            self._check_passed(place, offset, record, intent)
        self._settled[place] = max(self._settled[place], intent.offset)
        for name, each in intent.tables.items():
            for offset, record in self.between(place, intent.offset, each.begin):
                if record.folder == name:
                    self._check_passed(place, offset, record, intent)
            for offset, record in self.between(place, each.begin, each.end):
                if record.folder == name and record.fate is Destination.DEAD:
                    self._check_letter(place, offset, intent)

    def _note_named(self, place: TopicPartition, intent: Intent) -> None:
        for name, each in intent.tables.items():
            if isinstance(each, Manifest):
                log = intent.incarnation_at(each.begin)
                named = self._named.setdefault((place, name, each.sealed_begin, log), [])
                if each not in named:
                    named.append(each)
                    if each.is_empty:
                        self._take_empty(place, name, each, log)

    def check_waits(self, bound_seconds: float) -> None:
        """Checks that no record waits longer than this for its object, whoever reads it (60)."""
        before = self._loop.time() - bound_seconds
        for place, seen_at in self.source.seen_at.items():
            for offset, record in self.between(place, self._settled[place], 1 << 60):
                if seen_at[offset] < before and offset not in self.object_of[place]:
                    self._wrong(place, f"{offset} waits for {bound_seconds} s (60): {record}")
                    return

    def _is_taken(self, intent: Intent) -> bool:
        """Returns True if an intent is parked for an object of somebody else."""
        loss = intent.parked
        objects = self._feeding.server.objects
        return (
            loss is not None
            and loss.kind is LossKind.OBJECT_TAKEN
            and any(
                it.data.startswith(FOREIGN)
                for key, it in objects.items()
                # An intent has text in ASCII.
                if key.encode("ascii", "replace").decode() in loss.detail
            )
        )

    def _is_failing(self, place: TopicPartition, intent: Intent) -> bool:
        """Returns True if an intent is parked for a fatal record, and names an offset before it."""
        loss, defect = intent.parked, self._feeding.defect
        if loss is None or loss.kind is not LossKind.LOADER_FAILED or defect is None:
            return False
        read = self.between(place, max(loss.begin, intent.offset), 1 << 60)
        return not defect.is_mended and any(it.is_fatal for _, it in read)

    def check_parked(self, seconds: float) -> None:
        """Checks that each partition with a fatal record that was there so long is parked (59)."""
        before = self._loop.time() - seconds
        for place, seen_at in self.source.seen_at.items():
            fatal = [at for at, it in self.source.today(place).records.items() if it.is_fatal]
            found = self.intents[place][-1].parked
            if fatal and seen_at[min(fatal)] < before and found is None:
                self._wrong(place, f"is not parked {seconds} s behind {min(fatal)} (59)")

    def _check_account(self, place: TopicPartition, intent: Intent) -> None:
        if intent.position is None or intent.position > losses.intact_to(self._cluster, place):
            return
        records = len(self.between(place, intent.reference, intent.position))
        if intent.count + intent.open_records != records:
            self._wrong(place, f"{records} records up to the reading position: {intent}")

    def _check_passed(
        self, place: TopicPartition, offset: int, record: ExpectedRecord, intent: Intent
    ) -> None:
        key = self.object_of[place].get(offset)
        if key is None:
            self._wrong(place, f"{offset} is passed, and in no object (38): {record}, {intent}")
        elif key not in self.told_view.sent:
            self._wrong(place, f"{offset} is passed, and {key} not told of (48): {intent}")
        if record.fate is Destination.DEAD:
            self._check_letter(place, offset, intent)

    def _check_letter(self, place: TopicPartition, offset: int, intent: Intent) -> None:
        if RecordPlace(*place, offset) not in self.letters.sent:
            self._wrong(place, f"{offset} has no dead letter, and is named (42): {intent}")
