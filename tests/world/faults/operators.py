"""Operators: they pause and resume partitions and topics, and rewind partitions.

Their commands are processes of the world that run the product's code, and may be killed.
"""

from __future__ import annotations

import asyncio
import random

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.entry import Custody
from replicator.mirror.repair.rewind import CannotRewind
from replicator.orders.order_records import Pause, key_of
from tests.world.faults.fault import Fault
from tests.world.faults.logs import entries
from tests.world.mirror.driving import DrivenMirroring
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.scene import Scene
from tests.world.process import Process

PAUSE_SECONDS = (0.2, 15.0)
ATTEMPTS_MAX = 30
PAUSED_AGAIN = 5
"""Attempts after which a partition is resumed and paused again."""
COMMAND_SECONDS = 20.0
RELEASE_SECONDS = (1.0, 4.0)
"""Time for a partition to be released, or to be taken."""
LOOK_SECONDS = (0.005, 0.04)
"""Time until a rewind has looked at the entry, and not replaced it."""
BACK_MAX = 40
"""Most offsets that a rewind goes back."""


async def pause(scene: Scene) -> None:
    """Pauses a partition or its topic for a while."""
    mirroring = scene.mirroring
    place = scene.dice.choice(scene.places)
    order = _pause(place.topic, scene.dice.choice([None, place.partition]))
    seconds = scene.dice.uniform(*PAUSE_SECONDS)
    scene.tell(f"pause {order.subject} for {seconds:.1f} s")
    mirroring.background(_paused(mirroring, order, seconds))


async def _paused(mirroring: DrivenMirroring, order: Pause, seconds: float) -> None:
    await mirroring.order([order])
    await asyncio.sleep(seconds)
    await mirroring.order(tombstones=[key_of(order)])


async def rewind(scene: Scene) -> None:
    """Pauses a partition, rewinds it, and resumes it; one partition at a time."""
    mirroring = scene.mirroring
    if not scene.course.loses and not scene.is_rewinding:
        scene.is_rewinding = True
        place, dice = scene.dice.choice(scene.places), random.Random(scene.dice.random())
        mirroring.background(_rewound(scene, mirroring, place, dice))


async def _rewound(
    scene: Scene, mirroring: DrivenMirroring, place: TopicPartition, dice: random.Random
) -> None:
    order = _pause(*place)
    await mirroring.order([order])
    for attempt in range(ATTEMPTS_MAX):
        if attempt % PAUSED_AGAIN == PAUSED_AGAIN - 1:
            # The entry of a carrier that died before the pause is held by nobody that releases it.
            await mirroring.order(tombstones=[key_of(order)])
            await asyncio.sleep(dice.uniform(1.0, 4.0))
            await mirroring.order([order])
        await asyncio.sleep(dice.uniform(0.3, 2.0))
        entry = entries(scene).get(place)
        if entry is None:
            continue
        start = mirroring.source.log_start(place)
        offset = max(start, entry.source_offset - dice.randint(0, BACK_MAX))
        scene.rewinds.ask(place, offset)
        process = Process(f"rewind of {place.topic}-{place.partition}")
        process.start(_run(scene, place, offset))
        kill_after = dice.choice([0.002, 0.02, 0.1, COMMAND_SECONDS, COMMAND_SECONDS])
        outcome = await _outcome(process, kill_after)
        scene.tell(f"{process.name} to {offset}: {outcome}")
        if outcome == DONE:
            break
    await mirroring.order(tombstones=[key_of(order)])
    scene.is_rewinding = False


async def resume_amid_rewind(scene: Scene) -> None:
    """Pauses a partition, and resumes it while the command that rewinds it stands still."""
    mirroring, place = scene.mirroring, scene.dice.choice(scene.places)
    order = _pause(*place)
    await mirroring.order([order])
    await asyncio.sleep(scene.dice.uniform(*RELEASE_SECONDS))
    entry = entries(scene).get(place)
    if entry is not None and entry.custody is Custody.RELEASED:
        start = mirroring.source.log_start(place)
        offset = max(start, entry.source_offset - scene.dice.randint(0, BACK_MAX))
        scene.rewinds.ask(place, offset)
        process = Process(f"rewind of {place.topic}-{place.partition}")
        process.start(_run(scene, place, offset))
        await asyncio.sleep(scene.dice.uniform(*LOOK_SECONDS))
        process.stop()
        await mirroring.order(tombstones=[key_of(order)])
        await asyncio.sleep(scene.dice.uniform(*RELEASE_SECONDS))
        process.resume()
        scene.tell(f"{process.name} to {offset}: {await _outcome(process, COMMAND_SECONDS)}")
    await mirroring.order(tombstones=[key_of(order)])


DONE = "done"


async def _run(scene: Scene, place: TopicPartition, offset: int) -> str:
    command = scene.parts.rewind(scene.mirroring.appliance, ROUTE)
    try:
        await command.open(place.topic)
        found = await command.partitions(place.topic, [place.partition])
        await command.rewind(found, offset)
    except CannotRewind as error:
        return str(error)
    finally:
        await command.close()
    return DONE


async def _outcome(process: Process, kill_after: float) -> str:
    """Returns how a command has ended; it is killed after some time."""
    assert process.main is not None
    done, _ = await asyncio.wait({process.main}, timeout=kill_after)
    if not done:
        process.kill()
        await asyncio.wait({process.main})
        return "killed"
    error = process.main.exception()
    return f"{type(error).__name__}: {error}" if error else str(process.main.result())


def _pause(topic: str, partition: int | None) -> Pause:
    return Pause(route=ROUTE.key, at_ms=0, who="operator", topic=topic, partition=partition)


FAULTS = (
    Fault("pause and resume", pause, 2),
    Fault("rewind", rewind, 1),
)

"""Faults that all courses may deal."""
RARE = (Fault("resume amid a rewind", resume_amid_rewind),)
