"""Operators who accept the losses of parked partitions, again and again until a history ends.

Their command is a process that runs the product's code, and is killed between any two steps.
"""

from __future__ import annotations

import asyncio
import random

from replicator.config.topology import Appliance
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.mirror.repair.accept_loss import Acceptance
from tests.world.mirror.acceptances import Acceptances
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.scene import Scene
from tests.world.process import Process

COMMAND_SECONDS = 40.0
WAIT_SECONDS = (1.0, 6.0)


def accept_losses(scene: Scene) -> None:
    """Lets an operator look after parked partitions from now on."""
    scene.acceptances = Acceptances(scene.mirroring.target)
    dice = random.Random(f"{scene.seed} acceptances")
    scene.mirroring.background(_keep_accepting(scene, dice))


async def _keep_accepting(scene: Scene, dice: random.Random) -> None:
    number = 0
    while True:
        await asyncio.sleep(dice.uniform(*WAIT_SECONDS))
        number += 1
        starts = {
            place.partition: scene.mirroring.source.log_start(place) for place in scene.places
        }
        process = Process(f"accept-loss {number}")
        process.start(_accepted(scene.mirroring.appliance, scene.places[0].topic, starts))
        assert process.main is not None
        kill_after = dice.choice([0.02, 0.1, 0.3, 1.0, COMMAND_SECONDS, COMMAND_SECONDS])
        done, _ = await asyncio.wait({process.main}, timeout=kill_after)
        if not done:
            process.kill()
            await asyncio.wait({process.main})
            scene.tell(f"{process.name}: killed")
        elif said := process.main.result():
            scene.tell(f"{process.name}: {said}")


async def _accepted(appliance: Appliance, topic: str, starts: dict[int, int]) -> str:
    """Accepts what is parked; partitions without an entry begin at the source's start."""
    command = Acceptance(appliance, ROUTE)
    try:
        await command.open({topic})
        parked = await command.parked({topic})
        known = [it for it in parked if it.entry]
        found = await command.accept(known, None) if known else []
        for it in parked:
            if it.entry is None:
                found += await command.accept([it], starts[it.partition.partition])
    except (Answered, OSError, Unreachable, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        await command.close()
    left = "; ".join(f"{place}: {why}" for place, why in command.left.items())
    return "; ".join(map(str, found)) + (f"; left: {left}" if left else "")
