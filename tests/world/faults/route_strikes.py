"""Strikes of a mirrored route: its carriers and drivers, often while they take over."""

from __future__ import annotations

import random

from tests.world.faults.fault import Fault
from tests.world.faults.strikes import Target, strike_anywhere, strike_at_request
from tests.world.mirror.scene import Scene
from tests.world.process import Process

DRIVER_SHARE = 0.15
"""Share of the strikes that are for drivers. Without one, carriers soon do nothing more."""
PLANNED_SHARE = 0.4
"""Share of the strikes before which a new epoch begins."""


async def strike_after_turns(scene: Scene) -> None:
    strike_anywhere(scene, await _target(scene))


async def strike_amid_request(scene: Scene) -> None:
    strike_at_request(scene, await _target(scene))


async def _target(scene: Scene) -> Target:
    if scene.dice.random() < PLANNED_SHARE:
        await scene.plan()
    strikes_drivers = scene.dice.random() < DRIVER_SHARE
    dice = random.Random(scene.dice.random())

    def running() -> list[Process]:
        if not strikes_drivers:
            return scene.running()
        drivers = (run.process for run in scene.mirroring.drivers())
        return [process for process in drivers if not process.is_stopped]

    return Target(
        running,
        take_over=lambda: scene.mirroring.background(scene.plan(dice)),
        until=scene.course.seconds,
    )


STRIKES = (
    Fault("strike a process after some turns", strike_after_turns),
    Fault("strike a process at its request", strike_amid_request),
)
