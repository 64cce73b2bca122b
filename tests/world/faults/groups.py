"""Faults of a world with two regions and groups: carriers, brokers, Redis and consumers that fail,
and somebody who writes to Redis."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fakeredis import FakeRedis

from replicator.groups.progress.vector_metadata import encode
from replicator.kafka.tail.stored_positions import text
from tests.world.faults import brokers, redis
from tests.world.faults.dealer import Kind, all_of, some_of
from tests.world.faults.fault import Fault
from tests.world.groups.two_regions import REGIONS

if TYPE_CHECKING:
    from tests.world.groups.scene import GroupCourse, GroupScene


async def kill_carrier(scene: GroupScene) -> None:
    running = scene.running()
    if running:
        victim = scene.dice.choice(running)
        scene.tell(f"kill {victim.name}")
        victim.kill()
    await new_epoch(scene)


async def new_epoch(scene: GroupScene) -> None:
    side = scene.dice.choice(list(scene.regions.sides.values()))
    await side.plan()


async def kill_consumer(scene: GroupScene) -> None:
    group = scene.dice.choice(scene.groups)
    scene.tell(f"kill the consumer of {group.name}")
    scene.start_consumer(group)


async def kill_copiers(scene: GroupScene) -> None:
    scene.tell("the copiers start anew")
    scene.copy()


async def stop_sync(scene: GroupScene) -> None:
    process = scene.dice.choice(list(scene.sync_processes.values()))
    seconds = scene.dice.uniform(0.5, 8.0)
    scene.tell(f"stop the {process.name} for {seconds:.1f} s")
    process.stop()
    scene.world.network.outside(scene.loop.time() + seconds, process.resume)


async def forget_own_decisions(scene: GroupScene) -> None:
    """Empties a Redis while the copier of its own region's decisions stands still: it has those of
    the other region first, by which groups that are stopped here still live there."""
    name, seconds = scene.dice.choice(REGIONS), scene.dice.uniform(4.0, 10.0)
    copier, server = scene.decision_copiers[name], scene.regions.redis[name]
    stopped = [it for it in scene.movable if it.region == name and it.consumer]
    scene.tell(f"flush {server.name}; its own decisions come {seconds:.1f} s later")
    copier.stop()
    scene.world.network.outside(scene.loop.time() + seconds, copier.resume)
    server.flush()
    for group in stopped:
        scene.pause_consumer(group, seconds)


async def forge_commit(scene: GroupScene) -> None:
    """Somebody tells a Redis that a group has read more than it has, by a commit that stays for a
    while."""
    (group,) = (it for it in scene.groups if it.is_forged)
    (name,) = set(REGIONS) - {group.region}
    client = FakeRedis(server=scene.regions.redis[name].store, protocol=2)
    key = f"sluice:commits:{group.region}:{group.name}"
    copies: Any = client.hgetall(key)
    for field, value in copies.items():
        era, log_offset, offset, metadata, *rest = json.loads(value)
        more, later = scene.dice.choice([20, 100, 400]), scene.dice.choice([0, 5, 50])
        if scene.dice.random() < 0.5:
            offset += more
        else:
            metadata = encode({group.region: offset + more})
        client.hset(key, field, text([era, log_offset + later, offset, metadata, *rest]))
    scene.tell(f"forge commits of {group.name} in {name}")


def mend(scene: GroupScene) -> None:
    """Starts what is away, and lets go on what is stopped."""
    redis.mend(scene)
    for cluster in scene.regions.clusters:
        cluster.mend()


FAULTS = (
    Fault("kill a carrier", kill_carrier, 4),
    Fault("new epoch", new_epoch, 2),
    Fault("kill a consumer", kill_consumer, 2),
    Fault("kill the copiers", kill_copiers, 2),
    Fault("stop an offset sync", stop_sync, 3),
    Fault("forge a commit", forge_commit, 4),
    *brokers.FAULTS,
    *redis.SERVERS,
)
NAMED: Sequence[Fault[GroupScene]] = (
    *FAULTS,
    Fault("forget a region's own decisions", forget_own_decisions, 2),
)
"""Faults with those that only courses deal that name them."""


def kinds_of(course: GroupCourse, dice: random.Random) -> list[Kind[GroupScene]]:
    """Returns the faults that a seed deals; all that the course names."""
    if course.only:
        return all_of((it for it in NAMED if it.name in course.only), dice)
    return some_of(FAULTS, dice)
