"""Rules of ticks: each follows the one before, lane by lane, and takes every offset once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from uuid import UUID

from aggregator.upsert.tick import Lane, Tick
from aggregator.upsert.tick_codec import UnreadableTick, decode, id_of, sign_of
from aggregator.verifier.entry_parts import Sign
from aggregator.verifier.entry_rules import UnreadableRecord, turned_back
from aggregator.verifier.finding import Finding, Kind, Weight
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.commit_record import Commit
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata


@dataclass(frozen=True, slots=True)
class TickEntry:
    """Tick as it was committed.

    It names no producer. An idle table has no ticks, so that none is ever stale.
    """

    tick: Tick
    transactional_id: str
    custody: Custody = Custody.RELEASED
    producer_id: int = -1
    epoch: int = -1
    losses: int = 0
    parked: Loss | None = None


class TickRules:
    """Rules of the ticks of one table.

    Args:
        transactional_id: that commits them.
    """

    def __init__(self, transactional_id: str) -> None:
        self._transactional_id = transactional_id

    def decode(self, offset: int, metadata: str) -> TickEntry:
        parts = [OffsetAndMetadata(offset, text) for text in metadata.split("\n")]
        try:
            return TickEntry(decode(dict(enumerate(parts))), id_of(parts[0]))
        except UnreadableTick as error:
            raise UnreadableRecord(str(error)) from error

    def topic_id(self, entry: TickEntry) -> UUID | None:
        return None

    def reference(self, entry: TickEntry) -> int | None:
        return None

    def is_first(self, entry: TickEntry) -> bool:
        return entry.tick.number == 1

    def within(self, before: TickEntry | None, entry: TickEntry) -> Iterator[Finding]:
        is_again = before is not None and before.transactional_id == entry.transactional_id
        if entry.transactional_id != self._transactional_id and not is_again:
            text = f"committed by {entry.transactional_id}, not by {self._transactional_id}"
            yield Finding(Kind.CUSTODY, text)

    def across_deletion(self, before: TickEntry, after: TickEntry) -> Iterator[Finding]:
        return iter(())

    def between(self, before: TickEntry, after: TickEntry) -> Iterator[Finding]:
        yield from tick_findings(before.tick, after.tick)


def sign(number: int, part: Commit) -> Sign | None:
    """Returns the mark of a part of a tick; None if it cannot be read."""
    try:
        parts, *commit = sign_of(OffsetAndMetadata(part.offset, part.metadata), number)
    except UnreadableTick:
        return None
    return Sign(parts, tuple(commit))


def tick_findings(before: Tick, after: Tick) -> Iterator[Finding]:
    """Yields what is wrong with a tick that follows another one."""
    if after.generation > before.generation:
        text = f"generation {after.generation} after {before.generation}: the table was rolled back"
        yield Finding(Kind.RESTARTED, text, Weight.ACCEPTED)
        return
    yield from turned_back("generation", before.generation, after.generation)
    yield from turned_back("time", before.time_ms, after.time_ms)
    yield from _lanes(before, after)
    if after.number == before.number:
        if replace(after, gaps=before.gaps) != before:
            text = f"tick {after.number} was cut twice: its rows may be those of two ranges"
            yield Finding(Kind.OVERLAP, text)
        for gap in after.gaps:
            if gap.is_accepted and gap not in before.gaps:
                lane = f"lane {gap.lane} ({_named(after.lanes[gap.lane])})"
                text = f"{lane}: an operator accepted a loss within tick {after.number}: {gap.loss}"
                yield Finding(Kind.LOSS, text, Weight.ACCEPTED)
        return
    if after.number < before.number:
        yield from turned_back("tick", before.number, after.number)
        return
    if after.number > before.number + 1:
        text = f"tick {after.number} after {before.number}: there are none between them"
        yield Finding(Kind.GAP, text)
    yield from _ranges(before, after)


def _lanes(before: Tick, after: Tick) -> Iterator[Finding]:
    """Yields what is wrong with the lanes: numbers are never given again."""
    yield from turned_back("number of lanes", len(before.lanes), len(after.lanes))
    for number, (old, new) in enumerate(zip(before.lanes, after.lanes, strict=False)):
        if old != new:
            text = f"lane {number} is {_named(new)} after {_named(old)}: row ids are others'"
            yield Finding(Kind.TOPIC, text)


def _ranges(before: Tick, after: Tick) -> Iterator[Finding]:
    """Yields what is wrong with the ranges: each begins where the one before ended, or behind a
    loss that was accepted, perhaps within the tick before."""
    old_stops = {each.lane: each for each in before.stops}
    new_stops = {each.lane: each for each in after.stops}
    # Behind ticks that were not seen, a log may have been cut and the loss accepted.
    is_next = after.number == before.number + 1
    weight = Weight.ANOMALY if is_next else Weight.UNKNOWN
    for number, (old, new) in enumerate(zip(before.ranges, after.ranges, strict=False)):
        lane = f"lane {number} ({_named(after.lanes[number])})"
        was, stop = old_stops.get(number), new_stops.get(number)
        if was and not was.is_accepted and stop and stop.is_accepted:
            text = f"{lane}: an operator accepted a loss: {stop.loss}"
            yield Finding(Kind.LOSS, text, Weight.ACCEPTED)
        if stop and new.end != new.begin:
            text = f"{lane}: takes records although it is stopped ({stop.loss})"
            yield Finding(Kind.CUSTODY, text, begin=new.begin, end=new.end)
        if new.begin == old.end:
            continue
        if was and not stop and new.begin == _goes_on_at(was.loss):
            text = f"{lane}: an operator accepted a loss: {was.loss}"
            yield Finding(Kind.LOSS, text, Weight.ACCEPTED)
        elif new.begin < old.end and _is_given_up(new.begin, number, before):
            continue
        elif new.begin > old.end:
            text = f"{lane}: no tick took these offsets"
            yield Finding(Kind.GAP, text, begin=old.end, end=new.begin)
        else:
            kind = Kind.BACKWARD if new.end <= old.begin else Kind.OVERLAP
            text = f"{lane}: an earlier tick took these offsets"
            yield Finding(kind, text, weight, new.begin, min(new.end, old.end))


def _is_given_up(begin: int, lane: int, tick: Tick) -> bool:
    """Returns True if the log of a lane was cut within a tick, no further back than an offset, and
    an operator has accepted that."""
    return any(
        each.is_accepted
        and each.lane == lane
        and each.loss.kind is LossKind.SOURCE_TRUNCATED
        and each.loss.begin <= begin
        for each in tick.gaps
    )


def _goes_on_at(loss: Loss) -> int:
    """Returns where a lane goes on behind an accepted loss."""
    if loss.kind is LossKind.RETENTION_PASSED and loss.end is not None:
        return loss.end
    return loss.begin


def _named(lane: Lane) -> str:
    return f"{lane.cluster} {lane.topic}-{lane.partition} of {lane.topic_id}"
