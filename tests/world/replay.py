"""Histories by seed: played as they are, or again with some deals left out."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tests.world.checks.wrong import Wrong, shown
from tests.world.faults.dealer import Dealer
from tests.world.told_logs import told_logs
from tests.world.virtual_loop import run

Outcome = TypeVar("Outcome")
OutcomeT_co = TypeVar("OutcomeT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Replay:
    """Way in which a history is played.

    Args:
        left_out: numbers of the deals that are left out.
        dice: states of the dice at each deal, as the history had them with all its deals.
        logs: True takes the log lines of the simulated processes into the history's log.
    """

    left_out: Collection[int] = ()
    dice: Sequence[Any] = ()
    logs: bool = False


WHOLE = Replay()


class Told(Protocol):
    """Scene with the log of its history."""

    log: list[str]

    def tell(self, text: str) -> None: ...


class History(Protocol[OutcomeT_co]):
    """History of one scene."""

    dealer: Dealer[Any]

    @property
    def scene(self) -> Told: ...

    async def run(self) -> OutcomeT_co: ...


def replayed(
    seed: int,
    make: Callable[[Any], History[Outcome]],
    replay: Replay = WHOLE,
    run: Callable[[Callable[[Any], Coroutine[Any, Any, Outcome]]], Outcome] = run,
) -> Outcome:
    """Plays the history of a seed.

    Args:
        make: returns the history on a loop.
        run: runs it on a loop of its own.

    Raises:
        Wrong: with the history's log and its deals.
    """
    random.seed(seed)
    made: list[tuple[Any, History[Outcome]]] = []

    async def main(loop: Any) -> Outcome:
        history = make(loop)
        made.append((loop, history))
        with told_logs(history.scene.tell) if replay.logs else nullcontext():
            return await history.run()

    try:
        return run(main)
    except Exception as wrong:
        text = f"seed {seed}: {shown(wrong)}"
        if not made:
            raise Wrong(text) from wrong
        ((loop, history),) = made
        raise Wrong(
            text,
            history.scene.log,
            history.dealer.count,
            history.dealer.dice.states,
            seconds=loop.time(),
            steps=loop.steps,
        ) from wrong
