"""What logs took in between two looks.

Records are the growth of the end offset. Bytes are the growth of the size wherever nothing can have
been taken out of the log meanwhile. Else they are what so many records of that log take: see
densities.
"""

from __future__ import annotations

from collections.abc import Mapping

from balancer.demand.window import Window
from balancer.plan import TopicPartition
from replicator.traffic.look import Look, SeenLog

DENSITY_DEFAULT = 1024.0
"""Bytes per record, where no log of the topic tells."""

Densities = Mapping[TopicPartition, float]


def windows(
    before: Look, after: Look, known: Densities | None = None
) -> dict[TopicPartition, Window]:
    """What each log that both looks saw took in.

    There is none of a topic that was made anew, nor of a log that ends before where it ended: such
    a log starts over. There are none at all if the clock did not go on.

    Args:
        known: bytes per record, of `densities` for the same two looks; without it, only what the
            two looks say of themselves.
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
    """Bytes per record of each log that tells, to be given to the next call.

    What came in last counts for half, and what was known before for the other half. The average
    over the whole log is asked only where nothing else is known: whoever deletes records in the
    middle of a segment, as Kafka Streams does all the time, leaves more bytes than belong to the
    records that are left.

    Args:
        known: of the looks before; of topics that are no longer seen they are left out.
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
    # Whole segments may have gone meanwhile: then this is less than came in, and never more.
    return max(growth, by_density) if records else 0


def _growth(old: SeenLog, new: SeenLog) -> int | None:
    """Of the size; None: it is not known of the same broker's log at both times."""
    if old.size_bytes is None or new.size_bytes is None or old.leader != new.leader:
        return None
    return new.size_bytes - old.size_bytes


def _means(known: Densities) -> dict[str, float]:
    """By topic."""
    of_topic: dict[str, list[float]] = {}
    for place, density in known.items():
        of_topic.setdefault(place.topic, []).append(density)
    return {topic: sum(all_of_it) / len(all_of_it) for topic, all_of_it in of_topic.items()}
