"""Repeated passes, each in a thread of its own, so that none holds up another."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from replicator.kafka.admin.admin_error import AdminError
from replicator.runtime.report_once import Troubles
from replicator.runtime.store_errors import StoreUnreachable

logger = logging.getLogger(__name__)


class PassFailed(Exception):
    """A pass could not do all it should, for the reason given; the next one tries again."""


EXPECTED = (AdminError, PassFailed, StoreUnreachable)


@dataclass(frozen=True, slots=True)
class Pass:
    """Work to be done now, and again so many seconds after it was done.

    An error that `once` raises is logged when it begins and when it ends. Two daemons may run the
    same pass at the same time.
    """

    name: str
    seconds: float
    once: Callable[[], object]


class PassLoop:
    """Repeats a pass until it is stopped. Blocking: give run() a thread of its own.

    Args:
        stopping: set by stop(), and waited for between two passes.
        troubles: errors that were logged.
    """

    def __init__(
        self,
        each: Pass,
        stopping: threading.Event | None = None,
        troubles: Troubles | None = None,
    ) -> None:
        self.name = each.name
        self.succeeded_at: float | None = None
        """Time of the last success, in seconds since 1970."""
        self._pass = each
        self._stopping = stopping or threading.Event()
        self._troubles = troubles or Troubles()

    def stop(self) -> None:
        """Makes run() return once the present pass is over."""
        self._stopping.set()

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._pass.once()
            except Exception as trouble:
                self._note(trouble)
            else:
                self.succeeded_at = time.time()
                self._note(None)
            self._stopping.wait(self._pass.seconds)

    def _note(self, trouble: Exception | None) -> None:
        """Logs an error when it begins or changes, and its end."""
        if trouble is None:
            if self._troubles.end():
                logger.warning("event=pass-works-again %s", self.name)
        elif self._troubles.begins(trouble, time.monotonic()):
            surprise = None if isinstance(trouble, EXPECTED) else trouble
            logger.warning("event=pass-failed %s: %s", self.name, trouble, exc_info=surprise)
