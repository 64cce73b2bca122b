"""Faults of a feed into objects: loaders, drivers and the store; brokers fail as for carriers."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from tests.world.faults import brokers
from tests.world.faults.fault import Fault
from tests.world.objects import store_faults
from tests.world.objects.scene import Scene
from tests.world.objects.server import COMPLETE, PART, PUT, WRITES, Armed, Condition
from tests.world.objects.step_checks import FOREIGN
from tests.world.objects.store_faults import HEAD
from tests.world.process import Process
from tests.world.sinks import loader_faults
from tests.world.sinks.loader_faults import STOP_SECONDS, kill_or_stop, strike_later


async def strike_at_request(scene: Scene) -> None:
    """Kills or stops a loader just when a request of its is acted on."""
    operation = scene.dice.choice([PART, HEAD, HEAD, PUT, PUT, COMPLETE, COMPLETE])
    is_behind, kills = scene.dice.random() < 0.6, scene.dice.random() < 0.5
    seconds, delay = scene.dice.choice(STOP_SECONDS), scene.dice.choice([0.0, 0.002, 0.01])

    def strike(_: str, victim: Process | None) -> None:
        if victim is not None:
            strike_later(scene, delay, hit, victim)

    def hit(victim: Process) -> None:
        kill_or_stop(scene, victim, None if kills else seconds, f" at its {operation}")
        if scene.dice.random() < 0.8:
            scene.plan_soon()

    scene.server.armed = Armed(operation, is_behind, strike)


async def take_name(scene: Scene) -> None:
    """Lets somebody write an object under the name of one that is about to be completed."""
    if scene.feeding.server.kind.condition is not Condition.KEPT:
        return  # the ledger alone fences there: nothing stands against others

    def take(key: str, _: Process | None) -> None:
        if key not in scene.server.objects:
            scene.tell(f"somebody takes {key}")
            scene.server.write(key, FOREIGN, {})

    scene.server.armed = Armed(scene.dice.choice(WRITES), False, take)


async def short_epoch(scene: Scene) -> None:
    """Begins a new epoch before objects of the present one are old."""
    await asyncio.sleep(scene.dice.uniform(3.5, 6.0))
    await scene.plan()


STORE: tuple[Fault[Scene], ...] = (
    *store_faults.FAULTS,
    Fault("strike at a request", strike_at_request, 5),
    Fault("take a name", take_name, 1),
)
EPOCHS = (Fault("short epoch", short_epoch, 1),)
"""Dealt only where a course names it."""
FAULTS = (
    *loader_faults.FAULTS,
    *STORE,
    *(replace(each, weight=1) for each in brokers.FAULTS),
)
