"""Faults behind the target's answers: batches that land in spite of an error, or never will.

Only courses that name them deal them (`mirror/courses.py`).
"""

from __future__ import annotations

import asyncio

from balancer.topic_partition import TopicPartition
from tests.world.faults.carriers import kill_all
from tests.world.faults.fault import Fault
from tests.world.faults.moments import NextAppend, appended, has_records
from tests.world.kafka.in_sync import shrink_to_leader
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.partition import NOBODY, Partition
from tests.world.mirror.scene import Scene

LOOKS, LOOK_SECONDS = 50, 0.0002
"""Looks for a follower that has a batch, before its leader knows that."""
WINDOW_BATCHES, WINDOW_RECORDS = 12, 40
"""Batches of a backlog that are not merged."""
WINDOW_SECONDS = 0.2
"""Time in which they are sent."""
FORGETS = 5
CHANGED_SECONDS = (0.5, 5.0)


async def elect_under_batches(scene: Scene) -> None:
    """Lets a follower lead once it has the next records: their answer is that the broker leads no
    more, and they are there. In half of the cases the carriers release meanwhile."""
    target, place, partition = _any_partition(scene)
    scene.tell(f"{place.topic}-{place.partition} of {target.name} has another leader in time")

    def elect(end: int, looks: int) -> None:
        decided = partition.decided
        able = [
            it
            for it in sorted(decided.in_sync - {decided.leader})
            if partition.logs[it].end >= end and target.is_connected(it)
        ]
        if able:
            target.elect(partition, able[0])
            target.tell_at_once(partition)
        elif looks:
            target.later(LOOK_SECONDS, elect, end, looks - 1)

    def begin(node: int) -> None:
        elect(partition.logs[node].end, LOOKS)

    NextAppend([partition], has_records, begin)
    for _ in range(FORGETS):
        target.later(scene.dice.uniform(0.0, 1.0), target.forget_producers)
    if scene.dice.random() < 0.5 and await appended([partition], has_records):
        await scene.plan()


async def forget_amid_window(scene: Scene) -> None:
    """Lets the target forget a producer between batches of one window, and refuse some of them for
    lack of replicas: a later batch is then taken for the first one, and theirs never again."""
    target, place, partition = _any_partition(scene)
    await kill_all(scene)
    sender = next(it for it in scene.senders if it.place == place)
    for _ in range(WINDOW_BATCHES):
        await sender.send(WINDOW_RECORDS)
    await scene.plan()
    if await appended([partition], has_records):
        scene.tell(f"{target.name} forgets the producer of {place.topic}-{place.partition}")
        known, give_up_at = 0, scene.loop.time() + WINDOW_SECONDS
        while scene.loop.time() < give_up_at:
            leader = partition.decided.leader
            end = partition.logs[leader].high_watermark if leader != NOBODY else known
            if end > known and scene.dice.random() < 0.5:
                # The next batch arrives in a moment; followers are back by the one behind it.
                target.forget_producers()
                shrink_to_leader(target, place)
            known = end
            await asyncio.sleep(LOOK_SECONDS)


async def stamp_append_time(scene: Scene) -> None:
    """Sets message.timestamp.type=LogAppendTime for a while."""
    _change_topic(scene, "stamps_append_time", "gives its own times to")


async def require_keys(scene: Scene) -> None:
    """Sets cleanup.policy=compact for a while: records without a key are refused."""
    _change_topic(scene, "is_compacted", "compacts")


def _change_topic(scene: Scene, setting: str, text: str) -> None:
    """Sets a flag of all partitions of one topic of the target for a while."""
    target, _, partition = _any_partition(scene)
    seconds = scene.dice.uniform(*CHANGED_SECONDS)
    scene.tell(f"{target.name} {text} {partition.topic} for {seconds:.1f} s")
    for each in target.topics[partition.topic].partitions:
        setattr(each, setting, True)
        target.later(seconds, setattr, each, setting, False)


def _any_partition(scene: Scene) -> tuple[KafkaCluster, TopicPartition, Partition]:
    target, place = scene.mirroring.target, scene.dice.choice(scene.places)
    partition = target.partition(*place)
    assert partition is not None
    return target, place, partition


TARGET_ANSWERS = (
    Fault("elect leaders under batches", elect_under_batches),
    Fault("forget producers amid a window", forget_amid_window),
    Fault("stamp append times", stamp_append_time),
    Fault("require keys", require_keys),
)
