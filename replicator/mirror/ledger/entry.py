"""Ledger entry: the progress of one partition of a route, and the writer of what follows.

An entry says that every record before `source_offset` is in the target before `target_offset`. The
writer (producer id, epoch) appends what follows, from `sequence` on. Entries are committed offsets
in the target cluster: this module converts them to (offset, metadata) and back, and counts records.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from replicator.kafka.client.custody import Custody as Custody
from replicator.kafka.client.loss import Loss, LossKind, NeededLimit
from replicator.mirror.ledger.sightings import Sightings, packed, unpacked

METADATA_BYTES_MAX = 3900
"""Limit without `seen`, which comes on top; the broker's offset.metadata.max.bytes is 4096."""
OTHER_FIELDS_BYTES_MAX = 900
"""Bytes that the fields other than the gaps need, also in a parked entry."""
DETAIL_CHARACTERS_MAX = 200
RUNS_BYTES_MAX = 120
"""Limit of `runs` as text, left out beyond it. Runs topics that we create have four partitions."""
SEQUENCE_MASK = 0x7FFFFFFF


class UnreadableEntry(Exception):
    """A ledger entry that this version cannot read. Stop; do not guess where to continue."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A jump in the source's offsets that the sequences do not show.

    `records` is the number of records between the previous gap (or the entry's source offset) and
    this gap, which skips `skipped` offsets.
    """

    records: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Span:
    """Adjacent source offsets, all of them carried."""

    source_offset: int
    count: int


@dataclass(frozen=True, slots=True)
class Mark:
    """The last of our records before `target_offset`, by which lost records are noticed.

    A log loses records only from its end. If this record is found again at its offset, no record
    before it is lost.
    """

    offset: int
    producer_id: int
    epoch: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Begin:
    """Beginning of a partition that was never carried, as the driver decided it.

    Args:
        source_offset: of the first record to carry; 0: all that the source has.
        source_topic: topic id of the log that was looked at. Whatever a later one has came later.
    """

    source_offset: int
    source_topic: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Progress of one partition. Offsets and sequences are those of the next record, not the last.

    Args:
        source_offset: every record before it is in the target.
        target_offset: what follows stands at or after it.
        producer_id, epoch: the writer of what follows.
        sequence: of the first record that follows.
        transactional_id: only a transaction of this id may replace the entry (rule of custody).
        gaps: jumps in the source after source_offset, which the sequences do not show.
        source_topic, target_topic: topic ids; another id under the same name is that of a recreated
            topic.
        source_epoch: leader epoch of the last source batch read (-1: none yet).
        mark: the last of our records in the target (None: not known).
        losses: how many losses an operator accepted here; runs published under a higher number
            overrule others.
        parked: why the partition is stopped, with the range of offsets; None when it is not.
            Carriers leave a parked partition to the operator.
        seen: sightings of the source's ends. They tell how long records have waited, and nothing
            about where to continue: entries that differ only in `seen` are equal.
        runs: end offsets of the runs topic's partitions, seen before the commit: no run that is
            published later lies before them (empty: not known).
        begin: beginning of a VIRGIN entry's partition (None: its first carrier decides).
        needs: limit of a batch that the next record waits for, or is parked for (None: none).
    """

    custody: Custody
    source_offset: int
    target_offset: int
    producer_id: int
    epoch: int
    sequence: int
    transactional_id: str
    gaps: tuple[Gap, ...] = ()
    source_topic: UUID | None = None
    target_topic: UUID | None = None
    source_epoch: int = -1
    mark: Mark | None = None
    losses: int = 0
    parked: Loss | None = None
    seen: Sightings = field(default=(), compare=False)
    runs: tuple[int, ...] = ()
    begin: Begin | None = None
    needs: NeededLimit | None = None

    def spans(self, first: int, count: int) -> tuple[Span, ...]:
        """Returns the source offsets of `count` records, which begin `first` records after
        source_offset."""
        spans: list[Span] = []
        offset, at, end = self.source_offset, 0, first + count
        for gap in (*self.gaps, Gap(end, 0)):
            begin, stop = max(at, first), min(at + gap.records, end)
            if begin < stop:
                spans.append(Span(offset + begin - at, stop - begin))
            at += gap.records
            offset += gap.records + gap.skipped
        return tuple(spans)

    def after(self, count: int) -> int:
        """Returns the source offset after the first `count` records, and after a gap there."""
        offset, left = self.source_offset, count
        for gap in self.gaps:
            if gap.records > left:
                break
            offset += gap.records + gap.skipped
            left -= gap.records
        return offset + left

    def landed_up_to(self, last_sequence: int) -> int:
        """Returns how many records from `sequence` on have landed, by the writer's last one."""
        count = (last_sequence + 1 - self.sequence) & SEQUENCE_MASK
        # Sequences wrap around: a distance of half the circle or more means one before the entry.
        return count if count < 1 << 30 else 0

    def is_held_by(self, producer_id: int, epoch: int) -> bool:
        """Returns True for a HELD entry that this very producer committed."""
        held_by = (self.producer_id, self.epoch)
        return self.custody is Custody.HELD and held_by == (producer_id, epoch)

    def park(self, why: Loss) -> Entry:
        """Returns the same entry as parked; its fields about the writer stay true."""
        # JSON needs six to twelve bytes for a character outside ASCII.
        detail = why.detail.encode("ascii", "replace").decode()[:DETAIL_CHARACTERS_MAX]
        return replace(self, parked=replace(why, detail=detail), needs=why.needs)


