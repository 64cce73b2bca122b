"""Copier of one log into another region's Redis; one copier for each log and such Redis.

The position of a copier is stored in that Redis, so the copier has nothing to remember. A copier
that is started anew, or beside another one, continues from what the Redis has, be that nothing at
all.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Generic, Protocol

from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.stored_positions import StoreBehind
from replicator.kafka.tail.tail_position import Portion, Record, TailPosition
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.runtime.backoff import Backoff
from replicator.runtime.report_once import Troubles
from replicator.runtime.store_errors import StoreUnreachable

logger = logging.getLogger(__name__)

RETRY_SECONDS_MIN = 0.2
RETRY_SECONDS_MAX = 5.0
EXPECTED = (AdminError, LogUnreadable, StoreBehind, StoreUnreachable)


class Tailer(Protocol[Record]):
    """Follower of the log, such as TopicTailer."""

    @property
    def name(self) -> str: ...

    def follow(
        self, positions: Mapping[int, TailPosition], /
    ) -> Generator[Mapping[int, Portion[Record]], None, None]:
        """Yields the news of each poll, by partition; ends when reading has to begin anew."""


class Store(Protocol[Record]):
    """Destination of the copies."""

    @property
    def name(self) -> str: ...

    def position(self) -> Mapping[int, TailPosition]:
        """Returns the position up to which each partition of the log is there."""

    def put(self, portions: Mapping[int, Portion[Record]]) -> None:
        """Puts portions; raises StoreBehind where one does not continue from what is there."""


class Copier(Generic[Record]):
    """Copies one log to one store. Blocking: give run() a thread of its own.

    Args:
        stopping: set by stop(), and waited for before a retry.
    """

    def __init__(
        self,
        tailer: Tailer[Record],
        store: Store[Record],
        stopping: threading.Event | None = None,
    ) -> None:
        self._tailer = tailer
        self._store = store
        self.name = f"{tailer.name} to {store.name}"
        self.is_copying = False
        """True once news of the log was put, until an error keeps the copier from going on."""
        self._stopping = stopping or threading.Event()
        self._troubles = Troubles()
        self._backoff = Backoff(RETRY_SECONDS_MIN, RETRY_SECONDS_MAX)

    def stop(self) -> None:
        """Makes run() return, within some seconds when a server does not answer."""
        self._stopping.set()

    def run(self) -> None:
        """Copies until stop() is called, whatever is unreachable meanwhile."""
        while not self._stopping.is_set():
            try:
                self._copy()
            except Exception as trouble:
                self._note(trouble)
                self._stopping.wait(self._backoff.seconds)
                self._backoff.grow()

    def _copy(self) -> None:
        """Copies from the store's position on, until reading has to begin anew."""
        with closing(self._tailer.follow(self._store.position())) as polls:
            for portions in polls:
                if self._stopping.is_set():
                    return
                if portions:
                    self._store.put(portions)
                if any(portion.is_news for portion in portions.values()):
                    self._note(None)

    def _note(self, trouble: Exception | None) -> None:
        """Logs a trouble when it begins or becomes another, and its end."""
        self.is_copying = trouble is None
        if trouble is None:
            self._backoff.reset()
            if self._troubles.end():
                logger.warning("event=copied-again %s", self.name)
        elif self._troubles.begins(trouble, time.monotonic()):
            # An unexpected error is retried like any other: nothing else would copy.
            surprise = None if isinstance(trouble, EXPECTED) else trouble
            logger.warning("event=not-copied %s: %s", self.name, trouble, exc_info=surprise)
