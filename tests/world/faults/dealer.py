"""Dealer of faults: each seed has some kinds of faults, each with a weight of its own.

A history in which everything fails at once hides what needs one kind of fault many times. Source:
Groce et al., Swarm Testing (2012).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Sequence
from dataclasses import replace

from tests.world.faults import (
    brokers,
    carriers,
    coincidences,
    compaction,
    connections,
    drivers,
    ledger,
    logs,
    losses,
    operators,
    redis,
    strikes,
)
from tests.world.faults.fault import Fault
from tests.world.mirror.scene import Course, Scene

FAULTS: Sequence[Fault] = (
    *carriers.FAULTS,
    *drivers.FAULTS,
    *operators.FAULTS,
    *brokers.FAULTS,
    *logs.FAULTS,
    *connections.FAULTS,
    *redis.FAULTS,
)


def faults_of(course: Course) -> Sequence[Fault]:
    """Returns the faults of a course; each seed deals all that the course names."""
    if course.only:
        rare = (
            *losses.LOSSES,
            *coincidences.COINCIDENCES,
            *ledger.LEDGER,
            *compaction.COMPACTION,
            *strikes.STRIKES,
        )
        by_name = {it.name: it for it in (*FAULTS, *rare)}
        return [replace(by_name[name], weight=1, share=1.0) for name in course.only]
    return (*FAULTS, *losses.LOSSES) if course.loses else FAULTS


class Dealer:
    """Dealer of one history. A deal has dice of its own, so that leaving one out changes no other.

    Args:
        seed: of the history.
        left_out: numbers of deals that are left out, to find those that matter.
    """

    def __init__(
        self,
        seed: int,
        faults: Sequence[Fault] = FAULTS,
        left_out: Collection[int] = (),
    ) -> None:
        dice = random.Random(f"{seed} kinds")
        self.dealt = [
            (fault, fault.weight * dice.choice([1, 2, 4]))
            for fault in faults
            if dice.random() < fault.share
        ]
        self.count = 0
        """Deals so far, those left out included."""
        self._seed, self._left_out = seed, left_out

    async def deal(self, scene: Scene) -> None:
        """Waits some time, then deals the next fault; none if this seed has no kind."""
        self.count += 1
        scene.dice = random.Random(f"{self._seed} deal {self.count}")
        # Some faults come at once after the one before: together they do what neither does alone.
        pause = scene.course.fault_seconds * scene.dice.choice([0.05, 1.0, 2.0])
        await asyncio.sleep(scene.dice.expovariate(1 / pause))
        if self.dealt and self.count not in self._left_out:
            kinds, weights = zip(*self.dealt, strict=True)
            kind = scene.dice.choices(kinds, weights)[0]
            scene.tell(f"deal {self.count}: {kind.name}")
            await kind.act(scene)
