"""Told objects: what the topic sluice.objects.<feed> says as a whole, and what of it may be
forgotten. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from aggregator.intents.intent import Intent
from aggregator.objects.forgotten import Forgotten, Log, Removed
from aggregator.objects.told_object import ToldObject
from balancer.topic_partition import TopicPartition


@dataclass(eq=False, slots=True)
class ToldObjects:
    """Objects of a feed in one cluster, by key, and what was forgotten of each log."""

    by_key: dict[str, ToldObject] = field(default_factory=dict)
    forgotten: dict[Log, Forgotten] = field(default_factory=dict)

    def take(self, record: ToldObject | Forgotten | Removed) -> None:
        """Takes in the next record of the topic."""
        match record:
            case Removed(key):
                self.by_key.pop(key, None)
            case Forgotten(log):
                self.forgotten[log] = record
            case ToldObject():
                self.by_key[record.key] = record

    @property
    def objects(self) -> list[ToldObject]:
        """Objects by topic, partition and offset."""
        return sorted(
            self.by_key.values(),
            key=lambda each: (each.topic, each.partition, each.begin, each.key),
        )

    def forgotten_of(self, topic: str, partition: int | None = None) -> list[Forgotten]:
        """Returns what was forgotten of a topic, or of one partition of it."""
        return [
            each
            for log, each in sorted(self.forgotten.items())
            if log.topic == topic and partition in (None, log.partition)
        ]


def forgettable(
    told: ToldObjects,
    intents: Mapping[TopicPartition, Intent],
    told_before_ms: int,
    prefix: str = "",
) -> list[ToldObject]:
    """Returns the objects that may be forgotten if the bucket does not have them.

    Args:
        intents: of all partitions that have one.
        told_before_ms: Unix time; objects that were told since are kept.
        prefix: begin of the keys of which the bucket can tell anything.
    """
    return [
        each
        for each in told.objects
        if each.told_at_ms < told_before_ms
        and each.key.startswith(prefix)
        and is_passed(each, intents.get(TopicPartition(each.topic, each.partition)))
    ]


def is_passed(told: ToldObject, intent: Intent | None) -> bool:
    """Returns True if nothing that a loader takes over can depend on an object's manifest."""
    if intent is None:
        return True
    if not intent.transactional_id:
        return False  # it cannot be read: another version knows what it needs
    if intent.told is not None:
        # The markers beyond the committed offset are manifests (decision 0061).
        return told.end <= min(intent.offset, intent.told.base)
    is_of_log = told.incarnation == intent.incarnation_at(told.begin)
    return told.end <= intent.offset or not is_of_log


def forgotten_with(
    told: ToldObjects, candidates: Iterable[ToldObject], gone: Collection[str]
) -> dict[Log, list[ToldObject]]:
    """Returns the objects to forget, by log.

    Ranges without a record in an object were never in the bucket. They are forgotten with the
    objects that they lie among: those before the first object that stays.

    Args:
        candidates: objects that may be forgotten.
        gone: keys of those that the bucket does not have.
    """
    missing = set(gone)
    candidates = list(candidates)
    ends: dict[Log, int] = {}
    for each in candidates:
        if each.key in missing and not each.is_empty:
            log = Log.of(each)
            ends[log] = max(each.end, ends.get(log, 0))
    stays: dict[Log, float] = {}
    for each in told.by_key.values():
        if not each.is_empty and each.key not in missing:
            log = Log.of(each)
            stays[log] = min(each.begin, stays.get(log, math.inf))
    found: dict[Log, list[ToldObject]] = {}
    for each in candidates:
        log = Log.of(each)
        limit = min(ends.get(log, 0), stays.get(log, math.inf))
        if each.begin < limit if each.is_empty else each.key in missing:
            found.setdefault(log, []).append(each)
    return found
