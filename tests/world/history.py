"""History of one seed: a route that mirrors while processes, brokers and connections fail.

At the end the faults are mended, and both ends have to be the same within a bound of virtual time.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

from replicator.mirror.carrier.assembly import MAKERS, Makers
from tests.world.checks import ends
from tests.world.checks.wrong import Wrong
from tests.world.faults.dealer import Dealer
from tests.world.scene import Course, Scene
from tests.world.source_load import Sender
from tests.world.virtual_loop import VirtualLoop, run

QUIET_SECONDS = 180.0
"""Bound for the end: virtual time within which everything has to be carried without faults."""


@dataclass(slots=True)
class Outcome:
    """Result of a history."""

    seed: int
    records: int
    seconds: float
    steps: int
    requests: int
    log: list[str] = field(default_factory=list)


class History:
    """History of one scene."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.dealer = Dealer(scene.dice)
        self.is_loaded = True

    async def run(self) -> Outcome:
        scene, loop = self.scene, self.scene.loop
        scene.tell("deals " + ", ".join(fault.name for fault, _ in self.dealer.dealt))
        await scene.mirroring.begin()
        await scene.plan()
        load = [asyncio.create_task(self._send(sender)) for sender in scene.senders]
        while loop.time() < scene.course.seconds:
            await asyncio.sleep(scene.dice.expovariate(1 / scene.course.fault_seconds))
            await self.dealer.deal(scene)
        self.is_loaded = False
        self._mend()
        await asyncio.gather(*load)
        await self._settle()
        await scene.mirroring.close()
        records = sum(len(it.acknowledged) for it in scene.senders)
        return Outcome(
            scene.seed,
            records,
            loop.time(),
            loop.steps,
            scene.world.network.requests,
            scene.log,
        )

    async def _send(self, sender: Sender) -> None:
        dice = sender.dice
        while self.is_loaded:
            await sender.send(
                dice.randint(1, 8),
                is_transactional=dice.random() < 0.3,
                commits=dice.random() < 0.7,
            )
            await asyncio.sleep(dice.expovariate(3.0))

    def _mend(self) -> None:
        self.scene.tell("all is mended")
        for cluster in self.scene.clusters:
            for node, broker in cluster.brokers.items():
                if not broker.is_up:
                    cluster.start(node)
                cluster.network.resume(broker.address)
                if broker.is_isolated:
                    cluster.rejoin(node)
        for carrier in self.scene.mirroring.carriers:
            if carrier.is_stopped:
                carrier.resume()

    async def _settle(self) -> None:
        """Waits until both ends are the same; raises Wrong if they do not become so."""
        scene = self.scene
        await scene.plan()
        give_up_at = scene.loop.time() + QUIET_SECONDS
        while differing := ends.differences(scene):
            if scene.loop.time() > give_up_at:
                entries = await scene.mirroring.entries()
                differing += [f"{place}: {it.parked}" for place, it in entries.items() if it.parked]
                raise Wrong("; ".join(differing))
            await asyncio.sleep(1.0)


def play(seed: int, course: Course | None = None, makers: Makers = MAKERS) -> Outcome:
    """Plays the history of a seed; raises Wrong with the history's log."""
    random.seed(seed)

    async def main(loop: VirtualLoop) -> Outcome:
        scene = Scene(loop, seed, course or Course(), makers)
        try:
            return await History(scene).run()
        except Wrong as wrong:
            raise Wrong("\n".join([f"seed {seed}: {wrong}", *scene.log])) from None

    found: Outcome = run(main)
    return found
