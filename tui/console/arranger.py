"""Arranger: makes pages in a thread of its own, so that the one that draws is never held."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.console.arranged import Arranged, shown
from tui.console.visit import Visit

if TYPE_CHECKING:
    from tui.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Wish:
    """Page to be made; the last wish counts.

    Args:
        number: grows with each wish.
    """

    number: int
    visit: Visit
    snapshot: Snapshot
    now: float


class Arranger:
    """Thread that makes the page wished for last.

    Args:
        on_made: called in the thread with the wish and its page.
    """

    def __init__(self, on_made: Callable[[Wish, Arranged], None]) -> None:
        self._on_made = on_made
        self._condition = threading.Condition()
        self._wish: Wish | None = None
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="arranger", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def wish(self, wish: Wish) -> None:
        """Asks for a page; a wish that was not begun is dropped."""
        with self._condition:
            self._wish = wish
            self._condition.notify()

    def close(self) -> None:
        """Ends the thread after the page that it makes."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._wish is not None or self._is_closed)
                wish, self._wish = self._wish, None
            if self._is_closed or wish is None:
                return
            self._on_made(wish, shown(wish.visit, wish.snapshot, wish.now))
