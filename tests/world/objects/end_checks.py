"""Both ends of a feed: every committed record is in one object, a dead letter, or left out."""

from __future__ import annotations

from collections import Counter

from balancer.topic_partition import TopicPartition
from tests.world.objects import losses
from tests.world.objects.object_feeding import ObjectFeeding
from tests.world.objects.object_load import Destination
from tests.world.objects.step_checks import StepChecks
from tests.world.sinks.letter_view import RecordPlace


def differences(feeding: ObjectFeeding, checks: StepChecks) -> list[str]:
    """Returns a text for each kind of difference."""
    found: list[str] = []
    lost: set[TopicPartition] = set()
    wanted: Counter[object] = Counter()
    dead: set[RecordPlace] = set()
    for place in feeding.places:
        intent = checks.intents[place][-1]
        if of_place := losses.of_place(feeding.cluster, place):
            lost.add(place)
            found += losses.differences(feeding, checks, place, intent, of_place)
            continue
        end = due(feeding, checks, place)
        if (intent.offset, bool(intent.parked)) != (end, False):
            found.append(f"{place}: {intent} is at {intent.offset}; {end} is due")
        for offset, record in checks.between(place, 0, 1 << 60):
            is_due = offset < end or offset in checks.object_of[place]
            if is_due and record.fate is Destination.OBJECT:
                wanted[(*place, record.folder, record.seen)] += 1
            elif is_due and record.fate is Destination.DEAD:
                dead.add(RecordPlace(*place, offset))
    seen: Counter[object] = Counter()
    for each in checks.seen.values():
        if each.place not in lost:
            seen.update((*each.place, each.folder, record) for record in each.content)
    if seen != wanted:
        found.append(f"records: missing {[*wanted - seen][:3]}, others {[*seen - wanted][:3]}")
    there = {key for key, each in checks.seen.items() if each.place not in lost}
    if untold := sorted(there - checks.told.keys()):
        found.append(f"not told: {untold[:3]}")
    letters = {it for it in checks.letters.committed if TopicPartition(*it[:2]) not in lost}
    if letters != dead:
        found.append(f"dead letters: {len(dead)} expected, {len(letters)} there")
    return found


def due(feeding: ObjectFeeding, checks: StepChecks, place: TopicPartition) -> int:
    """Returns the offset that is committed once everything is passed that ever will be."""
    end = checks.source.end(place)
    if feeding.settings.by_log:
        return checks.ranges(place).first_open(end)
    return end
