"""A ledger entry: how far one partition of a route is, and who writes what follows.

It says: everything before `source_offset` is in the target before `target_offset`; what follows is
written by (producer id, epoch) from `sequence` on. It lives in the target cluster as a committed
offset; this module turns it into (offset, metadata) and back, and counts with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

from replicator.ledger.loss import Loss, LossKind
from replicator.ledger.sightings import Sightings, packed, unpacked

METADATA_BYTES_MAX = 3900
"""Under the broker's offset.metadata.max.bytes (4096), with room for `seen`, which comes on top."""
OTHER_FIELDS_BYTES_MAX = 900
"""What an entry needs beside its gaps, also when it is parked."""
DETAIL_CHARACTERS_MAX = 200
RUNS_BYTES_MAX = 120
"""Of the runs topic's ends. A topic of ours has four partitions; of one with many, none is kept."""
SEQUENCE_MASK = 0x7FFFFFFF


class UnreadableEntry(Exception):
    """A ledger entry that this version cannot read. Stop; do not guess where to go on."""


class Custody(StrEnum):
    """Under whose hand a partition is."""

    VIRGIN = "virgin"
    """Adopted, never carried: the start position is found when it is first taken."""
    HELD = "held"
    """A writer may have appended after the entry; a taker must fence it and read the tail."""
    RELEASED = "released"
    """All was acked when it was written; a taker goes on without reading."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A jump in the source's offsets that the sequences do not show.

    `records` lie between the previous gap (or the entry's source offset) and this one, which jumps
    over `skipped` offsets.
    """

    records: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Span:
    """Adjacent source offsets, all carried."""

    source_offset: int
    count: int


@dataclass(frozen=True, slots=True)
class Mark:
    """The last own record before `target_offset`: found again there, nothing before it is lost.

    A log loses records only from its end, so this one record stands for all before it.
    """

    offset: int
    producer_id: int
    epoch: int
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One partition of a route. Offsets and sequences are those of the next record, not the last.

    Args:
        source_offset: everything before it is in the target.
        target_offset: what follows stands at or after it.
        producer_id, epoch: the writer of what follows.
        sequence: of the first record that follows.
        transactional_id: in whose transaction this entry may be replaced (the rule of custody).
        gaps: jumps in the source after source_offset that sequences must be counted over.
        source_topic, target_topic: topic ids; another id under the same name is another topic.
        source_epoch: leader epoch of the last source batch read (-1: none yet).
        mark: the last own record in the target (None: none is known).
        losses: how many losses an operator accepted here; runs told under more overrule others.
        parked: why the partition is stopped, with the range of offsets; None when it is not.
            Takers leave a parked partition to the operator.
        seen: where the source's ends were seen, and when. It tells how long records have waited,
            and nothing about where to go on: entries that differ in it alone are equal.
        runs: ends of the runs topic's partitions when it was committed: no run told later lies
            before them (empty: not known).
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

    def spans(self, first: int, count: int) -> tuple[Span, ...]:
        """Source offsets of `count` records, the first of them `first` records behind
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
        """Source offset that follows the first `count` records; behind a gap that starts there."""
        offset, left = self.source_offset, count
        for gap in self.gaps:
            if gap.records > left:
                break
            offset += gap.records + gap.skipped
            left -= gap.records
        return offset + left

    def landed_up_to(self, last_sequence: int) -> int:
        """How many records from `sequence` on have landed when the writer's last one is known."""
        count = (last_sequence + 1 - self.sequence) & SEQUENCE_MASK
        # Sequences run in a circle: what seems far ahead is in truth before the entry.
        return count if count < 1 << 30 else 0

    def park(self, why: Loss) -> Entry:
        """The same entry, stopped: what it says of the writer stays true."""
        # JSON spells a letter that is not ASCII with six to twelve.
        detail = why.detail.encode("ascii", "replace").decode()[:DETAIL_CHARACTERS_MAX]
        return replace(self, parked=replace(why, detail=detail))


def encode(entry: Entry) -> tuple[int, str]:
    """The committed offset and its metadata."""
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
    if entry.losses:
        fields["losses"] = entry.losses
    if entry.parked:
        loss = entry.parked
        fields["parked"] = [loss.kind.name, loss.begin, loss.end, loss.detail]
    if seen := packed(entry.seen):
        fields["seen"] = seen
    return entry.source_offset, json.dumps(fields, separators=(",", ":"))


def decode(offset: int, metadata: str) -> Entry:
    """Raises UnreadableEntry."""
    try:
        fields = json.loads(metadata)
        if fields["v"] != 1:
            raise ValueError(f"version {fields['v']}")
        gaps, mark = fields["gaps"], fields["mark"]
        source_topic, target_topic = (UUID(hex=text) if text else None for text in fields["topics"])
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
            parked=_loss(*fields["parked"]) if "parked" in fields else None,
            seen=unpacked(fields.get("seen")),
            runs=tuple(map(int, fields.get("runs", ()))),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableEntry(
            f"ledger entry at offset {offset} cannot be read ({error}): {metadata[:120]!r}; "
            "was it written by a newer version, or by something else under our group's name?"
        ) from error


def unreadable(offset: int, error: UnreadableEntry) -> Entry:
    """Stands for an entry that cannot be read: parked, so that one of them stops one partition."""
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


def _loss(kind: str, begin: int, end: int | None, detail: str) -> Loss:
    return Loss(LossKind[kind], begin, end, detail)
