"""Dealer of faults: each seed has some kinds of faults, each with a weight of its own.

A history in which everything fails at once hides what needs one kind of fault many times. Source:
Groce et al., Swarm Testing (2012).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from tests.world.faults.fault import Fault
from tests.world.faults.scenes import DealtScene

S = TypeVar("S", bound=DealtScene)
Kind = tuple[Fault[S], int]
"""Kind of fault, and its weight in one history."""


def some_of(faults: Iterable[Fault[S]], dice: random.Random) -> list[Kind[S]]:
    """Returns the kinds that a seed deals, by the share of each."""
    return [_weighed(it, dice) for it in faults if dice.random() < it.share]


def all_of(faults: Iterable[Fault[S]], dice: random.Random) -> list[Kind[S]]:
    """Returns all kinds."""
    return [_weighed(it, dice) for it in faults]


def _weighed(fault: Fault[S], dice: random.Random) -> Kind[S]:
    return fault, fault.weight * dice.choice([1, 2, 4])


class DealDice(Protocol):
    """Dice of deals, such that leaving a deal out changes no other."""

    @property
    def states(self) -> Sequence[Any]:
        """States at each deal so far, if another play of the history needs them."""

    def at(self, deal: int, dice: random.Random) -> random.Random:
        """Returns the dice of a deal.

        Args:
            deal: number, from 1 on.
            dice: that the scene has had up to now.
        """


class OwnDice:
    """Dice of each deal by its number.

    Args:
        seed: of the history.
    """

    states: Sequence[Any] = ()

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def at(self, deal: int, dice: random.Random) -> random.Random:
        return random.Random(f"{self._seed} deal {deal}")


class SharedDice:
    """Dice that all deals share with the rest of the scene.

    Args:
        states: at the first deals; in another play of the history these have the same dice again.
    """

    def __init__(self, states: Sequence[Any] = ()) -> None:
        self.states = [*states]

    def at(self, deal: int, dice: random.Random) -> random.Random:
        if deal > len(self.states):
            self.states.append(dice.getstate())
        dice.setstate(self.states[deal - 1])
        return dice


class Dealer(Generic[S]):
    """Dealer of one history.

    Args:
        kinds: that this seed deals.
        left_out: numbers of deals that are left out, to find those that matter.
        bursts: factors of the mean time between two deals, of which each deal draws one.
    """

    def __init__(
        self,
        kinds: Sequence[Kind[S]],
        dice: DealDice,
        left_out: Collection[int] = (),
        bursts: Sequence[float] = (),
    ) -> None:
        self.kinds, self.dice = kinds, dice
        self.count = 0
        """Deals so far, those left out included."""
        self._left_out, self._bursts = left_out, bursts

    async def deal(self, scene: S) -> None:
        """Waits some time, then deals the next fault; none if this seed has no kind."""
        self.count += 1
        scene.dice = self.dice.at(self.count, scene.dice)
        pause = scene.course.fault_seconds
        if self._bursts:
            pause *= scene.dice.choice(self._bursts)
        await asyncio.sleep(scene.dice.expovariate(1 / pause))
        if self.kinds and self.count not in self._left_out:
            kinds, weights = zip(*self.kinds, strict=True)
            kind = scene.dice.choices(kinds, weights)[0]
            scene.tell(f"deal {self.count}: {kind.name}")
            await kind.act(scene)

    def tell(self, scene: S) -> None:
        """Adds the kinds to the log of the history."""
        scene.tell("deals " + ", ".join(fault.name for fault, _ in self.kinds))


BURSTS = (0.05, 1.0, 2.0)
"""Some faults come at once after the one before: together they do what neither does alone."""
