"""Dealing of faults."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import pytest

from tests.world.faults.dealer import DealDice, Dealer, OwnDice, SharedDice, all_of
from tests.world.faults.fault import Fault
from tests.world.virtual_loop import VirtualLoop, run

DEALS = 8


@dataclass
class Pace:
    fault_seconds: float = 1.0


@dataclass
class Scene:
    """Scene whose faults draw dice, as any do."""

    dice: random.Random = field(default_factory=lambda: random.Random(7))
    course: Pace = field(default_factory=Pace)
    log: list[str] = field(default_factory=list)

    def tell(self, text: str) -> None:
        self.log.append(text)


async def _few(scene: Scene) -> None:
    scene.tell(f"{scene.log.pop()}, {scene.dice.random()}")


async def _many(scene: Scene) -> None:
    scene.tell(f"{scene.log.pop()}, {[scene.dice.random() for _ in range(3)]}")


FAULTS = (Fault("few", _few), Fault("many", _many, 2))


def dealt(dice: DealDice, left_out: Collection[int] = ()) -> dict[int, str]:
    """Returns what was dealt, by the numbers of the deals."""
    scene = Scene()
    dealer = Dealer(all_of(FAULTS, random.Random(1)), dice, left_out)

    async def main(_: VirtualLoop) -> None:
        for _ in range(DEALS):
            await dealer.deal(scene)

    run(main)
    return {int(line.split()[1].rstrip(":")): line for line in scene.log}


@pytest.mark.parametrize(
    "make", [lambda _: OwnDice(3), lambda states: SharedDice(states)], ids=["own", "shared"]
)
def test_a_deal_that_is_left_out_changes_no_other(make: Callable[..., DealDice]) -> None:
    dice = make(())
    whole = dealt(dice)
    assert [*whole] == [*range(1, DEALS + 1)]
    rest = dealt(make(dice.states), {2, 5})
    assert rest == {number: line for number, line in whole.items() if number not in (2, 5)}
