"""Growth of logs between two snapshots.

The record count is the growth of the end offset. The byte count is the growth of the log size if
nothing can have been deleted from the log in between. Otherwise it is the record count times the
log's bytes per record; see `densities`.
"""

from __future__ import annotations

from collections.abc import Mapping

from balancer.demand.window import Window
from balancer.topic_partition import TopicPartition
from replicator.placement.traffic.log_snapshot import LogSnapshot, LogState

DENSITY_DEFAULT = 1024.0
"""Bytes per record, if they are known of no log of the topic."""

Densities = Mapping[TopicPartition, float]


def windows(
    before: LogSnapshot, after: LogSnapshot, known: Densities | None = None
) -> dict[TopicPartition, Window]:
    """Returns a window for each log that is in both snapshots.

    A recreated topic has no windows, and neither has a log whose end moved back: such a log starts
    over. There are no windows at all if the clock did not advance.

    Args:
        known: bytes per record, returned by `densities` for the same two snapshots; None: derived
            from these two snapshots alone.
    """
    if after.at_ms <= before.at_ms:
        return {}
    densities_known = densities(before, after) if known is None else known
    means = _means(densities_known)
    found = {}
    for partition, old, new in _in_both(before, after):
        records = new.end - old.end
        density = densities_known.get(partition) or means.get(partition.topic) or DENSITY_DEFAULT
        grown = _bytes(old, new, records, density)
        found[partition] = Window(before.at_ms, after.at_ms, grown, records)
    return found


def densities(
    before: LogSnapshot, after: LogSnapshot, known: Densities | None = None
) -> dict[TopicPartition, float]:
    """Returns bytes per record of each log for which they are known. Pass them to the next call.

    Each new measurement is averaged with the former value. The average over the whole log is the
    last resort: a client that deletes records in the middle of a segment, as Kafka Streams does all
    the time, leaves more bytes than belong to the remaining records.

    Args:
        known: result for the former snapshots; topics that are gone are dropped.
    """
    topics = {partition.topic for partition in after.logs}
    found = {each: density for each, density in (known or {}).items() if each.topic in topics}
    for partition, old, new in _in_both(before, after):
        growth = _growth(old, new)
        records = new.end - old.end
        if growth and growth > 0 and records > 0:
            if partition not in found:
                found[partition] = growth / records
            elif new.start == old.start:
                found[partition] = (found[partition] + growth / records) / 2
    for snapshot in (after, before):
        for partition, log in snapshot.logs.items():
            if partition.topic in topics and partition not in found and log.density:
                found[partition] = log.density
    return found


def _in_both(
    before: LogSnapshot, after: LogSnapshot
) -> list[tuple[TopicPartition, LogState, LogState]]:
    """Returns each log that has only grown between the snapshots, before and after."""
    return [
        (partition, old, new)
        for partition, new in after.logs.items()
        if (old := before.logs.get(partition))
        and old.topic_id == new.topic_id
        and old.end <= new.end
    ]


def _bytes(old: LogState, new: LogState, records: int, density: float) -> int:
    growth = _growth(old, new)
    by_density = round(records * density)
    if growth is None or growth < 0 or (growth == 0 and records):
        return by_density
    if old.start == new.start:
        return growth
    # Whole segments may have been deleted in between: growth is then too low, and never too high.
    return max(growth, by_density) if records else 0


def _growth(old: LogState, new: LogState) -> int | None:
    """Returns the growth of the log size; None unless the same broker gave a size in both
    snapshots."""
    if old.size_bytes is None or new.size_bytes is None or old.leader != new.leader:
        return None
    return new.size_bytes - old.size_bytes


def _means(known: Densities) -> dict[str, float]:
    """Returns the mean density of each topic."""
    of_topic: dict[str, list[float]] = {}
    for partition, density in known.items():
        of_topic.setdefault(partition.topic, []).append(density)
    return {topic: sum(some) / len(some) for topic, some in of_topic.items()}
