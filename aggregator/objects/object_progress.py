"""Progress of one Kafka partition into objects: what is read, open, sealed and passed. No I/O.

Records come in by encoded partition, in offset order. Those of one encoded partition form objects,
one behind the other: the first is written while it is *open*, is *sealed* by an intent that names
its range, and is *passed* once it is complete in the store and told. After a takeover open objects
begin anew; of a sealed one the same range is read again, if the store does not have it yet.

A partition may have ten thousand encoded partitions: what is done for one record, one object or one
tick of the clock does not look at all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Generic

import numpy as np
import numpy.typing as npt

from aggregator.intents.holes import Holes
from aggregator.intents.intent import Intent, fits
from aggregator.intents.read_times import ReadTimes
from aggregator.intents.reading import Mode, ReadAgain
from aggregator.intents.table_range import Manifest, TableRange
from aggregator.intents.told_markers import Marker, ToldMarkers
from aggregator.objects.intent_reserve import reserved
from aggregator.objects.object_draft import Buffered, ObjectDraft, S, Slice, Versions
from aggregator.objects.passed_markers import PassedMarkers
from aggregator.objects.rotation import NO_TIME, Ending, Rotation
from replicator.kafka.client.custody import Custody

Ints = npt.NDArray[np.int64]
NAMED_MAX = 100
"""Markers that an intent names itself; more of them are told elsewhere."""
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
        """Newest leader epoch of the batches read, also by predecessors (-1: none yet)."""
        self.dead_letters = intent.dead_letters
        """Records set aside since the partition was adopted, with those of the next commit."""
        self.letters_at = intent.letters_at
        """The next intent's."""
        self._rotation, self._versions = rotation, versions
        # Whoever takes over later has to know by which settings the names are.
        self.layout = intent.layout if intent.tables or intent.told else layout
        """Fingerprint of the settings by which the names of folders are those of the intent."""
        self._intent = intent
        self._count, self._now = 0, 0.0
        self._holes = Holes(intent.offset)
        self._times = ReadTimes(intent.position or 0, intent.read_times)
        self._open_records, self._buffered = 0, Buffered()
        # Encoded partitions with drafts, a sealed object or a marker; the others are forgotten.
        self._objects: dict[str, _Objects[S]] = {}
        self._drafted: dict[str, None] = {}
        self._flying: dict[str, None] = {}
        self._firsts: list[tuple[int, str]] = []
        self._by_age: list[tuple[float, int, str]] = []
        self._by_time: list[tuple[int, int, str]] = []
        told = intent.told
        self._markers = PassedMarkers()
        self._is_telling = told is not None
        self._changes, self._full_at, self._room_at = 0, -1, -1
        self._has_room, self._longest = True, ""
        for name, each in intent.tables.items():
            self._objects[name] = _Objects(each.begin)
            if isinstance(each, Manifest):
                self._objects[name].sealed = each
                self._objects[name].replay = ObjectDraft(each.begin, 0.0, buffered=self._buffered)
                self._note_sealed(name, each.begin)
            else:
                self._markers.put(name, Marker(each.end))
        for name, marker in ((told.markers if told else None) or {}).items():
            self._objects[name] = _Objects(marker.end)
            self._markers.put(name, marker)

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
            again += self._add(name, objects, part, batch, now)
            replayed += objects.replay.records - before if objects.replay else 0
        self._end_by_record_time(by_table, batch)
        self._holes.add(offsets, next_offset)
        self.position = next_offset
        self._count += again
        return ReadAgain(replayed, again - replayed)

    def _add(self, name: str, objects: _Objects[S], part: S, batch: _Batch, now: float) -> int:
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
            left = self._draft(name, objects, left, batch, now)
        return len(part.offset) - len(later.offset)

    def _draft(self, name: str, objects: _Objects[S], part: S, batch: _Batch, now: float) -> S:
        """Appends to the open object what belongs to it; returns the records behind."""
        draft = objects.open
        if draft is None:
            draft = self._begun(name, objects, int(part.offset[0]), now)
        end = int(part.offset[-1]) + 1
        beyond = self._beyond(draft, batch, part)
        log_end = self._intent.log_end(draft.begin, end)
        if log_end < end:
            beyond = min(log_end, end if beyond is None else beyond)
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
            ending = Ending.LOG if beyond == log_end < end else Ending.RECORD_TIME
        if len(within.offset):
            has_time = draft.first_ms != NO_TIME
            draft.append(within)
            self._open_records += len(within.offset)
            if (
                draft.first_ms != NO_TIME
                and not has_time
                and self._rotation.interval_ms is not None
            ):
                heappush(self._by_time, (draft.first_ms, draft.begin, name))
        draft.ending = ending
        return part.between(draft.end, end)

    def _begun(self, name: str, objects: _Objects[S], begin: int, now: float) -> ObjectDraft[S]:
        since = self._times.since(begin, now)
        draft: ObjectDraft[S] = ObjectDraft(begin, since, buffered=self._buffered)
        heappush(self._by_age, (since, begin, name))
        if objects.first is None:
            heappush(self._firsts, (begin, name))
        objects.drafts.append(draft)
        self._drafted[name] = None
        if len(name) > len(self._longest):
            self._longest, self._changes = name, self._changes + 1
        return draft

    def _changed(self, draft: ObjectDraft[S], part: S) -> int | None:
        """Returns the offset of the first record whose version the object does not take."""
        if self._versions is None or not len(part.offset):
            return None
        draft.schema, at = self._versions.first_change(draft.schema, part)
        return None if at is None else int(part.offset[at])

    def _end_by_record_time(self, taking: Container[str], batch: _Batch) -> None:
        """Ends the objects that are too old for a record of the batch.

        Args:
            taking: encoded partitions that have records in it: their objects have looked.
        """
        looked = []
        while self._by_time:
            first_ms, begin, name = each = heappop(self._by_time)
            draft = self._open_at(name, begin)
            if draft is None:
                continue
            if name in taking:
                looked.append(each)
            elif self._rotation.first_beyond(first_ms, batch.timestamps) is None:
                looked.append(each)
                break  # nor does it end younger ones
            else:
                draft.ending = Ending.RECORD_TIME
        for each in looked:
            heappush(self._by_time, each)

    def _open_at(self, name: str, begin: int) -> ObjectDraft[S] | None:
        """Returns the open object that begins at an offset; None if it takes no more records."""
        objects = self._objects.get(name)
        draft = objects.open if objects else None
        return draft if draft is not None and draft.begin == begin else None

    def _beyond(self, draft: ObjectDraft[S], batch: _Batch, part: S) -> int | None:
        """Returns the offset of the first record of the batch that ends the object by record time.

        Args:
            part: records that the object is about to take.
        """
        first_ms, since = draft.first_ms, 0
        if first_ms == NO_TIME:
            at = np.flatnonzero(part.timestamp_ms != NO_TIME)[:1]
            if len(at):
                first_ms = int(part.timestamp_ms[at[0]])
                since = int(np.searchsorted(batch.offsets, part.offset[at[0]])) + 1
        found = self._rotation.first_beyond(first_ms, batch.timestamps[since:])
        return None if found is None else int(batch.offsets[since + found])

    # -- state

    @property
    def folder_count(self) -> int:
        """Number of encoded partitions that it keeps: those with objects, or to be passed."""
        return len(self._objects)

    @property
    def offset(self) -> int:
        """Offset below which everything is passed: the next intent's offset."""
        while self._firsts:
            first, name = self._firsts[0]
            objects = self._objects.get(name)
            if objects is not None and objects.first == first:
                return min(self.position, first)
            heappop(self._firsts)
        return self.position

    @property
    def open_records(self) -> int:
        """Records that no intent names yet."""
        return self._open_records

    @property
    def buffered_bytes(self) -> int:
        """Memory of the records that nobody has taken yet."""
        return self._buffered.size_bytes

    @property
    def in_flight(self) -> dict[str, TableRange]:
        """Objects that an intent names, by encoded partition."""
        found = ((name, self._objects[name].sealed) for name in self._flying)
        return {name: sealed for name, sealed in found if sealed is not None}

    @property
    def buffering(self) -> dict[str, float]:
        """Encoded partitions with records that no intent names, and since when."""
        return {name: draft.since for name, draft in self.writable()}

    @property
    def mode(self) -> Mode:
        is_replaying = any(self._objects[name].replay is not None for name in self._flying)
        is_behind = any(self.position < passed_to for _, passed_to in self._markers)
        return Mode.REPLAY if is_replaying or is_behind else Mode.CONSUME

    @property
    def is_flushed(self) -> bool:
        """Never True: there are no forced flushes, since each intent tells of all records."""
        return False

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
            read_times=self._times.behind(self.offset, self.position),
            told=self._told(),
            layout=self.layout,
            producer_id=producer_id,
            epoch=epoch,
            transactional_id=transactional_id,
            topic_id=self._intent.topic_id,
            incarnation=self._intent.incarnation,
            log_begin=self._intent.log_begin,
            former=self._intent.former,
            older=self._intent.older_behind(self.offset),
            leader_epoch=self.leader_epoch,
            losses=self._intent.losses,
            dead_letters=self.dead_letters,
            letters_at=self.letters_at,
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
        is_named = not self.in_flight and dict(intent.tables) == self._named()
        return is_named and intent.told == self._told()

    def _named(self) -> dict[str, TableRange]:
        """Returns what an intent names: sealed objects, and markers above its offset but those that
        are told elsewhere."""
        self._forget()
        markers = self._markers.named if self._is_telling else dict(self._markers)
        named: dict[str, TableRange] = {}
        for name in markers:
            passed_to = self._objects[name].passed_to
            named[name] = TableRange(passed_to, passed_to)
        return named | self.in_flight

    def _told(self) -> ToldMarkers | None:
        self._forget()
        return self._markers.summary(self.offset) if self._is_telling else None

    def _forget(self) -> None:
        """Forgets encoded partitions of which the committed offset says all that there is."""
        for name in self._markers.pass_by(self.offset):
            objects = self._objects[name]
            if objects.first is None:
                del self._objects[name]

    def _tell_elsewhere(self) -> None:
        """Decides whether the intent names all markers."""
        self._forget()
        count = len(self._markers)
        if self._is_telling:
            is_few = count <= NAMED_MAX // 2
            named = {name: TableRange(end, end) for name, end in self._markers} if is_few else {}
            self._is_telling = not (is_few and fits({**named, **self.in_flight}))
        else:
            self._is_telling = bool(self._markers.told) and (count > NAMED_MAX or self.is_pressed)

    # -- writing

    def writable(self) -> Iterator[tuple[str, ObjectDraft[S]]]:
        """Yields the objects that may be written now: of each encoded partition the first that is
        not sealed."""
        for name in list(self._drafted):
            if drafts := self._objects[name].drafts:
                yield name, drafts[0]

    def replays(self) -> Iterator[tuple[str, Manifest, ObjectDraft[S]]]:
        """Yields the sealed objects of a predecessor, with what was read again of each."""
        for name in list(self._flying):
            each = self._objects[name]
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
        is_holding = manifest.begin == self.offset
        if not is_holding and self._full_at == self._changes:
            return False  # nothing has changed since the last one had no room
        named: dict[str, TableRange] = {**self._named(), name: manifest}
        if not is_holding:
            named |= reserved(1, [self._longest], ())
        has_room = fits(named)
        if not (has_room or is_holding):
            self._full_at = self._changes
        return has_room

    @property
    def is_pressed(self) -> bool:
        """True if the intent has no room for another object beside the one that holds back the
        offset: that has to end, and the markers behind it go."""
        if self._room_at != self._changes:
            named = self._named()
            reserve = reserved(2, [self._longest], ()) if named else {}
            self._room_at, self._has_room = self._changes, fits({**named, **reserve})
        return not self._has_room

    def _note_sealed(self, name: str, begin: int) -> None:
        self._flying[name] = None
        heappush(self._firsts, (begin, name))
        self._markers.drop(name)
        self._changes += 1

    def seal(self, name: str, manifest: Manifest) -> None:
        """Names the first object in the next intent; it may be completed once that is committed."""
        objects = self._objects[name]
        assert objects.sealed is None, f"{name}: an object is sealed already"
        draft = objects.drafts.popleft()
        assert (draft.begin, draft.end) == (manifest.begin, manifest.end), f"{name}: other range"
        objects.sealed = manifest
        self._count += draft.records
        self._open_records -= draft.records
        if not objects.drafts:
            self._drafted.pop(name, None)
        self._note_sealed(name, manifest.begin)

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
        if objects.replay is not None:
            objects.replay.take()
        objects.passed_to, objects.sealed, objects.replay = objects.sealed.end, None, None
        self._flying.pop(name, None)
        self._markers.put(name, Marker(objects.passed_to))
        if objects.first is not None:
            heappush(self._firsts, (objects.first, name))
        self._changes += 1

    def told_at(self, name: str, end: int, told_at: int) -> None:
        """Notes where the last object of an encoded partition is told, if that is not known yet.

        Args:
            end: of the object.
            told_at: offset in the topic of objects, or one below.
        """
        if self._markers.named.get(name) == Marker(end):
            self._markers.put(name, Marker(end, told_at))

    # -- ending by what the log does not decide

    def end_due(self, now: float) -> None:
        """Ends what the clock ends, and the object that is in the way of the intent or its offset.

        Args:
            now: Unix time.
        """
        self._now = now
        self.end_by_clock(now)
        self._tell_elsewhere()
        if self.is_pressed:
            self.end_holding(Ending.INTENT)
        self.end_held_back()

    def end_by_clock(self, now: float) -> None:
        """Ends the objects that have reached a limit of the wall clock."""
        while self._by_age:
            since, begin, name = self._by_age[0]
            draft = self._open_at(name, begin)
            if draft is not None:
                draft.ending = self._rotation.ending_by_clock(since, now)
                if draft.ending is None:
                    return  # nor have younger ones
            heappop(self._by_age)

    def end_held_back(self) -> None:
        """Ends the object that holds back the offset too far; the next one when that is passed."""
        if self._rotation.holds_back_too_far(self.offset, self.position):
            self.end_holding(Ending.HELD_BACK)

    def end_holding(self, why: Ending) -> None:
        """Ends the object that holds back the offset, if it takes further records."""
        offset = self.offset
        name = self._firsts[0][1] if self._firsts else ""
        if offset < self.position and (draft := self._open_at(name, offset)) is not None:
            draft.ending = why

    def end_taken(self, name: str, why: Ending) -> None:
        """Ends the first object that is not sealed behind the records that were taken of it. Those
        behind them form another one."""
        objects = self._objects[name]
        draft = objects.drafts[0]
        rest, ending = draft.cut(), draft.ending
        if not rest:
            draft.ending = ending or why
            return
        draft.ending = why
        later: ObjectDraft[S] = ObjectDraft(
            int(rest[0].offset[0]), draft.since, schema=draft.schema, buffered=self._buffered
        )
        for part in rest:
            later.append(part)
        later.ending = ending
        objects.drafts.insert(1, later)
        if ending is None:
            heappush(self._by_age, (later.since, later.begin, name))
            if self._rotation.interval_ms is not None and later.first_ms != NO_TIME:
                heappush(self._by_time, (later.first_ms, later.begin, name))

    def _open(self) -> list[ObjectDraft[S]]:
        found = (self._objects[name].open for name in self._drafted)
        return [draft for draft in found if draft is not None]


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
