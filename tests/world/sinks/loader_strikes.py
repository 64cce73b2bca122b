"""Strikes of loaders, whichever store their feed has."""

from __future__ import annotations

from typing import Any

from tests.world.faults.fault import Fault
from tests.world.faults.strikes import Target, strike_anywhere, strike_at_request
from tests.world.sinks.feed_scene import FeedScene

PLANNED_SHARE = 0.4
"""Share of the strikes before which a new epoch begins."""


async def strike_after_turns(scene: FeedScene[Any]) -> None:
    strike_anywhere(scene, await _target(scene))


async def strike_amid_request(scene: FeedScene[Any]) -> None:
    strike_at_request(scene, await _target(scene))


async def _target(scene: FeedScene[Any]) -> Target:
    if scene.dice.random() < PLANNED_SHARE:
        await scene.plan()
    return Target(scene.running, scene.plan_soon, until=scene.course.seconds)


STRIKES = (
    Fault("strike a loader after some turns", strike_after_turns),
    Fault("strike a loader at its request", strike_amid_request),
)
"""Faults that a course has to name: other courses deal what they dealt before there were these."""
