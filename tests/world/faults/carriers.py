"""Faults of carriers: killed, or stopped and resumed."""

from __future__ import annotations

import asyncio

from tests.world.faults.fault import Fault
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.mirror.scene import Scene
from tests.world.process import Process

LATE_SECONDS = 0.05
"""Time for requests of killed carriers to arrive; Spark starts others later than that."""


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
        seconds = scene.dice.choice([0.5, 3.0, 20.0, 45.0])
        scene.tell(f"stop {victim.name} for {seconds} s")
        victim.stop()
        scene.loop.call_later(seconds, victim.resume)
    if scene.dice.random() < 0.7:
        await scene.plan()


async def stop_and_cut_off(scene: Scene) -> None:
    """Stops a carrier until others have its partitions; its connections break meanwhile."""
    running = scene.running()
    if not running:
        return
    victim, seconds = scene.dice.choice(running), scene.dice.uniform(20.0, 40.0)
    scene.tell(f"stop {victim.name} for {seconds:.1f} s, and cut it off")
    victim.stop()
    target = scene.mirroring.target
    target.later(scene.dice.uniform(0.0, seconds), cut_off, target)
    scene.loop.call_later(seconds, victim.resume)
    await scene.plan()


def cut_off(cluster: KafkaCluster) -> None:
    """Ends all connections of all clients."""
    cluster.network.cut([it.address for it in cluster.brokers.values()])


async def stop_while_taking(scene: Scene) -> None:
    """Stops new carriers in the middle of their takeovers, and lets others take the same."""
    await scene.plan()
    await asyncio.sleep(scene.dice.choice([0.05, 0.3, 1.5]) * scene.dice.random())
    for victim in [it for it in scene.running() if scene.dice.random() < 0.7]:
        seconds = scene.dice.choice([0.3, 2.0, 8.0]) * scene.dice.random()
        scene.tell(f"stop {victim.name} while it takes over, for {seconds:.2f} s")
        victim.stop()
        scene.loop.call_later(seconds, victim.resume)
    await scene.plan()


async def kill_while_taking(scene: Scene) -> None:
    """Kills new carriers in the middle of their takeovers."""
    await scene.plan()
    await asyncio.sleep(scene.dice.choice([0.05, 0.3, 1.5]) * scene.dice.random())
    for victim in [it for it in scene.running() if scene.dice.random() < 0.7]:
        scene.tell(f"kill {victim.name} while it takes over")
        victim.kill()
    await scene.plan()


async def kill_all(scene: Scene) -> None:
    """Kills all carriers; what they sent arrives meanwhile."""
    while victims := scene.running():
        for victim in victims:
            scene.tell(f"kill {victim.name}")
            victim.kill()
        await asyncio.sleep(LATE_SECONDS)


async def set_clocks(scene: Scene) -> None:
    """Sets the clocks of some carriers and drivers while they run."""
    for victim in [*some_of(scene), *(run.process for run in scene.mirroring.drivers())]:
        victim.clock_ahead = scene.mirroring.make_clock()
        scene.tell(f"the clock of {victim.name} is set to {victim.clock_ahead:+.1f} s")


async def new_epoch(scene: Scene) -> None:
    await scene.plan()


def kill_some(scene: Scene) -> None:
    """Kills some of the carriers that run, or all."""
    for victim in some_of(scene):
        scene.tell(f"kill {victim.name}")
        victim.kill()


def some_of(scene: Scene) -> list[Process]:
    """Returns some carriers that run, or all."""
    running = scene.running()
    return scene.dice.sample(running, scene.dice.randint(1, len(running))) if running else []


def stop_for(scene: Scene, victim: Process, seconds: float) -> None:
    """Stops a process for some seconds."""
    scene.tell(f"stop {victim.name} for {seconds:.1f} s")
    victim.stop()
    scene.loop.call_later(seconds, victim.resume)


CLOCKS = (Fault("set clocks", set_clocks),)
FAULTS = (
    Fault("kill a carrier", kill_carrier, 4),
    Fault("stop a carrier", stop_carrier, 3),
    Fault("stop a carrier and cut it off", stop_and_cut_off, 2),
    Fault("stop carriers while they take over", stop_while_taking, 2),
    Fault("kill carriers while they take over", kill_while_taking, 2),
    Fault("new epoch", new_epoch, 2),
)
