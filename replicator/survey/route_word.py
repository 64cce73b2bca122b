"""What a route's ledger says of one partition to whoever plans a failover.

Of copied ledgers, it may be of a moment ago: a group is then shown further back than it was.
"""

from __future__ import annotations

from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.config.topology import Route
from replicator.ledger.entries import Entries
from replicator.ledger.entry import Custody, Entry
from replicator.ledger.loss import LossKind
from replicator.offsets.runs_topic import RunsKey
from replicator.progress.aggregate import Passed

VOID = frozenset({LossKind.TARGET_TRUNCATED, LossKind.TARGET_DELETED, LossKind.TARGET_RECREATED})
"""Parked for these, an entry speaks of records that the target no longer has."""


@dataclass(frozen=True, slots=True)
class RouteWord:
    """How far a route is, and whose runs are its runs.

    Args:
        passed: None where the ledger says nothing that holds.
        key: None: under which topic ids is not said.
        losses: how many were accepted.
        unwritten_up_to: nobody holds the partition, so nothing of this route stands between
            `passed` and this target offset, unless runs tell otherwise.
        cut_at: the source's log was found to be cut here, and nobody has accepted that yet.
        is_void: runs of it speak of records that the target no longer has.
        is_mirrored: whether this route mirrors the topic at all, or did.
        note: what an operator should hear; empty when all is well.
    """

    passed: Passed | None = None
    key: RunsKey | None = None
    losses: int = 0
    unwritten_up_to: int | None = None
    cut_at: int | None = None
    is_void: bool = False
    is_mirrored: bool = True
    note: str = ""


def word(
    route: Route,
    place: TopicPartition,
    entries: Entries,
    *,
    untouched_up_to: int,
    target_topic: str | None,
    is_of_now: bool,
) -> RouteWord:
    """What holds of a partition.

    Args:
        untouched_up_to: where nothing has come by this route, nothing of it stands before this
            target offset. Asked for before the entries were read.
        target_topic: the id (hex) of the target's topic as it is today; None: not known.
        is_of_now: whether the entries were read from the target itself.
    """
    if place in entries.unreadable:
        return RouteWord(note=f"{route.name}: {entries.unreadable[place]}")
    entry = entries.read.get(place)
    if entry is None:
        return _without_entry(route, place, entries, untouched_up_to)
    return _of_entry(route, place, entry, untouched_up_to, target_topic, is_of_now=is_of_now)


def _without_entry(
    route: Route, place: TopicPartition, entries: Entries, untouched_up_to: int
) -> RouteWord:
    adopted = entries.adopted.get(place.topic)
    if adopted is None:
        return RouteWord(note=f"{route.name}: nothing is known of its ledger")
    if place.partition < adopted:
        return RouteWord(note=f"{route.name}: its ledger entry is gone")
    # The topic is not in that region, or has fewer partitions there.
    return RouteWord(Passed(0, untouched_up_to), is_mirrored=adopted > 0)


def _of_entry(
    route: Route,
    place: TopicPartition,
    entry: Entry,
    untouched_up_to: int,
    target_topic: str | None,
    *,
    is_of_now: bool,
) -> RouteWord:
    note = f"{route.name} is parked: {entry.parked}" if entry.parked else ""
    told_topic = entry.target_topic and entry.target_topic.hex
    if told_topic and target_topic and told_topic != target_topic:
        note = note or f"{route.name}: {place.topic} was made anew in {route.target}"
        return RouteWord(losses=entry.losses, is_void=True, note=note)
    if entry.parked and entry.parked.kind in VOID:
        return RouteWord(losses=entry.losses, is_void=True, note=note)
    key = None
    if entry.source_topic and told_topic:
        key = RunsKey(*place, entry.source_topic.hex, told_topic)
    # Whoever takes a free partition writes an entry before it writes records. A coordinator that is
    # cut off may still say that it is free.
    is_virgin = entry.custody is Custody.VIRGIN
    is_released = is_of_now and entry.custody is Custody.RELEASED and not entry.parked
    up_to = max(entry.target_offset, untouched_up_to)
    is_cut = entry.parked and entry.parked.kind is LossKind.SOURCE_TRUNCATED
    return RouteWord(
        Passed(entry.source_offset, up_to if is_virgin else entry.target_offset),
        key,
        entry.losses,
        unwritten_up_to=up_to if is_released else None,
        cut_at=entry.parked.begin if entry.parked and is_cut else None,
        note=note,
    )
