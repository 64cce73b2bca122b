"""Decision: where the next producer of a partition continues, by entry, target, tail and runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from replicator.kafka.client.loss import Loss
from replicator.kafka.client.source_inspection import SourceFindings
from replicator.mirror.ledger.accepted_losses import CUT_BACK, ended, goes_on_at, named_once
from replicator.mirror.ledger.acquired import Taken
from replicator.mirror.ledger.entry import Custody, Entry, Mark
from replicator.mirror.ledger.inspection import TargetFindings
from replicator.mirror.ledger.stale_entry import PublishedRun, turned_back
from replicator.mirror.ledger.tail import Tail


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Facts about one partition, collected before its entry is replaced.

    Args:
        entry: the entry to be replaced.
        is_own: the entry was committed by this very producer, and only the answer was lost.
        is_accepted: an operator has accepted the loss that the entry is parked for.
        restart_at: source offset at which an operator wants to continue.
        target: inspection of the target's log.
        tail: what the fenced producer landed after the entry, or the loss that makes it unknown;
            None when there was nothing to fence.
        published: last run published for the partition.
        first_offset: source offset at which a virgin partition begins; None for any other.
    """

    entry: Entry
    is_own: bool
    is_accepted: bool
    restart_at: int | None
    target: TargetFindings
    tail: Tail | Loss | None
    published: PublishedRun | None
    first_offset: int | None


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Offsets at which to continue, before the source is inspected.

    Args:
        entry: the replaced entry, without its source epoch if that belongs to a log that is gone.
        mark: the last of our records before `target_offset`.
        losses: accepted losses at the target.
    """

    entry: Entry
    source_offset: int
    target_offset: int
    mark: Mark | None
    losses: tuple[Loss | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Successor:
    """Producer of the next records, and the topic ids that the new entry names."""

    producer_id: int
    epoch: int
    sequence: int
    transactional_id: str
    source_topic: UUID | None
    target_topic: UUID | None


def resume_point(evidence: Evidence) -> ResumePoint | Loss:
    """Returns where to continue; a loss, if one is found that no operator has accepted."""
    entry, found = evidence.entry, evidence.target
    tail = evidence.tail
    unread: Loss | None = None
    changed: Loss | None = None
    if isinstance(tail, Loss):
        tail, unread = None, tail
    elif tail:
        unread, changed = tail.missing, tail.changed
    lost = unread or changed
    if lost and not evidence.is_accepted:
        return lost
    source_offset = entry.source_offset if evidence.first_offset is None else evidence.first_offset
    target_offset = entry.target_offset if evidence.is_own else found.end
    mark = None if found.loss else entry.mark
    if tail:
        source_offset, target_offset, mark = entry.after(tail.landed), tail.end, tail.mark
    turned: Loss | None = None
    # If the target lost records of published runs, or its tail, runs do not tell what it holds.
    if not (evidence.is_own or found.loss or (unread and tail is None)):
        # A tail ends at the first marker that fences its writer: that of an earlier takeover may
        # stand far before the end of the log.
        log_end = max(target_offset, found.end)
        runs = tail.runs if tail else ()
        turned = turned_back(entry, source_offset, log_end, evidence.published, runs)
    if turned and not evidence.is_accepted:
        return turned
    turned = ended(turned, evidence.restart_at)
    if turned and turned.end:
        source_offset = max(source_offset, turned.end)
    if entry.parked and entry.parked.kind in CUT_BACK:
        # Accepted: the last epoch read belongs to a log that is gone.
        entry = replace(entry, source_epoch=-1)
    if _covers(entry.parked, changed):
        changed = None
    losses = (found.loss, unread, changed, turned)
    return ResumePoint(entry, source_offset, target_offset, mark, losses)


def _covers(parked: Loss | None, changed: Loss | None) -> bool:
    """Returns True if a partition is parked for changed timestamps that a tail shows again."""
    return (
        parked is not None
        and changed is not None
        and parked.kind is changed.kind
        and parked.begin <= changed.begin
        and (parked.end or 0) >= (changed.end or 0)
    )


def successor_entry(
    evidence: Evidence, point: ResumePoint, source: SourceFindings, successor: Successor
) -> Taken | Loss:
    """Returns the partition with its new entry; the source's loss, if no operator accepted it.

    Args:
        source: inspection of the source's log at the resume point.
    """
    if source.loss and not evidence.is_accepted:
        return source.loss
    entry, published = point.entry, evidence.published
    parked = ended(entry.parked, evidence.restart_at)
    source_topic = successor.source_topic
    return Taken(
        Entry(
            custody=Custody.HELD,
            source_offset=goes_on_at(point.source_offset, source.start, parked, source.loss),
            target_offset=point.target_offset,
            producer_id=successor.producer_id,
            epoch=successor.epoch,
            sequence=entry.sequence if evidence.is_own else successor.sequence,
            transactional_id=successor.transactional_id,
            source_topic=source_topic or entry.source_topic,
            target_topic=successor.target_topic,
            source_epoch=-1 if source.loss else entry.source_epoch,
            mark=point.mark,
            losses=max(entry.losses, published.losses if published else 0) + evidence.is_accepted,
            seen=entry.seen if source_topic and source_topic == entry.source_topic else (),
        ),
        entry.custody is Custody.VIRGIN,
        source.leader,
        evidence.target.leader,
        named_once(parked, *point.losses, source.loss),
    )
