"""View of a route's ledger on one partition, for the planner of a failover and for the audit.

A copied ledger may be a moment older than the commits beside it. A group is then shown further back
than it was. Where a route had carried nothing yet, a plan calls that exact all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.groups.progress.partition_in_region import Passed
from replicator.kafka.client.loss import LossKind
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.ledger_reader import Entries
from replicator.mirror.offset_map.runs_topic import RunsKey

VOID = frozenset({LossKind.TARGET_TRUNCATED, LossKind.TARGET_DELETED, LossKind.TARGET_RECREATED})
"""Losses after which a parked entry refers to records that the target no longer has."""


@dataclass(frozen=True, slots=True)
class LedgerView:
    """Progress of a route on one partition, and the key of its runs.

    Args:
        passed: how far the route is; None: the ledger has nothing valid.
        key: the key of its runs; None: the topic ids are not known.
        losses: how many losses were accepted.
        unwritten_up_to: no carrier holds the partition, so no record of this route stands between
            `passed` and this target offset, unless runs show otherwise.
        cut_at: the source offset where the source's log was cut, if nobody has accepted that yet.
        is_void: True if the route's runs refer to records that the target no longer has.
        is_mirrored: True if this route mirrors the topic, or did.
        note: what the operator should know; empty when all is well.
    """

    passed: Passed | None = None
    key: RunsKey | None = None
    losses: int = 0
    unwritten_up_to: int | None = None
    cut_at: int | None = None
    is_void: bool = False
    is_mirrored: bool = True
    note: str = ""


def ledger_view(
    route: Route,
    partition: TopicPartition,
    entries: Entries,
    *,
    untouched_up_to: int,
    target_topic: str | None,
    is_current: bool,
) -> LedgerView:
    """Returns what the ledger says about a partition.

    Args:
        untouched_up_to: target offset below which no record of this route stands, if none has come
            by it. Read before the entries.
        target_topic: the id (hex) of the target's topic as it is today; None: not known.
        is_current: True if the entries were read from the target itself.
    """
    if partition in entries.unreadable:
        return LedgerView(note=f"{route.name}: {entries.unreadable[partition]}")
    entry = entries.read.get(partition)
    if entry is None:
        return _without_entry(route, partition, entries, untouched_up_to)
    return _of_entry(route, partition, entry, untouched_up_to, target_topic, is_current=is_current)


def _without_entry(
    route: Route, partition: TopicPartition, entries: Entries, untouched_up_to: int
) -> LedgerView:
    adopted = entries.adopted.get(partition.topic)
    if adopted is None:
        return LedgerView(note=f"{route.name}: nothing is known of its ledger")
    if partition.partition < adopted:
        return LedgerView(note=f"{route.name}: its ledger entry is gone")
    # The topic is not in the source region, or has fewer partitions there.
    return LedgerView(Passed(0, untouched_up_to), is_mirrored=adopted > 0)


def _of_entry(
    route: Route,
    partition: TopicPartition,
    entry: Entry,
    untouched_up_to: int,
    target_topic: str | None,
    *,
    is_current: bool,
) -> LedgerView:
    note = f"{route.name} is parked: {entry.parked}" if entry.parked else ""
    entry_topic = entry.target_topic and entry.target_topic.hex
    if entry_topic and target_topic and entry_topic != target_topic:
        note = note or f"{route.name}: {partition.topic} was recreated in {route.target}"
        return LedgerView(losses=entry.losses, is_void=True, note=note)
    if entry.parked and entry.parked.kind in VOID:
        return LedgerView(losses=entry.losses, is_void=True, note=note)
    key = None
    if entry.source_topic and entry_topic:
        key = RunsKey(*partition, entry.source_topic.hex, entry_topic)
    # A carrier that acquires a free partition commits an entry before it produces records. A
    # coordinator that is cut off may still answer that the partition is free.
    is_virgin = entry.custody is Custody.VIRGIN
    is_released = is_current and entry.custody is Custody.RELEASED and not entry.parked
    up_to = max(entry.target_offset, untouched_up_to)
    is_cut = entry.parked and entry.parked.kind is LossKind.SOURCE_TRUNCATED
    return LedgerView(
        Passed(entry.source_offset, up_to if is_virgin else entry.target_offset),
        key,
        entry.losses,
        unwritten_up_to=up_to if is_released else None,
        cut_at=entry.parked.begin if entry.parked and is_cut else None,
        note=note,
    )
