"""Progress of one Kafka partition into objects: what is read, open, sealed and passed. No I/O.

Records come in by encoded partition, in offset order. Those of one encoded partition form objects,
one behind the other: the first is written while it is *open*, is *sealed* by an intent that names
its range, and is *passed* once it is complete in the store and told. After a takeover open objects
begin anew; of a sealed one the same range is read again, if the store does not have it yet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic

import numpy as np
import numpy.typing as npt

from aggregator.intents.holes import Holes
from aggregator.intents.intent import Intent, fits
from aggregator.intents.read_times import ReadTimes
from aggregator.intents.reading import Mode, ReadAgain
from aggregator.intents.table_range import Manifest, TableRange
from aggregator.objects.intent_reserve import reserved
from aggregator.objects.object_draft import ObjectDraft, S, Slice, Versions
from aggregator.objects.rotation import NO_TIME, Ending, Rotation
from replicator.kafka.client.custody import Custody

Ints = npt.NDArray[np.int64]
UNTOLD_SECONDS = 5.0
"""Age of an object that a loader which is killed takes with it."""


@dataclass(slots=True)
class _Objects(Generic[S]):
    """Objects of one encoded partition.

    Args:
        passed_to: every record of it below is passed.
        sealed: object that may be complete in the store, and is not known to be.
        replay: records of `sealed` as they are read again; None for one sealed since the takeover.
        drafts: objects behind it; only the last one may take further records.
    """

    passed_to: int
    sealed: Manifest | None = None
    replay: ObjectDraft[S] | None = None
    drafts: deque[ObjectDraft[S]] = field(default_factory=deque)

    @property
    def open(self) -> ObjectDraft[S] | None:
        """The object that takes further records."""
        return self.drafts[-1] if self.drafts and self.drafts[-1].ending is None else None

    @property
    def first(self) -> int | None:
        """First offset that is not passed; None if there is none."""
        if self.sealed is not None:
            return self.sealed.begin
        return self.drafts[0].begin if self.drafts else None


class ObjectProgress(Generic[S]):
    """Progress from an intent on.

    Args:
        rotation: where objects end.
        intent: as it was taken over.
        layout: fingerprint of the settings that decide a record's encoded partition.
        versions: of schemas that share objects; None: there are none.
    """

    def __init__(
        self, rotation: Rotation, intent: Intent, layout: str = "", versions: Versions | None = None
    ) -> None:
        self.position = intent.offset
        """Next offset to read."""
        self.leader_epoch = intent.leader_epoch
        """Leader epoch of the last batch read (-1: none yet)."""
        self.dead_letters = intent.dead_letters
        """Records set aside since the partition was adopted, with those of the next commit."""
        self._rotation, self._versions = rotation, versions
        # Whoever takes over later has to know by which settings the names are.
        self.layout = intent.layout if intent.tables else layout
        """Fingerprint of the settings by which the names of folders are those of the intent."""
        self._intent = intent
        self._count, self._now = 0, 0.0
        self._holes = Holes(intent.offset)
        self._times = ReadTimes(intent.position or 0, intent.read_times)
        self._objects: dict[str, _Objects[S]] = {}
        for name, each in intent.tables.items():
            self._objects[name] = _Objects(each.begin)
            if isinstance(each, Manifest):
                self._objects[name].sealed = each
                self._objects[name].replay = ObjectDraft(each.begin, 0.0)

    # -- reading

    def add(
        self, offsets: Ints, next_offset: int, by_table: Mapping[str, S], now: float
    ) -> ReadAgain:
        """Takes in what was read from `position` up to `next_offset`.

        Args:
            offsets: of all records read, ascending.
            by_table: the same records by encoded partition.
            now: Unix time.
        """
        batch = _batch(by_table)
        self._times.note(self.position, now)
        again = replayed = 0
        for name, part in by_table.items():
            objects = self._objects.setdefault(name, _Objects(self._intent.offset))
            before = objects.replay.records if objects.replay else 0
            again += self._add(objects, part, batch, now)
            replayed += objects.replay.records - before if objects.replay else 0
        for name, objects in self._objects.items():
            if name not in by_table and (draft := objects.open):
                self._end_by_record_time(draft, batch)
        self._holes.add(offsets, next_offset)
        self.position = next_offset
        self._count += again
        return ReadAgain(replayed, again - replayed)

    def _add(self, objects: _Objects[S], part: S, batch: _Batch, now: float) -> int:
        """Returns the number of records that were sealed or passed before."""
        begin = objects.passed_to
        if objects.sealed is not None:
            begin = objects.sealed.end
            again = part.between(objects.sealed.begin, begin)
            if objects.replay is not None and len(again.offset):
                objects.replay.append(again)
        end = int(part.offset[-1]) + 1
        later = part if int(part.offset[0]) >= begin else part.between(begin, end)
        left = later
        while len(left.offset):
            left = self._draft(objects, left, batch, now)
        return len(part.offset) - len(later.offset)

    def _draft(self, objects: _Objects[S], part: S, batch: _Batch, now: float) -> S:
        """Appends to the open object what belongs to it; returns the records behind."""
        draft = objects.open
        if draft is None:
            begin = int(part.offset[0])
            draft = ObjectDraft(begin, self._times.since(begin, now))
            objects.drafts.append(draft)
        end = int(part.offset[-1]) + 1
        beyond = self._beyond(draft, batch, part)
        within = part if beyond is None else part.between(0, beyond)
        changed = self._changed(draft, within)
        if changed is not None:
            within = within.between(0, changed)
        taken, ending = self._rotation.room(draft.records, draft.input_bytes, within.record_bytes)
        if taken < len(within.offset):
            within = within.between(0, int(within.offset[taken]))
        elif ending is None and changed is not None:
            ending = Ending.SCHEMA
        elif ending is None and beyond is not None:
            ending = Ending.RECORD_TIME
        if len(within.offset):
            draft.append(within)
        draft.ending = ending
        return part.between(draft.end, end)

    def _changed(self, draft: ObjectDraft[S], part: S) -> int | None:
        """Returns the offset of the first record whose version the object does not take."""
        if self._versions is None or not len(part.offset):
            return None
        draft.schema, at = self._versions.first_change(draft.schema, part)
        return None if at is None else int(part.offset[at])

    def _end_by_record_time(self, draft: ObjectDraft[S], batch: _Batch) -> None:
        if self._beyond(draft, batch, None) is not None:
            draft.ending = Ending.RECORD_TIME

    def _beyond(self, draft: ObjectDraft[S], batch: _Batch, part: S | None) -> int | None:
        """Returns the offset of the first record of the batch that ends the object by record time.

        Args:
            part: records that the object is about to take.
        """
        first_ms, since = draft.first_ms, 0
        if first_ms == NO_TIME and part is not None:
            at = np.flatnonzero(part.timestamp_ms != NO_TIME)[:1]
            if len(at):
                first_ms = int(part.timestamp_ms[at[0]])
                since = int(np.searchsorted(batch.offsets, part.offset[at[0]])) + 1
        found = self._rotation.first_beyond(first_ms, batch.timestamps[since:])
        return None if found is None else int(batch.offsets[since + found])

    # -- state

    @property
    def offset(self) -> int:
        """Offset below which everything is passed: the next intent's offset."""
        firsts = (each.first for each in self._objects.values())
        return min([self.position, *(first for first in firsts if first is not None)])

    @property
    def open_records(self) -> int:
        """Records that no intent names yet."""
        return sum(draft.records for draft in self._drafts())

    @property
    def buffered_bytes(self) -> int:
        """Memory of the records that nobody has taken yet."""
        replays = [each.replay for each in self._objects.values() if each.replay]
        return sum(draft.size_bytes for draft in [*self._drafts(), *replays])

    @property
    def in_flight(self) -> dict[str, TableRange]:
        """Objects that an intent names, by encoded partition."""
        return {name: each.sealed for name, each in self._objects.items() if each.sealed}

    @property
    def buffering(self) -> dict[str, float]:
        """Encoded partitions with records that no intent names, and since when."""
        return {name: each.drafts[0].since for name, each in self._objects.items() if each.drafts}

    @property
    def mode(self) -> Mode:
        is_replaying = any(each.replay is not None for each in self._objects.values())
        is_behind = any(self.position < each.passed_to for each in self._objects.values())
        return Mode.REPLAY if is_replaying or is_behind else Mode.CONSUME

    @property
    def is_flushed(self) -> bool:
        """Never True: there are no forced flushes, since each intent tells of all records."""
        return False

    def _drafts(self) -> Iterator[ObjectDraft[S]]:
        for each in self._objects.values():
            yield from each.drafts

    # -- intents

    def intent(
        self, custody: Custody, producer_id: int, epoch: int, transactional_id: str
    ) -> Intent:
        """Returns the intent of now."""
        return Intent(
            custody=custody,
            offset=self.offset,
            tables=self._named(),
            reference=self._intent.offset,
            count=self._count,
            holes=self._holes.up_to(self.position),
            position=self.position,
            open_records=self.open_records,
            read_times=self._times.behind(self.offset),
            layout=self.layout,
            producer_id=producer_id,
            epoch=epoch,
            transactional_id=transactional_id,
            topic_id=self._intent.topic_id,
            leader_epoch=self.leader_epoch,
            losses=self._intent.losses,
            dead_letters=self.dead_letters,
        )

    def committed(self, intent: Intent) -> None:
        """Notes that an intent is committed."""

    def tells_age(self, intent: Intent) -> bool:
        """Returns True if whoever takes over from an intent knows how old the oldest open object
        is, or if it was too young to matter when the clock was asked last."""
        offset = self.offset
        is_told = offset >= self.position or offset < (intent.position or 0)
        return is_told or self._times.read_at(offset, self._now) > self._now - UNTOLD_SECONDS

    def can_release(self, intent: Intent) -> bool:
        """Returns True if no object is sealed, and the intent says what is passed. Open objects
        begin anew elsewhere."""
        return not self.in_flight and dict(intent.tables) == self._named()

    def _named(self) -> dict[str, TableRange]:
        """Returns what an intent names: sealed objects, and markers above its offset."""
        offset = self.offset
        markers = {
            name: TableRange(each.passed_to, each.passed_to)
            for name, each in self._objects.items()
            if each.sealed is None and each.passed_to > offset
        }
        return markers | self.in_flight

    # -- writing

    def writable(self) -> Iterator[tuple[str, ObjectDraft[S]]]:
        """Yields the objects that may be written now: of each encoded partition the first that is
        not sealed."""
        for name, each in self._objects.items():
            if each.drafts:
                yield name, each.drafts[0]

    def replays(self) -> Iterator[tuple[str, Manifest, ObjectDraft[S]]]:
        """Yields the sealed objects of a predecessor, with what was read again of each."""
        for name, each in self._objects.items():
            if each.sealed is not None and each.replay is not None:
                if self.position >= each.sealed.end:
                    each.replay.ending = Ending.INTENT
                yield name, each.sealed, each.replay

    def can_seal(self, name: str, manifest: Manifest) -> bool:
        """Returns True if the first object that is not sealed may be: no other one of its encoded
        partition is sealed and not passed, and the intent has room.

        Room for one object is kept for the one that holds back the offset.
        """
        if self._objects[name].sealed is not None:
            return False
        named: dict[str, TableRange] = {**self._named(), name: manifest}
        if manifest.begin > self.offset:
            named |= self._reserved(1, beside=named)
        return fits(named)

    @property
    def is_pressed(self) -> bool:
        """True if the intent has no room for another object beside the one that holds back the
        offset: that has to end, and the markers behind it go."""
        named = self._named()
        if not named:
            return False
        return not fits({**named, **self._reserved(2, beside=named)})

    def _reserved(self, count: int, beside: Mapping[str, TableRange]) -> dict[str, Manifest]:
        waiting = (name for name, each in self._objects.items() if each.drafts)
        return reserved(count, waiting, beside)

    def seal(self, name: str, manifest: Manifest) -> None:
        """Names the first object in the next intent; it may be completed once that is committed."""
        objects = self._objects[name]
        assert objects.sealed is None, f"{name}: an object is sealed already"
        draft = objects.drafts.popleft()
        assert (draft.begin, draft.end) == (manifest.begin, manifest.end), f"{name}: other range"
        objects.sealed = manifest
        self._count += draft.records

    def seal_again(self, name: str, manifest: Manifest) -> None:
        """Names a replayed object anew: the same range became other bytes."""
        objects = self._objects[name]
        before = objects.sealed
        assert before is not None and (before.begin, before.end) == (manifest.begin, manifest.end)
        objects.sealed = manifest

    def passed(self, name: str) -> None:
        """Notes that the sealed object is complete in the store, and told."""
        objects = self._objects[name]
        assert objects.sealed is not None, f"{name}: no object is sealed"
        objects.passed_to, objects.sealed, objects.replay = objects.sealed.end, None, None

    # -- ending by what the log does not decide

    def end_due(self, now: float) -> None:
        """Ends what the clock ends, and the object that is in the way of the intent or its offset.

        Args:
            now: Unix time.
        """
        self._now = now
        self.end_by_clock(now)
        if self.is_pressed:
            self.end_holding(Ending.INTENT)
        self.end_held_back()

    def end_by_clock(self, now: float) -> None:
        """Ends the objects that have reached a limit of the wall clock."""
        for draft in self._open():
            draft.ending = self._rotation.ending_by_clock(draft.since, now)

    def end_held_back(self) -> None:
        """Ends the object that holds back the offset too far; the next one when that is passed."""
        if self._rotation.holds_back_too_far(self.offset, self.position):
            self.end_holding(Ending.HELD_BACK)

    def end_holding(self, why: Ending) -> None:
        """Ends the object that holds back the offset, if it takes further records."""
        for draft in self._open():
            if draft.begin == self.offset:
                draft.ending = why

    def _open(self) -> list[ObjectDraft[S]]:
        return [draft for each in self._objects.values() if (draft := each.open)]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Offsets and timestamps of all records read at once, in offset order."""

    offsets: Ints
    timestamps: Ints


def _batch(parts: Mapping[str, Slice]) -> _Batch:
    if not parts:
        return _Batch(np.empty(0, np.int64), np.empty(0, np.int64))
    offsets = np.concatenate([part.offset for part in parts.values()])
    timestamps = np.concatenate([part.timestamp_ms for part in parts.values()])
    order = np.argsort(offsets, kind="stable")
    return _Batch(offsets[order], timestamps[order])