def encode(entry: Entry) -> tuple[int, str]:
    """Returns the committed offset and its metadata."""
    mark = entry.mark
    fields: dict[str, Any] = {
        "v": 1,
        "custody": entry.custody.value,
        "d": entry.target_offset,
        "pid": entry.producer_id,
        "epoch": entry.epoch,
        "seq": entry.sequence,
        "id": entry.transactional_id,
        "gaps": [number for gap in entry.gaps for number in (gap.records, gap.skipped)],
        "topics": [topic and topic.hex for topic in (entry.source_topic, entry.target_topic)],
        "source_epoch": entry.source_epoch,
        "mark": mark and [mark.offset, mark.producer_id, mark.epoch, mark.sequence],
    }
    if entry.runs and len(str(entry.runs)) <= RUNS_BYTES_MAX:
        fields["runs"] = entry.runs
    if entry.begin:
        topic = entry.begin.source_topic
        fields["begin"] = [entry.begin.source_offset, topic and topic.hex]
    if entry.needs:
        fields["needs"] = [entry.needs.size_bytes, entry.needs.refused_bytes]
    if entry.losses:
        fields["losses"] = entry.losses
    if entry.parked:
        loss = entry.parked
        fields["parked"] = [loss.kind.name, loss.begin, loss.end, loss.detail]
    if seen := packed(entry.seen):
        fields["seen"] = seen
    return entry.source_offset, json.dumps(fields, separators=(",", ":"))


def decode(offset: int, metadata: str) -> Entry:
    """Returns the entry of a committed offset. Raises UnreadableEntry."""
    try:
        fields = json.loads(metadata)
        if fields["v"] != 1:
            raise ValueError(f"version {fields['v']}")
        gaps, mark = fields["gaps"], fields["mark"]
        source_topic, target_topic = (UUID(hex=text) if text else None for text in fields["topics"])
        parked = _loss(*fields["parked"]) if "parked" in fields else None
        return Entry(
            custody=Custody(fields["custody"]),
            source_offset=offset,
            target_offset=fields["d"],
            producer_id=fields["pid"],
            epoch=fields["epoch"],
            sequence=fields["seq"],
            transactional_id=fields["id"],
            gaps=tuple(Gap(*pair) for pair in zip(gaps[::2], gaps[1::2], strict=True)),
            source_topic=source_topic,
            target_topic=target_topic,
            source_epoch=fields["source_epoch"],
            mark=Mark(*mark) if mark else None,
            losses=fields.get("losses", 0),
            parked=parked,
            seen=unpacked(fields.get("seen")),
            runs=tuple(map(int, fields.get("runs", ()))),
            begin=_begin(*fields["begin"]) if "begin" in fields else None,
            needs=NeededLimit(*fields["needs"]) if "needs" in fields else _told_need(parked),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableEntry(
            f"ledger entry at offset {offset} cannot be read ({error}): {metadata[:120]!r}; "
            "was it written by a newer version, or by something else under our group's name?"
        ) from error


def unreadable(offset: int, error: UnreadableEntry) -> Entry:
    """Returns a parked entry in place of an unreadable one, so that only its partition stops."""
    return Entry(
        custody=Custody.RELEASED,
        source_offset=offset,
        target_offset=0,
        producer_id=-1,
        epoch=-1,
        sequence=0,
        transactional_id="",
        parked=Loss(LossKind.ENTRY_UNREADABLE, offset, None, str(error)),
    )


def _begin(source_offset: int, source_topic: str | None) -> Begin:
    return Begin(source_offset, UUID(hex=source_topic) if source_topic else None)


def _loss(kind: str, begin: int, end: int | None, detail: str) -> Loss:
    return Loss(LossKind[kind], begin, end, detail)


def _told_need(parked: Loss | None) -> NeededLimit | None:
    """Returns what the text of a loss tells. Versions before decision 0069 stored nothing else."""
    if parked is None or parked.kind is not LossKind.RECORD_TOO_LARGE:
        return None
    found = re.search(r"is a batch of (\d+) bytes", parked.detail)
    return NeededLimit(int(found[1])) if found else None
