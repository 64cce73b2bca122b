"""Processes that stand still right before a step, while others take theirs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tests.world.blocking import pause

P = ParamSpec("P")
Result = TypeVar("Result")
HALT_SECONDS = (0.05, 0.4, 1.0, 3.0)


class Halts:
    """Halts of one process.

    Args:
        share: of the steps before which it stands still.
        until: virtual time after which it does not stand still any more.
    """

    def __init__(self, dice: random.Random, share: float, until: float) -> None:
        self._dice, self._share, self._until = dice, share, until

    def before(self, step: Callable[P, Result]) -> Callable[P, Result]:
        """Returns the step with a halt before it, in some cases."""

        def halting(*args: P.args, **options: P.kwargs) -> Result:
            if time.monotonic() < self._until and self._dice.random() < self._share:
                pause(self._dice.choice(HALT_SECONDS))
            return step(*args, **options)

        return halting
