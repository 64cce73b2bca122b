"""Faults of a world with two regions and groups: carriers, brokers, Redis and consumers that fail,
and groups that are moved while they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tests.world.faults import brokers, redis
from tests.world.faults.fault import Fault

if TYPE_CHECKING:
    from tests.world.groups.group_history import GroupScene


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


async def move_group(scene: GroupScene) -> None:
    from tests.world.groups.group_history import LACKS

    await scene.move(scene.dice.choice(scene.groups), scene.dice.choice(LACKS))


def mend(scene: GroupScene) -> None:
    """Starts what is away, and lets go on what is stopped."""
    redis.mend(cast(Any, scene))
    for cluster in scene.regions.clusters:
        cluster.mend()


_OWN = (
    ("kill a carrier", kill_carrier, 4),
    ("new epoch", new_epoch, 2),
    ("kill a consumer", kill_consumer, 2),
    ("kill the copiers", kill_copiers, 2),
    ("move a group", move_group, 6),
)
FAULTS = (
    *(Fault(name, cast(Any, act), weight) for name, act, weight in _OWN),
    *brokers.FAULTS,
    *(fault for fault in redis.FAULTS if fault.act is not redis.kill_keeper),
)
