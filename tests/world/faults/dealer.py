"""Dealer of faults: each seed has some kinds of faults, each with a weight of its own.

A history in which everything fails at once hides what needs one kind of fault many times. Source:
Groce et al., Swarm Testing (2012).
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from tests.world.faults import brokers, carriers, logs
from tests.world.faults.fault import Fault
from tests.world.scene import Scene

FAULTS: Sequence[Fault] = (*carriers.FAULTS, *brokers.FAULTS, *logs.FAULTS)
DEALT_SHARE = 0.7
"""Share of the kinds that one seed deals."""


class Dealer:
    """Dealer of one history.

    Args:
        dice: decides which kinds are dealt at all.
        without: names of faults that are left out.
    """

    def __init__(
        self, dice: random.Random, faults: Sequence[Fault] = FAULTS, without: Collection[str] = ()
    ) -> None:
        self.dealt = [
            (fault, fault.weight * dice.choice([1, 2, 4]))
            for fault in faults
            if dice.random() < DEALT_SHARE and fault.name not in without
        ]

    async def deal(self, scene: Scene) -> None:
        """Deals the next fault; none if this seed has no kind."""
        if self.dealt:
            kinds, weights = zip(*self.dealt, strict=True)
            await scene.dice.choices(kinds, weights)[0].act(scene)
