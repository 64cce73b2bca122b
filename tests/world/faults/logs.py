"""Faults of logs: what brokers forget, delete and compact, and replicas that fall behind.

None of them loses a record that is still needed: `losses.py` has those.
"""

from __future__ import annotations

from collections.abc import Mapping

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.entry import Entry
from tests.world.checks.entry_view import EntryView
from tests.world.faults.fault import Fault
from tests.world.kafka.in_sync import catch_up, shrink_to_leader, stall
from tests.world.kafka.kafka_cluster import GROUPS
from tests.world.kafka.transactional_ids import raise_epochs
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.scene import Scene

EPOCH_NEAR_ITS_END = 31_995
"""Just below the carriers' `producer_epoch_max`."""


async def forget_producers(scene: Scene) -> None:
    scene.tell("the target forgets idle producers")
    scene.mirroring.target.forget_producers()


async def leave_markers_out(scene: Scene) -> None:
    """Groups' partitions lose their leaders as their markers are due (KAFKA-20734)."""
    target = scene.mirroring.target
    seconds = scene.dice.uniform(0.5, 4.0)
    scene.tell(f"the target leaves markers out for {seconds:.1f} s")
    target.left_out_share = 0.2
    target.later(seconds, setattr, target, "left_out_share", 0.0)


async def raise_ids(scene: Scene) -> None:
    scene.tell("epochs of transactional ids are near their end")
    await raise_epochs(scene.mirroring.target, EPOCH_NEAR_ITS_END)


async def fall_behind(scene: Scene) -> None:
    """Replicas of one or two brokers do not follow: too few are in sync for a while."""
    cluster = scene.any_cluster()
    if cluster.stalled:
        return
    seconds = scene.dice.uniform(1.0, 8.0)
    nodes = scene.dice.sample(sorted(cluster.brokers), scene.dice.choice([1, 2]))
    scene.tell(f"{cluster.name} {nodes} fall behind for {seconds:.1f} s")
    for node in nodes:
        stall(cluster, node, scene.dice.uniform(0.1, 2.0))
        cluster.later(seconds, catch_up, cluster, node)


async def flicker(scene: Scene) -> None:
    """In-sync sets of the target shrink to the leader, moment by moment, as carriers begin."""
    target = scene.mirroring.target
    seconds = scene.dice.uniform(0.5, 3.0)
    scene.tell(f"in-sync sets of {target.name} flicker for {seconds:.1f} s")
    for place in scene.places:
        for _ in range(int(seconds * scene.dice.choice([5, 50]))):
            target.later(scene.dice.uniform(0.0, seconds), shrink_to_leader, target, place)
    await scene.plan()


async def delete_carried(scene: Scene) -> None:
    """Retention deletes records of the source that are carried for certain."""
    for place, entry in entries(scene).items():
        if scene.dice.random() < 0.5:
            _delete(scene, place, entry.source_offset, is_source=True)


async def delete_landed(scene: Scene) -> None:
    """Retention deletes records of the target before the entries."""
    for place, entry in entries(scene).items():
        if scene.dice.random() < 0.5:
            _delete(scene, place, entry.target_offset, is_source=False)


def _delete(scene: Scene, place: TopicPartition, end: int, *, is_source: bool) -> None:
    source, target = scene.clusters
    cluster = source if is_source else target
    partition = cluster.partition(*place)
    assert partition is not None
    start = min(log.start for log in partition.logs.values())
    if start < end:
        offset = scene.dice.choice([end, scene.dice.randint(start, end)])
        scene.tell(f"{cluster.name} deletes {place.topic}-{place.partition} before {offset}")
        for log in partition.logs.values():
            log.delete_before(offset)


async def compact_landed(scene: Scene) -> None:
    """Compaction thins the target's log before the entries."""
    target = scene.mirroring.target
    for place, entry in entries(scene).items():
        partition = target.partition(*place)
        assert partition is not None
        kept, share = scene.dice.getrandbits(32), scene.dice.choice([0, 2, 5])
        scene.tell(f"{target.name} compacts {place.topic}-{place.partition}")
        for log in partition.logs.values():
            log.compact(
                log.start,
                entry.target_offset,
                lambda at, kept=kept, share=share: (at * 2654435761 ^ kept) % 7 < share,
            )


def entries(scene: Scene) -> Mapping[TopicPartition, Entry]:
    """Returns the committed entries, as the leaders of their logs have them."""
    view = EntryView(scene.mirroring.target, ROUTE, lambda *_: None)
    for partition in scene.mirroring.target.topics[GROUPS].partitions:
        view.advanced(partition)
        partition.observers.remove(view)
    return view.entries


FAULTS = (
    Fault("forget idle producers", forget_producers, 2),
    Fault("leave markers out", leave_markers_out, 2),
    Fault("epochs near their end", raise_ids, 1),
    Fault("replicas fall behind", fall_behind, 2),
    Fault("in-sync sets flicker", flicker, 2),
    Fault("delete what is carried", delete_carried, 1),
    Fault("delete what has landed", delete_landed, 1),
    Fault("compact what has landed", compact_landed, 1),
)
