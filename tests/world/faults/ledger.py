"""Faults of the ledger: committed offsets that expire, and those that return to a former state.

Carriers are killed first: one that runs commits again within a second, and nothing is lost.
"""

from __future__ import annotations

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.entry import Custody, Entry, encode
from replicator.mirror.ledger.ledger import group_of
from tests.world.checks.entry_view import EntryView
from tests.world.faults.carriers import kill_all
from tests.world.faults.fault import Fault
from tests.world.kafka.group_requests import CommitsExpired, OffsetCommit, write_commits
from tests.world.kafka.kafka_cluster import GROUPS
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.scene import Scene


async def forget_entry(scene: Scene) -> None:
    """Committed offsets of a partition expire (offsets.retention.minutes)."""
    target, place = scene.mirroring.target, scene.dice.choice(scene.places)
    if not any(entry.custody is not Custody.VIRGIN for entry in committed(scene, place)):
        return
    await kill_all(scene)
    group = group_of(ROUTE, place)
    if await write_commits(target, group, CommitsExpired(group, place)):
        scene.tell(f"{target.name} forgets the entry of {place.topic}-{place.partition}")
        target.expired_commits.add(place)
    await scene.plan()


async def turn_back(scene: Scene) -> None:
    """A former entry of a partition is shown again, as after an unclean election of its log."""
    target, place = scene.mirroring.target, scene.dice.choice(scene.places)
    if place in target.restored_commits:
        return  # its log no longer tells which entry came last
    await kill_all(scene)
    former = provable(committed(scene, place))
    if former:
        entry, group = scene.dice.choice(former), group_of(ROUTE, place)
        row = (tuple(place), encode(entry))
        if await write_commits(target, group, OffsetCommit(group, (row,))):
            scene.tell(
                f"{target.name} turns back to an entry of {place.topic}-{place.partition}: {entry}"
            )
            target.restored_commits.add(place)
    await scene.plan()


def committed(scene: Scene, place: TopicPartition) -> list[Entry]:
    """Returns all entries of a partition, in the order of their commits."""
    found: list[Entry] = []
    target = scene.mirroring.target
    view = EntryView(target, ROUTE, lambda at, entry: found.append(entry) if at == place else None)
    for partition in target.topics[GROUPS].partitions:
        view.advanced(partition)
        partition.observers.remove(view)
    return found


def provable(entries: list[Entry]) -> list[Entry]:
    """Returns those entries of which published runs show that they are older than what landed.

    Left is what decision 0017 leaves: records of a later writer that has published no run.
    """
    if not entries or entries[-1].parked:
        return []
    last, found = entries[-1], []
    for at, entry in enumerate(entries[:-1]):
        later = [it for it in entries[at:] if _writer(it) != _writer(entry)]
        is_shown = last.source_offset > later[0].source_offset if later else not last.gaps
        if entry.custody is not Custody.VIRGIN and entry.runs and is_shown:
            found.append(entry)
    return found


def _writer(entry: Entry) -> tuple[int, int]:
    return entry.producer_id, entry.epoch


LEDGER = (
    Fault("forget an entry", forget_entry),
    Fault("turn back to a former entry", turn_back),
)
