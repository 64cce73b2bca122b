"""Builder of pages in a thread of its own, so that the one that draws is never held."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.console.built_page import BuiltPage, built_or_failed
from tui.console.view_state import ViewState

if TYPE_CHECKING:
    from tui.facts.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Request for a page; the last one counts.

    Args:
        number: grows with each request.
    """

    number: int
    view: ViewState
    snapshot: Snapshot
    now: float


class PageBuilder:
    """Thread that makes the page that was asked for last.

    Args:
        on_built: called in the thread with the request and its page.
    """

    def __init__(self, on_built: Callable[[PageRequest, BuiltPage], None]) -> None:
        self._on_built = on_built
        self._condition = threading.Condition()
        self._request: PageRequest | None = None
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="page-builder", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def request(self, request: PageRequest) -> None:
        """Asks for a page; a request that was not begun is dropped."""
        with self._condition:
            self._request = request
            self._condition.notify()

    def close(self) -> None:
        """Ends the thread after the page that it makes."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._request is not None or self._is_closed)
                request, self._request = self._request, None
            if self._is_closed or request is None:
                return
            self._on_built(request, built_or_failed(request.view, request.snapshot, request.now))
