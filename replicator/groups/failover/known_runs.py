"""Offset maps of many partitions of one route, read from one Redis, and what was unreadable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from balancer.plan import TopicPartition
from replicator.config.topology import Route
from replicator.groups.failover.ledger_view import LedgerView
from replicator.groups.progress.aggregate import Known, Passed
from replicator.groups.progress.numbering import numbering
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
    url: str, route: Route, words: Mapping[TopicPartition, LedgerView], timeout_seconds: float
) -> KnownRuns:
    """Reads the maps of these partitions, and joins them with what the ledger said.

    A run costs 24 bytes of memory: up to 24 MB for a partition with as many runs as are kept.
    Raises StoreUnreachable.
    """
    notes = {place: word.note for place, word in words.items() if word.note}
    with OffsetStore(url, route.key, timeout_seconds=timeout_seconds) as store:
        keys = {place: word.key for place, word in words.items() if word.key}
        unnamed = {
            place
            for place, word in words.items()
            if word.key is None and word.passed is None and not word.is_void
        }
        if unnamed:
            keys |= _only_ones(store.keys(), unnamed)
        known: dict[TopicPartition, Known] = {}
        wanted = list(keys.items())
        for at in range(0, len(wanted), KEYS_PER_READ):
            some = dict(wanted[at : at + KEYS_PER_READ])
            told = store.pieces(some.values())
            for place, key in some.items():
                try:
                    known[place] = known_of(
                        words[place], key.source_topic_id, maps_by_losses(told[key])
                    )
                except (BrokenPiece, RunsContradict, UnknownVersion) as error:
                    notes.setdefault(place, f"{route.name}: its runs cannot be read: {error}")
    for place, word in words.items():
        if place not in known:
            known[place] = known_of(word, word.key.source_topic_id if word.key else None, {})
    return KnownRuns(known, notes)


def known_of(word: LedgerView, source_topic: str | None, maps: Mapping[int, OffsetMap]) -> Known:
    """Returns what ledger and runs say together.

    Args:
        maps: by the number of losses that were accepted before their runs were published.

    Raises RunsContradict.
    """
    runs, passed = map_after_losses(maps), word.passed
    if passed and word.unwritten_up_to is not None:
        is_beyond = runs.target_end > passed.target_offset
        if not is_beyond and runs.source_end <= passed.source_offset:
            passed = Passed(passed.source_offset, word.unwritten_up_to)
    return Known(
        runs,
        passed,
        max([word.losses, *maps]),
        numbering(maps, runs, topic=source_topic, losses=word.losses, parked_at=word.cut_at),
    )


def _only_ones(
    keys: Iterable[RunsKey], places: Iterable[TopicPartition]
) -> dict[TopicPartition, RunsKey]:
    """Returns the keys of partitions whose ledger names no topic ids, where only one key has runs.

    A recreated topic has several keys, none of which is known to be today's.
    """
    found: dict[TopicPartition, list[RunsKey]] = {place: [] for place in places}
    for key in keys:
        place = TopicPartition(key.topic, key.partition)
        if place in found:
            found[place].append(key)
    return {place: some[0] for place, some in found.items() if len(some) == 1}
