"""Faults of carriers: killed, or stopped and resumed."""

from __future__ import annotations

from tests.world.faults.fault import Fault
from tests.world.scene import Scene


async def kill_carrier(scene: Scene) -> None:
    running = scene.running()
    if running:
        victim = scene.dice.choice(running)
        scene.tell(f"kill {victim.name}")
        victim.kill()
    await scene.plan()


async def stop_carrier(scene: Scene) -> None:
    running = scene.running()
    if running:
        victim = scene.dice.choice(running)
        seconds = scene.dice.choice([0.5, 3.0, 20.0])
        scene.tell(f"stop {victim.name} for {seconds} s")
        victim.stop()
        scene.loop.call_later(seconds, victim.resume)
    if scene.dice.random() < 0.7:
        await scene.plan()


async def new_epoch(scene: Scene) -> None:
    await scene.plan()


FAULTS = (
    Fault("kill a carrier", kill_carrier, 4),
    Fault("stop a carrier", stop_carrier, 3),
    Fault("new epoch", new_epoch, 2),
)
