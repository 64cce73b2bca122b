"""Steps of a long action, run to their end."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

Step = TypeVar("Step")
Returned = TypeVar("Returned")


def run_to_end(
    steps: Generator[Step, None, Returned], progress: Callable[[Step], object]
) -> Returned:
    """Runs all steps and returns their result; calls `progress` with each step."""
    while True:
        try:
            progress(next(steps))
        except StopIteration as end:
            returned: Returned = end.value
            return returned
