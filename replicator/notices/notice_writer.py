"""Notice writer: keeps the notices of one process in its region's Redis, by a thread of its own.

It never holds up the process: while Redis is away, conditions and cards wait for the next write,
and events above PENDING_EVENTS_MAX are dropped and counted.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

from typing_extensions import override

from replicator.config.topology import Region
from replicator.notices.conditions import Conditions
from replicator.notices.daemon_card import DaemonCard
from replicator.notices.event import Event
from replicator.notices.notice_store import EXPIRE_MS, NoticeStore
from replicator.runtime.store_errors import StoreUnreachable

LOOK_SECONDS = 0.5
RENEW_SECONDS = EXPIRE_MS / 3000
RETRY_SECONDS = 2.0
PENDING_EVENTS_MAX = 1000
EVENTS_PER_WRITE = 200
CLOSE_SECONDS = 1.0


class NoticeWriter:
    """Writer of one process. `show` and `put` return at once, from any thread."""

    def __init__(
        self, make_store: Callable[[], NoticeStore], card: DaemonCard | None = None
    ) -> None:
        """Prepares the writer.

        Args:
            make_store: called again until it succeeds, as the password file of Redis may be missing
                for a moment.
            card: None: the process is no daemon.
        """
        self.card = card
        """May be replaced at any time."""
        self.dropped_events = 0
        self._make_store = make_store
        self._store: NoticeStore | None = None
        self._has_inherited = False
        self._shown: tuple[Conditions, ...] = ()
        self._gone: list[str] = []
        self._events: deque[Event] = deque()
        self._written: object = None
        self._written_at = float("-inf")
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="notices", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def show(self, conditions: Conditions) -> None:
        """Writes these conditions from now on. A predecessor's of the same name go on."""
        self._shown = (*self._shown, conditions)

    def put(self, event: Event) -> None:
        """Queues an event."""
        if len(self._events) >= PENDING_EVENTS_MAX:
            self.dropped_events += 1
            return
        self._events.append(event)

    def close(self, *, withdraws: bool = True) -> None:
        """Writes what is left; takes CLOSE_SECONDS at most.

        Args:
            withdraws: the card and the conditions. Otherwise they stay for EXPIRE_MS: a successor
                of the same name goes on with them.
        """
        if withdraws:
            self._gone = [
                *(each.who for each in self._shown),
                *([self.card.who] if self.card else ()),
            ]
            self._shown, self.card = (), None
        self._ending.set()
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        pause = 0.0
        while not self._ending.wait(pause):
            pause = LOOK_SECONDS if self._has_written() else RETRY_SECONDS
        self._has_written()
        if self._store is not None:
            self._store.close()

    def _has_written(self) -> bool:
        """Writes what has changed; returns False if Redis does not answer."""
        try:
            self._write()
        except (StoreUnreachable, OSError, ValueError):
            return False
        return True

    def _write(self) -> None:
        store = self._store = self._store or self._make_store()
        if not self._has_inherited:
            self._inherit(store)
        conditions = {each.who: each.current for each in self._shown}
        state = self.card, conditions
        is_due = time.monotonic() - self._written_at >= RENEW_SECONDS
        if state == self._written and not (is_due or self._events or self._gone):
            return
        events = list(islice(self._events, EVENTS_PER_WRITE))
        cards = [self.card] if self.card else ()
        store.write(cards=cards, conditions=conditions, gone=self._gone, events=events)
        for _ in events:
            self._events.popleft()
        self._gone = []
        self._written, self._written_at = state, time.monotonic()

    def _inherit(self, store: NoticeStore) -> None:
        before = store.conditions()
        for each in self._shown:
            each.inherit(it for it in before if it.who == each.who)
        self._has_inherited = True


class EventHandler(logging.Handler):
    """Makes an event of each warning and error that the process logs."""

    def __init__(self, writer: NoticeWriter, who: str) -> None:
        super().__init__(logging.WARNING)
        self._writer, self._who = writer, who

    @override
    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._writer.put(Event.of(record, self._who))
        except Exception:
            self.handleError(record)


@contextmanager
def notices(
    region: Region,
    who: str,
    conditions: Iterable[Conditions] = (),
    card: DaemonCard | None = None,
) -> Iterator[NoticeWriter]:
    """Writes the notices of this process meanwhile, with an event of each warning that it logs.

    Args:
        who: the process, for people.
        conditions: that the process finds.
        card: of a daemon.
    """

    def store() -> NoticeStore:
        return NoticeStore(region.redis_url(), region.name, timeout_seconds=RETRY_SECONDS)

    writer = NoticeWriter(store, card)
    for each in conditions:
        writer.show(each)
    handler = EventHandler(writer, who)
    logging.getLogger().addHandler(handler)
    writer.start()
    try:
        yield writer
    finally:
        logging.getLogger().removeHandler(handler)
        # Tasks follow each other: the next one goes on with the conditions.
        writer.close(withdraws=card is not None)


def card_doing(writer: NoticeWriter, doing: str) -> None:
    """Says on the card of the process what it does."""
    if writer.card is not None and writer.card.doing != doing:
        writer.card = replace(writer.card, doing=doing)
