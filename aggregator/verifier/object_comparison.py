"""Object comparison: the records of one Kafka partition against the objects that have them.

The records of an object's range are read from Kafka, and become the same file again, by the feed's
schemas where values have any. Its bytes are compared with those that are read back from the store;
only where these differ the contents are. What is the same is read once more, by readers that share
no code with the writers (decision 0068).
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from crc32c import crc32c

from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.schema_ids import SchemasWanted
from aggregator.loader.object_layout import OFFSET_MAX, ObjectLayout
from aggregator.objects.forgotten import Forgotten
from aggregator.objects.object_name import parsed
from aggregator.objects.schema_versions import bare, versioned
from aggregator.objects.told_object import ToldObject
from aggregator.s3.object_store import ObjectStore
from aggregator.schemas.schema_registry import SchemasAway
from aggregator.store.recognition import Identities
from aggregator.verifier.dead_letter_check import LetterFields
from aggregator.verifier.object_content import OFFSET, UnreadableFile, is_same, rows_of
from aggregator.verifier.object_values import ObjectValues
from aggregator.verifier.rebuilt_object import RebuiltObject, RebuiltObjects
from aggregator.verifier.row_check import RowCount
from aggregator.verifier.row_digest import difference, ranges
from aggregator.verifier.topic_records import NotRead, TopicRecords
from balancer.topic_partition import TopicPartition
from replicator.batches.batch import BrokenBatch
from replicator.config.cluster_name import ClusterName
from replicator.kafka.client.cluster import Answered
from replicator.runtime.run_in_thread import run_in_thread


@dataclass(eq=False)
class ObjectComparison:
    """Comparison of one Kafka partition.

    Args:
        is_compacted: the topic may have lost records that are in objects.
        incarnation: of the partition's log.
        forgotten: objects of it that the bucket has dropped; their records are not compared.
    """

    layout: ObjectLayout
    store: ObjectStore
    records: TopicRecords
    place: TopicPartition
    count: RowCount
    is_compacted: bool
    incarnation: int = 0
    forgotten: Forgotten | None = None
    dead: list[int] = field(default_factory=list)
    """Offsets of the records that have to be dead letters."""
    letters: dict[int, LetterFields] = field(default_factory=dict)
    """Fields of these records, as far as they are known."""
    _waiting: deque[ToldObject] = field(init=False, default_factory=deque)
    _objects: dict[str, RebuiltObjects] = field(init=False, default_factory=dict)
    _open: list[RebuiltObject] = field(init=False, default_factory=list)
    _excused: list[ToldObject] = field(init=False, default_factory=list)
    """Objects that are not compared: no record of their ranges counts as missing."""
    _dropped: int = field(init=False, default=0)
    """Records that are in no object, and of which forgotten objects may have had all."""
    _doubts: dict[str, list[str]] = field(init=False, default_factory=dict)

    async def compare(
        self, told: list[ToldObject], log_start: int, begin: int, committed: int
    ) -> None:
        """Compares the records from an offset on with the objects that have any of them.

        Args:
            committed: every record below is in an object.
        """
        told = [each for each in told if each.end > begin]
        known = [each for each in told if each.begin >= log_start]
        if len(known) < len(told):
            text = f"partition {self.place.partition}: Kafka has deleted records of "
            self.count.doubt(f"{text}{len(told) - len(known)} objects")
            begin = max(each.end for each in told if each.begin < log_start)
        self._waiting = deque(sorted(known, key=lambda each: (each.begin, each.end)))
        first = min([begin, *(each.begin for each in known)])
        end = max([committed, *(each.end for each in known)])
        try:
            async for part in self.records.slices(*self.place, first, end):
                routed = await self._routed(part)
                self._begin(routed, int(part.offset[-1]))
                for name, own in routed.items():
                    self._take(name, own, begin, committed)
                await self._finish_up_to(int(part.offset[-1]) + 1)
            self._begin({}, OFFSET_MAX)
            await self._finish_up_to(OFFSET_MAX)
        except (NotRead, BrokenBatch, Answered, SchemasAway) as error:
            self.count.doubt(f"partition {self.place.partition}: {error}")
        self._name_overlaps()
        if self._dropped:
            text = f"partition {self.place.partition}: {self._dropped} records are in no object"
            self.count.doubt(f"{text}, where objects were forgotten (`sluice aggregate forget`)")
        for why, keys in self._doubts.items():
            more = f" and {len(keys) - 1} more" if keys[1:] else ""
            self.count.doubt(f"{keys[0]}{more} {why}")

    async def _routed(self, part: RecordSlice) -> Mapping[str, RecordSlice]:
        """Returns records by encoded partition. Raises SchemasAway."""
        while True:
            try:
                return self.layout.route(self.place, part, self.incarnation)
            except SchemasWanted as wanted:
                await run_in_thread(self.layout.schemas.fetch, wanted.ids)

    def _begin(self, routed: Mapping[str, RecordSlice], last: int) -> None:
        """Begins the objects whose first record is read."""
        while self._waiting and self._waiting[0].begin <= last:
            told = self._waiting.popleft()
            named = parsed(told.key, self.layout.feed.prefix_of(ClusterName(self.layout.cluster)))
            if named is None:
                self._excuse(told, "is not below the prefix of today")
                continue
            if told.layout not in ("", self.layout.folders):
                self._excuse(told, "is in a folder of other settings: it was not compared")
                continue
            folder = named.encoded_partition
            name = next((name for name, own in routed.items() if _has(own, told.begin)), "")
            if name and bare(name) != folder:
                self._excuse(told, "is in a folder of other settings: it was not compared")
            elif name or (name := self._name_of(told, folder)):
                rebuilt = self._rebuilt(told, name)
                self._open.append(rebuilt)
                self._objects.setdefault(name, RebuiltObjects()).add(rebuilt)
            else:
                self._excuse(told, "has lost its first record: it was not compared")

    def _name_of(self, told: ToldObject, folder: str) -> str:
        """Returns the encoded partition of an object by what is told of it; empty if that does not
        tell the version of its records."""
        if not self.layout.keeps_apart(self.place.topic):
            return folder
        return versioned(folder, int(told.schema)) if told.schema.isdigit() else ""

    def _rebuilt(self, told: ToldObject, name: str, *, is_careful: bool = False) -> RebuiltObject:
        writer = self.layout.writer(self.place, told.key)
        admission = self.layout.admission(self.place, name, writer.decode, self.incarnation)
        return RebuiltObject(told, name, admission, writer, is_careful)

    def _take(self, name: str, part: RecordSlice, begin: int, committed: int) -> None:
        objects = self._objects.setdefault(name, RebuiltObjects())
        for rebuilt, some in objects.within(part):
            rebuilt.add(some)
        offsets = objects.uncovered(part.between(begin, committed).offset)
        for told in self._excused:
            offsets = offsets[(offsets < told.begin) | (offsets >= told.end)]
        left = len(offsets)
        for each in self.forgotten.ranges if self.forgotten else ():
            offsets = offsets[(offsets < each.begin) | (offsets >= each.end)]
        self._dropped += left - len(offsets)
        if len(offsets):
            self.count.expected += len(offsets)
            self.count.missing += len(offsets)
            where = f"partition {self.place.partition}, offsets {ranges(offsets)}"
            self.count.example(f"missing: in no object: {where}")

    async def _finish_up_to(self, position: int) -> None:
        done = [each for each in self._open if each.told.end <= position]
        self._open = [each for each in self._open if each.told.end > position]
        self._excused = [each for each in self._excused if each.end > position]
        for each in sorted(done, key=lambda each: each.told.end):
            await self._finish(each)

    async def _finish(self, each: RebuiltObject) -> None:
        """Compares an object all of whose records were read."""
        rows = each.finish()
        if each.error:
            # A loader has met the error, too, and has found the records behind it.
            each = self._rebuilt(each.told, each.name, is_careful=True)
            async for part in self._own_records(each):
                each.add(part)
            rows = each.finish()
        key, told = each.told.key, each.told
        if each.error:
            self._doubt(f"cannot be written again: {each.error}", told)
            return
        self.letters |= each.letters
        if self.is_compacted and each.records < told.records:
            self.dead += each.dead
            self._doubt("may have lost records by compaction: it was not compared", told)
            return
        is_by_others = each.schema != told.schema or (
            self.layout.has_ids(self.place.topic) and each.left_out != told.left_out
        )
        if is_by_others and told.is_empty:
            # Its schema came since: its records are dead letters for ever.
            self.dead += each.dead + rows.offset.tolist()
            return
        if not is_by_others:
            self.dead += each.dead
        if told.is_empty:
            if not each.is_as_told:
                self.count.changed += 1
                self.count.example(f"changed: some of its records belong into an object: {key}")
            return
        written = told.records - told.left_out
        self.count.expected += written if is_by_others else len(rows)
        content = await run_in_thread(self.store.read, key)
        if content is None:
            self.count.missing += written if is_by_others else len(rows)
            self.count.example(f"missing: {key} is not there")
            return
        if is_by_others:
            self._compare_checksum(each, rows, content)
            return
        is_same = (len(content), crc32c(content)) == (each.size_bytes, each.crc32c)
        why = None if is_same else await self._difference(each, rows, content)
        if why:
            self.count.example(f"{why}: {key}")
            return
        self.count.found += len(rows)
        if not each.is_as_told:
            self.count.changed += 1
            self.count.example(f"changed: not the records that its manifest names: {key}")
        elif why is None:
            await self._compare_values(each, rows, content)

    async def _compare_values(self, each: RebuiltObject, rows: Identities, content: bytes) -> None:
        """Compares the rows of an object with its records by second readers."""
        told = each.told
        values = ObjectValues(self.layout, self.place, content, _extension(told))
        async for part in self._own_records(each):
            values.compare(part.at(np.flatnonzero(np.isin(part.offset, rows.offset))))
        values.finish()
        self.count.changed += bool(values.differences)
        for text in values.differences:
            self.count.example(f"changed: {text}: {told.key}")
        if values.unread:
            self._doubt("has records that a second reader does not read", told)

    def _compare_checksum(self, each: RebuiltObject, rows: Identities, content: bytes) -> None:
        """Compares an object whose schemas are others today with what was told of it."""
        told = each.told
        self.count.found += told.records - told.left_out
        # Other schemas may read fields otherwise, by which folders are named.
        has_all = self.layout.feed.partition_by == "field" or each.records == told.records
        if not (has_all and _is_told(content, told)):
            self.count.changed += 1
            self.count.example(f"changed: not the content that its manifest names: {told.key}")
            return
        try:
            found = rows_of(content, _extension(told)) if self._has_offsets else None
        except UnreadableFile as error:
            self.count.changed += 1
            self.count.example(f"changed: {error}: {told.key}")
            return
        if found is not None:
            self.dead += difference(rows, found).missing.tolist()
        why = (
            f"was written by the schema {told.schema or 'none'}, and its records are read "
            f"by {each.schema or 'none'}, or by others, today: only its checksum was compared"
        )
        self._doubt(why, told)

    async def _difference(
        self, each: RebuiltObject, rows: Identities, content: bytes
    ) -> str | None:
        """Counts how an object differs from its records; returns None if they have the same
        content, and "" if only the manifest could be compared."""
        extension = _extension(each.told)
        if extension != self.layout.extension:
            return self._by_manifest(each, f"is written as .{extension}, and no more")
        expected = await self._file(each)
        try:
            if is_same(content, expected, extension):
                return None
            found = rows_of(content, extension) if self._has_offsets else None
        except UnreadableFile as error:
            self.count.changed += 1
            return f"changed: {error}"
        differing = None if found is None else difference(rows, found)
        if differing is None or differing.is_empty:
            if _is_told(content, each.told):
                return self._by_manifest(each, "was written under other settings")
            self.count.found += len(rows)
            self.count.changed += 1
            return "changed: other contents of its records"
        assert found is not None
        self.count.found += len(found)
        parts = {"missing": differing.missing, "doubled": differing.doubled}
        self.count.missing += len(differing.missing)
        self.count.doubled += len(differing.doubled)
        if self.is_compacted and len(differing.surplus):
            text = f"{len(differing.surplus)} records in objects may be compacted away"
            self.count.doubt(text)
        else:
            parts["surplus"] = differing.surplus
            self.count.surplus += len(differing.surplus)
        return "; ".join(f"{what}: offsets {ranges(it)}" for what, it in parts.items() if len(it))

    def _by_manifest(self, each: RebuiltObject, why: str) -> str:
        """Compares an object whose file cannot be rebuilt by what its manifest names."""
        if each.is_as_told:
            self._doubt(f"{why}: its manifest was compared", each.told)
            return ""
        self.count.found += each.digest.records
        self.count.changed += 1
        return "changed: not the records that its manifest names"

    async def _file(self, each: RebuiltObject) -> bytes:
        """Returns the file that an object's records make."""
        again = self._rebuilt(each.told, each.name, is_careful=each.is_careful)
        pieces = [again.written(part) async for part in self._own_records(each)]
        return b"".join([*pieces, again.writer.finish()])

    async def _own_records(self, each: RebuiltObject) -> AsyncIterator[RecordSlice]:
        """Yields the records of an object's range, read once more."""
        told = each.told
        async for part in self.records.slices(*self.place, told.begin, told.end):
            own = (await self._routed(part)).get(each.name)
            if own is not None:
                yield own

    @property
    def _has_offsets(self) -> bool:
        """True if files tell the offsets of their records. Values may have a field of that name."""
        return OFFSET in self.layout.feed.columns

    def _name_overlaps(self) -> None:
        for objects in self._objects.values():
            for before, after in objects.overlaps():
                offsets = min(before.end, after.end) - after.begin
                self.count.doubled += offsets
                self.count.example(f"doubled: up to {offsets} records, {before.key}, {after.key}")

    def _excuse(self, told: ToldObject, why: str) -> None:
        self._doubt(why, told)
        self._excused.append(told)

    def _doubt(self, why: str, told: ToldObject) -> None:
        self._doubts.setdefault(why, []).append(told.key)


def _has(records: RecordSlice, offset: int) -> bool:
    """Returns True if one of the records has the offset."""
    at = int(np.searchsorted(records.offset, offset))
    return at < len(records) and int(records.offset[at]) == offset


def _extension(told: ToldObject) -> str:
    """Returns the extension of an object's name. Topics may have dots as well."""
    return told.key.rpartition("+")[2].partition(".")[2]


def _is_told(content: bytes, told: ToldObject) -> bool:
    """Returns True if an object has the size and the checksum that were told of it."""
    return (len(content), crc32c(content)) == (told.size_bytes, told.crc32c)
