"""Growth of logs between two looks.

The record count is the growth of the end offset. The byte count is the growth of the log size if
nothing can have been deleted from the log in between. Otherwise it is the record count times the
log's bytes per record; see `densities`.
"""

from __future__ import annotations

from collections.abc import Mapping

from balancer.demand.window import Window
from balancer.plan import TopicPartition
from replicator.placement.traffic.log_snapshot import Look, SeenLog

DENSITY_DEFAULT = 1024.0
"""Bytes per record, if no log of the topic tells."""

Densities = Mapping[TopicPartition, float]


def windows(
    before: Look, after: Look, known: Densities | None = None
) -> dict[TopicPartition, Window]:
    """Returns a window for each log that both looks saw.

    A recreated topic has no windows, and neither has a log whose end moved back: such a log starts
    over. There are no windows at all if the clock did not advance.

    Args:
        known: bytes per record, returned by `densities` for the same two looks; None: derived from
            these two looks alone.
    """
    if after.at_ms <= before.at_ms:
        return {}
    densities_known = densities(before, after) if known is None else known
    means = _means(densities_known)
    found = {}
    for place, old, new in _seen_twice(before, after):
        records = new.end - old.end
        density = densities_known.get(place) or means.get(place.topic) or DENSITY_DEFAULT
        grown = _bytes(old, new, records, density)
        found[place] = Window(before.at_ms, after.at_ms, grown, records)
    return found


def densities(
    before: Look, after: Look, known: Densities | None = None
) -> dict[TopicPartition, float]:
    """Returns bytes per record of each log for which they are known. Pass them to the next call.

    Each new measurement is averaged with the former value. The average over the whole log is the
    last resort: a client that deletes records in the middle of a segment, as Kafka Streams does all
    the time, leaves more bytes than belong to the remaining records.

    Args:
        known: result for the former looks; topics that are no longer seen are dropped.
    """
    topics = {place.topic for place in after.logs}
    found = {p: density for p, density in (known or {}).items() if p.topic in topics}
    for place, old, new in _seen_twice(before, after):
        growth = _growth(old, new)
        records = new.end - old.end
        if growth and growth > 0 and records > 0:
            if place not in found:
                found[place] = growth / records
            elif new.start == old.start:
                found[place] = (found[place] + growth / records) / 2
    for look in (after, before):
        for place, log in look.logs.items():
            if place.topic in topics and place not in found and log.density:
                found[place] = log.density
    return found


def _seen_twice(before: Look, after: Look) -> list[tuple[TopicPartition, SeenLog, SeenLog]]:
    return [
        (place, old, new)
        for place, new in after.logs.items()
        if (old := before.logs.get(place)) and old.topic_id == new.topic_id and old.end <= new.end
    ]


def _bytes(old: SeenLog, new: SeenLog, records: int, density: float) -> int:
    growth = _growth(old, new)
    by_density = round(records * density)
    if growth is None or growth < 0 or (growth == 0 and records):
        return by_density
    if old.start == new.start:
        return growth
    # Whole segments may have been deleted in between: growth is then too low, and never too high.
    return max(growth, by_density) if records else 0


def _growth(old: SeenLog, new: SeenLog) -> int | None:
    """Returns the growth of the log size; None unless the same broker gave a size at both looks."""
    if old.size_bytes is None or new.size_bytes is None or old.leader != new.leader:
        return None
    return new.size_bytes - old.size_bytes


def _means(known: Densities) -> dict[str, float]:
    """Returns the mean density of each topic."""
    of_topic: dict[str, list[float]] = {}
    for place, density in known.items():
        of_topic.setdefault(place.topic, []).append(density)
    return {topic: sum(all_of_it) / len(all_of_it) for topic, all_of_it in of_topic.items()}
