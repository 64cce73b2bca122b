"""Faults that lose records: unclean elections, retention that passes the readers, other topics.

A history has them only in a course that loses (`Course.loses`): then a partition may stop, and
`checks/losses.py` says what else has to be true.
"""

from __future__ import annotations

import asyncio

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.entry import Custody
from tests.world.faults.fault import Fault
from tests.world.faults.logs import entries
from tests.world.faults.scenes import LogScene
from tests.world.kafka import log_losses, transactional_ids
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.partition import NOBODY, Partition
from tests.world.mirror.scene import Scene

BATCHES_LOST_MAX = 12
RESTORE_SECONDS = (0.2, 4.0)
"""Time for records of the newer leader epoch to be carried."""


async def unclean_election(scene: LogScene) -> None:
    cluster = scene.any_cluster()
    partition = any_partition(scene, cluster)
    leader = partition.decided.leader
    others = [it for it in partition.replicas if it != leader and cluster.is_connected(it)]
    if leader == NOBODY or not others:
        return
    node = scene.dice.choice(others)
    log = partition.logs[leader]
    ends = [it.base_offset for it in log.batches[-BATCHES_LOST_MAX:]]
    kept = min(scene.dice.choice(ends or [log.end]), partition.logs[node].end)
    scene.tell(
        f"unclean election in {cluster.name}: {partition.topic}-{partition.number} ended at "
        f"{log.end}, {node} has it up to {kept}"
    )
    log_losses.elect_unclean(cluster, partition, node, kept)


async def delete_unread(scene: Scene) -> None:
    """Retention of the source deletes records that are not carried yet."""
    source = scene.mirroring.source
    partition = any_partition(scene, source)
    leader, known = partition.decided.leader, entries(scene)
    entry = known.get(next(it for it in scene.places if it.partition == partition.number))
    # A partition that was never carried begins where the log begins: it loses nothing.
    if leader != NOBODY and entry and entry.custody is not Custody.VIRGIN:
        end = partition.logs[leader].high_watermark
        scene.tell(f"{source.name} deletes {partition.topic}-{partition.number} before {end}")
        log_losses.delete_unread(source, partition, end)


async def delete_tail(scene: Scene) -> None:
    """Retention of the target deletes records that a takeover would read."""
    delete_tail_of(scene, scene.dice.choice(scene.places))


def delete_tail_of(scene: Scene, place: TopicPartition) -> None:
    """Deletes what one partition has behind its entry."""
    target = scene.mirroring.target
    partition = target.partition(*place)
    assert partition is not None
    leader, entry = partition.decided.leader, entries(scene).get(place)
    if leader != NOBODY and entry:
        end = partition.logs[leader].high_watermark
        scene.tell(f"{target.name} deletes {partition.topic}-{partition.number} before {end}")
        if end > entry.target_offset:
            log_losses.delete_unread(target, partition, end)


async def restore_source(scene: Scene) -> None:
    """Has another leader of a source partition elected, and puts the disks of all brokers back to
    what they had before: the older leader epoch is the newest one again.

    Each partition once: at a further election its epoch would be that of before, and nobody could
    tell the two logs apart.
    """
    source = scene.mirroring.source
    partition = any_partition(scene, source)
    epoch = partition.decided.epoch
    if any(it.place == (partition.topic, partition.number) for it in source.lost):
        return
    source.elect_another(partition)
    await asyncio.sleep(scene.dice.uniform(*RESTORE_SECONDS))
    leader = partition.decided.leader
    if leader == NOBODY or partition.decided.epoch == epoch:
        return
    end = partition.epoch_began[leader]
    scene.tell(f"{source.name} restores {partition.topic}-{partition.number} up to {end}")
    log_losses.restore(source, partition, epoch, end)


async def forget_ids(scene: Scene) -> None:
    """Transactional ids expire, those of stopped carriers with them."""
    idle = scene.dice.choice([2.0, 8.0])
    for name in await transactional_ids.forget_ids(scene.mirroring.target, idle):
        scene.tell(f"{scene.mirroring.target.name} forgets {name}")


async def recreate(scene: Scene) -> None:
    recreate_topic(scene, scene.any_cluster(), scene.places[0].topic)


def recreate_topic(scene: LogScene, cluster: KafkaCluster, topic: str) -> None:
    scene.tell(f"{cluster.name} has another topic under the name of {topic}")
    log_losses.recreate(cluster, topic)


def any_partition(scene: LogScene, cluster: KafkaCluster) -> Partition:
    partition = cluster.partition(*scene.dice.choice(scene.places))
    assert partition is not None
    return partition


SHARE = 0.35
"""A partition stops at its first loss: a seed with few kinds has room for the rarer ones."""
LOSSES = (
    Fault("unclean election", unclean_election, 4, SHARE),
    Fault("delete what is not carried", delete_unread, 4, SHARE),
    Fault("delete a tail", delete_tail, 6, SHARE),
    Fault("recreate a topic", recreate, 2, SHARE),
    Fault("forget transactional ids", forget_ids, 8, SHARE),
)
RESTORES = (Fault("restore the source", restore_source),)
