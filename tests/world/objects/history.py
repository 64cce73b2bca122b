"""History of one seed: a feed into objects, while loaders, the store and brokers fail.

At the end the faults are mended, and every record has to be in one object, or a dead letter, or
left out, within a bound of virtual time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aggregator.loader import loss_acceptance
from aggregator.loader.assembly import MAKERS, Makers
from aggregator.s3 import open_object
from replicator.kafka.client.cluster import Fenced
from replicator.kafka.client.loss import LossKind
from tests.world.checks.wrong import Wrong, shown
from tests.world.objects.end_checks import differences
from tests.world.objects.faults import FAULTS
from tests.world.objects.losses import LOSSES
from tests.world.objects.scene import Course, ObjectLoop, Scene
from tests.world.objects.step_checks import FOREIGN
from tests.world.sinks.loaded_feed import FEED
from tests.world.sinks.loader_faults import Fault
from tests.world.sinks.sink_loop import run

QUIET_SECONDS = 60.0
"""Bound for the end: virtual time within which something more has to be passed without faults."""
DEALT_SHARE = 0.5
"""Share of the kinds of faults that one seed deals."""


@dataclass(slots=True)
class Outcome:
    """Result of a history."""

    seed: int
    records: int
    objects: int
    seconds: float
    steps: int
    log: list[str] = field(default_factory=list)


class History:
    """History of one scene."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.is_loaded = True
        only = scene.course.only
        self.dealt: list[tuple[Fault, int]] = [
            (fault, fault.weight * scene.dice.choice([1, 2, 4]))
            for fault in (*FAULTS, *(LOSSES if scene.course.loses else ()))
            if (fault.name in only if only else scene.dice.random() < DEALT_SHARE)
        ]

    async def run(self) -> Outcome:
        scene, loop = self.scene, self.scene.loop
        scene.tell("deals " + ", ".join(fault.name for fault, _ in self.dealt))
        await scene.begin()
        await scene.plan()
        load = [
            asyncio.create_task(sender.keep_sending(lambda: self.is_loaded, 8, 2.0))
            for sender in scene.senders
        ]
        kinds, weights = zip(*self.dealt, strict=True)
        while loop.time() < scene.course.seconds:
            await asyncio.sleep(scene.dice.expovariate(1 / scene.course.fault_seconds))
            await scene.dice.choices(kinds, weights)[0].act(scene)
        self.is_loaded = False
        self._mend()
        await asyncio.gather(*load)
        await self._settle()
        await scene.feeding.close()
        assert scene.checks is not None
        return Outcome(
            scene.seed,
            sum(map(len, scene.checks.source.offsets.values())),
            len(scene.checks.seen),
            loop.time(),
            loop.steps,
            scene.log,
        )

    def _mend(self) -> None:
        scene, server = self.scene, self.scene.server
        scene.tell("all is mended")
        scene.feeding.cluster.mend()
        server.orders, server.armed, server.is_gone, server.slowness = [], None, False, 1.0
        for loader in scene.feeding.loaders:
            if loader.is_stopped:
                loader.resume()

    async def _settle(self) -> None:
        """Waits until both ends are the same; raises Wrong if they do not become so."""
        scene = self.scene
        assert scene.checks is not None
        await scene.end_faults()
        passed, give_up_at = -1, 0.0
        while differing := differences(scene.feeding, scene.checks):
            # Many small objects take their time in a store that shows each a second later.
            now, before = scene.loop.time(), passed
            passed = sum(found[-1].offset for found in scene.checks.intents.values())
            give_up_at = give_up_at if passed == before else now + QUIET_SECONDS
            if now > give_up_at:
                raise Wrong("; ".join(differing))
            await self._free_names()
            await asyncio.sleep(1.0)

    async def _free_names(self) -> None:
        """Moves the objects of others away, and accepts what partitions are parked for."""
        scene, checks = self.scene, self.scene.checks
        assert checks is not None
        for key, stored in list(scene.server.objects.items()):
            if stored.data == FOREIGN:
                del scene.server.objects[key]
        parked = [
            place
            for place, found in checks.intents.items()
            if (loss := found[-1].parked) and loss.kind is LossKind.OBJECT_TAKEN
        ]
        if parked:
            scene.tell(f"losses of {len(parked)} partitions are accepted")
            try:
                await loss_acceptance.accept(scene.feeding.client, FEED, parked)
            except Fenced:
                scene.tell("a loader was faster")


@contextmanager
def _tokens(seed: int) -> Iterator[None]:
    """Has objects' tokens decided by the seed: with them intents have other lengths."""
    dice, before = random.Random(f"{seed} tokens"), open_object.secrets.token_hex
    open_object.secrets.token_hex = lambda size=4: dice.randbytes(size).hex()  # type: ignore[assignment]
    try:
        yield
    finally:
        open_object.secrets.token_hex = before


def play(seed: int, course: Course | None = None, makers: Makers = MAKERS) -> Outcome:
    """Plays the history of a seed; raises Wrong with the history's log."""
    random.seed(seed)
    scenes: list[Scene] = []

    async def main(loop: ObjectLoop) -> Outcome:
        scenes.append(Scene(loop, seed, course or Course(), makers))
        return await History(scenes[0]).run()

    try:
        with _tokens(seed):
            found: Outcome = run(main, ObjectLoop)
    except Exception as wrong:
        told = scenes[0].log if scenes else []
        raise Wrong(f"seed {seed}: {shown(wrong)}", told) from wrong
    return found
