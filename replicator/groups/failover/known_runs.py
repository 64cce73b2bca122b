"""Offset maps of many partitions of one route, read from one Redis, and what was unreadable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.groups.failover.ledger_view import LedgerView
from replicator.groups.progress.numbering import numbering
from replicator.groups.progress.partition_in_region import Known, Passed
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.offset_store import OffsetStore, map_after_losses, maps_by_losses
from replicator.mirror.offset_map.packed_map import BrokenPiece, UnknownVersion
from replicator.mirror.offset_map.run_columns import RunsContradict
from replicator.mirror.offset_map.runs_topic import RunsKey

KEYS_PER_READ = 32
"""Keys read at once: few enough for memory even if all have the most runs (4 MB packed, each)."""


@dataclass(frozen=True, slots=True)
class KnownRuns:
    """Knowledge about a route's partitions, from ledger and runs, and notes for the operator."""

    known: Mapping[TopicPartition, Known] = field(default_factory=dict)
    notes: Mapping[TopicPartition, str] = field(default_factory=dict)


def read_runs(
    url: str,
    route: Route,
    views: Mapping[TopicPartition, LedgerView],
    partitions: Iterable[TopicPartition],
    timeout_seconds: float,
) -> KnownRuns:
    """Reads the maps of partitions, and joins them with what the ledger said.

    A run costs 24 bytes of memory: up to 24 MB for a partition with as many runs as are kept.

    Args:
        partitions: partitions whose runs are read, as far as there is a view; for all others the
            ledger alone is known.

    Raises StoreUnreachable.
    """
    notes = {partition: view.note for partition, view in views.items() if view.note}
    asked = {it: view for it in partitions if (view := views.get(it))}
    with OffsetStore(url, route.key, timeout_seconds=timeout_seconds) as store:
        keys = {partition: view.key for partition, view in asked.items() if view.key}
        unnamed = {
            partition
            for partition, view in asked.items()
            if view.key is None and view.passed is None and not view.is_void
        }
        if unnamed:
            keys |= _unambiguous(store.keys(), unnamed)
        known: dict[TopicPartition, Known] = {}
        wanted = list(keys.items())
        for at in range(0, len(wanted), KEYS_PER_READ):
            some = dict(wanted[at : at + KEYS_PER_READ])
            pieces = store.pieces(some.values())
            for partition, key in some.items():
                try:
                    known[partition] = known_of(
                        views[partition], key.source_topic_id, maps_by_losses(pieces[key])
                    )
                except (BrokenPiece, RunsContradict, UnknownVersion) as error:
                    notes.setdefault(partition, f"{route.name}: its runs cannot be read: {error}")
    for partition, view in views.items():
        if partition not in known:
            known[partition] = known_of(view, view.key.source_topic_id if view.key else None, {})
    return KnownRuns(known, notes)


def known_of(view: LedgerView, source_topic: str | None, maps: Mapping[int, OffsetMap]) -> Known:
    """Returns what ledger and runs say together.

    Args:
        maps: by the number of losses that were accepted before their runs were published.

    Raises RunsContradict.
    """
    runs, passed = map_after_losses(maps), view.passed
    if passed and view.unwritten_up_to is not None:
        is_beyond = runs.target_end > passed.target_offset
        if not is_beyond and runs.source_end <= passed.source_offset:
            passed = Passed(passed.source_offset, view.unwritten_up_to)
    return Known(
        runs,
        passed,
        max([view.losses, *maps]),
        numbering(maps, runs, topic=source_topic, losses=view.losses, parked_at=view.cut_at),
    )


def _unambiguous(
    keys: Iterable[RunsKey], partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, RunsKey]:
    """Returns the keys of partitions whose ledger names no topic ids, where only one key has runs.

    A recreated topic has several keys, none of which is known to be today's.
    """
    found: dict[TopicPartition, list[RunsKey]] = {partition: [] for partition in partitions}
    for key in keys:
        partition = TopicPartition(key.topic, key.partition)
        if partition in found:
            found[partition].append(key)
    return {partition: some[0] for partition, some in found.items() if len(some) == 1}
