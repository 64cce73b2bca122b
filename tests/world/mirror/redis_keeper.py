"""Keeper of a world's offset maps: the product's, in a process of its own, whatever Redis does.

It reads the runs topic as a consumer of librdkafka would: from the leader that some broker names,
up to the end that this leader had at first.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping
from functools import partial

from replicator.config.cluster_name import ClusterName
from replicator.config.names import runs_topic_name
from replicator.config.topology import Appliance, Route
from replicator.mirror.offset_map.map_maintenance import MapMaintenance
from replicator.mirror.offset_map.offset_keeper import OffsetKeeper
from replicator.mirror.offset_map.packed_map import Piece
from replicator.mirror.offset_map.runs_topic import RunsKey, RunsTopicUnreadable, decode
from tests.replicator.batches.source_batches import decoded
from tests.world.blocking import in_thread, pause
from tests.world.kafka.admin import WorldAdmin
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.partition import NOBODY, Partition
from tests.world.process import Process

PASS_SECONDS = 4.0


def keeper(
    appliance: Appliance, route: Route, target: KafkaCluster, dice: random.Random
) -> Process:
    """Starts a process that keeps the maps of one route."""
    region = appliance.region(route.target)
    name = ClusterName.aggregate(region.name)
    kept = OffsetKeeper(
        region,
        [route],
        maintenance=MapMaintenance(region, WorldAdmin(name, region.aggregate, target)),
        read=partial(published, target, dice),
    )
    return Process("keeper").start(_keep(kept))


async def _keep(kept: OffsetKeeper) -> None:
    while True:
        await in_thread(kept.keep)
        await asyncio.sleep(PASS_SECONDS)


def published(
    target: KafkaCluster, dice: random.Random, _: Mapping[str, object], route_key: str
) -> Iterator[tuple[RunsKey, Piece]]:
    """Yields the pieces of a runs topic; raises RunsTopicUnreadable while a leader is away."""
    partitions = target.topics[runs_topic_name(route_key)].partitions
    ends = {it.number: it.logs[_leader(target, dice, it)].high_watermark for it in partitions}
    for partition in partitions:
        position = 0
        while position < ends[partition.number]:
            pause(dice.uniform(0.001, 0.1))
            log = partition.logs[_leader(target, dice, partition)]
            batch = next(iter(log.from_offset(position, log.high_watermark)), None)
            if batch is None:
                raise RunsTopicUnreadable(f"{partition.topic}: no message for some time")
            position = batch.end
            for record in decoded(batch.data):
                yield decode(record.key, record.value)


def _leader(target: KafkaCluster, dice: random.Random, partition: Partition) -> int:
    """Returns the leader that a broker which clients reach tells them."""
    reached = [
        node
        for node, broker in target.brokers.items()
        if broker.is_up and not target.network.is_silent(broker.address)
    ]
    told = [
        partition.told[node].leader
        for node in reached
        if node in partition.told and partition.told[node].leader in reached
    ]
    leader = dice.choice(told) if told else NOBODY
    if leader == NOBODY or partition.told[leader].leader != leader:
        raise RunsTopicUnreadable(f"{partition.topic}: no leader")
    return leader
