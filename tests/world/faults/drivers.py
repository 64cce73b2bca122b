"""Faults of drivers: killed, stopped, replaced; and partitions that move within an epoch."""

from __future__ import annotations

import asyncio

from tests.world.faults.fault import Fault
from tests.world.mirror.driving import DriverRun
from tests.world.mirror.scene import Scene

MOVES_MAX = 4
MOVE_PAUSES = (0.0, 0.05, 0.3, 1.0)


async def move_partitions(scene: Scene) -> None:
    """Moves partitions among carriers that have some, often back at once."""
    for _ in range(scene.dice.randint(1, MOVES_MAX)):
        loads = {number: list(some) for number, some in scene.loads.items()}
        busy = [number for number, some in loads.items() if some]
        if len(busy) < 2:
            return
        giver, taker = scene.dice.sample(busy, 2)
        moved = loads[giver].pop(scene.dice.randrange(len(loads[giver])))
        if not loads[giver]:
            # A carrier without partitions ends, and needs a new epoch for its next one.
            loads[giver].append(loads[taker].pop(scene.dice.randrange(len(loads[taker]))))
        loads[taker].append(moved)
        await scene.place(loads)
        await asyncio.sleep(scene.dice.choice(MOVE_PAUSES))


async def kill_driver(scene: Scene) -> None:
    run = any_driver(scene)
    if run:
        scene.tell(f"kill {run.process.name}")
        run.process.kill()


async def terminate_driver(scene: Scene) -> None:
    run = any_driver(scene)
    if run:
        scene.tell(f"terminate {run.process.name}")
        run.terminate()


async def stop_driver(scene: Scene) -> None:
    """Stops a driver; now and then another one is started meanwhile, as by a second host."""
    run = any_driver(scene)
    if run:
        seconds = scene.dice.choice([1.0, 5.0, 20.0])
        scene.tell(f"stop {run.process.name} for {seconds} s")
        run.process.stop()
        scene.loop.call_later(seconds, run.process.resume)
        if scene.dice.random() < 0.5:
            await second_driver(scene)


async def second_driver(scene: Scene) -> None:
    mirroring = scene.mirroring
    if len(mirroring.drivers()) < 3:
        made = mirroring.start_driver()
        scene.tell(f"start {made.process.name} beside the others")


async def change_slots(scene: Scene) -> None:
    """Lets executors come or go; the next plan has another number of tasks."""
    scene.mirroring.slots = scene.dice.choice([1, 2, 8])
    scene.tell(f"{scene.mirroring.slots} slots")
    await scene.place(scene.loads)


def any_driver(scene: Scene) -> DriverRun | None:
    """Returns a driver that runs and is not stopped."""
    running = [run for run in scene.mirroring.drivers() if not run.process.is_stopped]
    return scene.dice.choice(running) if running else None


FAULTS = (
    Fault("move partitions", move_partitions, 6),
    Fault("kill a driver", kill_driver, 2),
    Fault("terminate a driver", terminate_driver, 1),
    Fault("stop a driver", stop_driver, 2),
    Fault("start a second driver", second_driver, 1),
    Fault("change the slots", change_slots, 1),
)
