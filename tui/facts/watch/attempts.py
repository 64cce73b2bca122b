"""Attempts to make the parts of a snapshot: one that fails leaves its part out, and says why."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from tui.facts.part import THIS_CONSOLE, Part

logger = logging.getLogger(__name__)
Made = TypeVar("Made")


class Attempts:
    """Attempts of one assembly, from one snapshot to the next."""

    def __init__(self) -> None:
        self._failed: dict[str, Part] = {}

    def made(self, about: str, make: Callable[[], Made], instead: Made, *, now: float) -> Made:
        """Returns what `make` returns, or `instead` when it fails.

        Args:
            about: subject of what is made, for people.
            now: Unix seconds.
        """
        try:
            found = make()
        except Exception as error:
            # A mistake of ours, or data that nobody thought of. The rest is shown.
            logger.debug("%s cannot be shown", about, exc_info=True)
            self._fail(about, f"{type(error).__name__}: {error}", now)
            return instead
        self._failed.pop(about, None)
        return found

    @property
    def failed(self) -> tuple[Part, ...]:
        """Parts that could not be made the last time."""
        return tuple(self._failed.values())

    def _fail(self, about: str, why: str, now: float) -> None:
        before = self._failed.get(about)
        self._failed[about] = Part(
            server=THIS_CONSOLE,
            about=about,
            # The answers are there, whatever becomes of them.
            asked_at=now,
            problem=f"{THIS_CONSOLE}: {about} cannot be shown: {why}",
            problem_since=now if before is None else before.problem_since,
        )
