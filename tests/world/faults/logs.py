"""Faults of logs: what brokers forget, delete or lose."""

from __future__ import annotations

import time

from tests.world.faults.fault import Fault
from tests.world.scene import Scene

EXPIRATION_SECONDS = 24 * 3600.0
"""Kafka's default of producer.id.expiration.ms, counted from the time of a producer's records."""


async def forget_producers(scene: Scene) -> None:
    scene.tell("the target forgets idle producers")
    for place in scene.places:
        partition = scene.mirroring.target.partition(*place)
        assert partition is not None
        for log in partition.logs.values():
            log.forget_producers((time.time() - EXPIRATION_SECONDS) * 1000)


FAULTS = (Fault("forget idle producers", forget_producers, 1),)
