"""Wrong: what a check found."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any


class Wrong(AssertionError):
    """A history lost, repeated or reordered a record, told what is not true, or did not end.

    Args:
        log: of the history.
        deals: number of deals up to then.
        dice: their states at each of these deals; empty if each deal has dice of its own.
        seconds: of virtual time up to then.
        steps: turns of the loop up to then.
    """

    def __init__(
        self,
        text: str,
        log: Sequence[str] = (),
        deals: int = 0,
        dice: Sequence[Any] = (),
        *,
        seconds: float = 0.0,
        steps: int = 0,
    ) -> None:
        super().__init__(text)
        self.log, self.deals, self.dice = log, deals, dice
        self.seconds, self.steps = seconds, steps


def shown(error: Exception) -> str:
    """Returns the text of what ended a history; any other error is shown with its place."""
    if isinstance(error, Wrong):
        return str(error)
    return "".join(traceback.format_exception(error)).rstrip()
