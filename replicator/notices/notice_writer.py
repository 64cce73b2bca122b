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

import redis
from typing_extensions import override

from replicator.config.topology import Region
from replicator.notices.conditions import Conditions
from replicator.notices.daemon_card import DaemonCard
from replicator.notices.event import Event
from replicator.notices.notice_store import EXPIRE_MS, NoticeStore
from replicator.runtime.logs import Sparing
from replicator.runtime.store_errors import StoreUnreachable

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
RENEW_SECONDS = EXPIRE_MS / 3000
RETRY_SECONDS = 2.0
PENDING_EVENTS_MAX = 1000
EVENTS_PER_WRITE = 200
CLOSE_SECONDS = 1.0


class NoticeWriter:
    """Writer of one process. `put` returns at once, from any thread.

    Args:
        region: in whose Redis the notices are kept.
        conditions: that the process finds. What predecessors of the same names found goes on.
        card: None: the process is no daemon.
    """

    def __init__(
        self,
        region: Region,
        conditions: Iterable[Conditions] = (),
        card: DaemonCard | None = None,
    ) -> None:
        self.dropped_events = 0
        self._told_dropped = 0
        self._region = region
        self._conditions = tuple(conditions)
        self._card = card
        self._store: NoticeStore | None = None
        self._has_inherited = False
        self._events: deque[Event] = deque()
        self._written: object = None
        self._written_at = float("-inf")
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="notices", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, event: Event) -> None:
        """Queues an event."""
        if len(self._events) >= PENDING_EVENTS_MAX:
            self.dropped_events += 1
            return
        self._events.append(event)

    def close(self) -> None:
        """Ends the writer; events that are left are still written, and the card is withdrawn.

        Conditions stay until they expire: a successor of the same name goes on with them. A daemon
        waits for that for CLOSE_SECONDS at most, and a task of Spark does not.
        """
        self._ending.set()
        if self._card is not None:
            self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        pause = 0.0
        while not self._ending.wait(pause):
            pause = LOOK_SECONDS if self._succeeds(self._write) else RETRY_SECONDS
        self._succeeds(self._write_end)
        if self._store is not None:
            self._store.close()

    def _succeeds(self, write: Callable[[NoticeStore], None]) -> bool:
        """Returns False if Redis does not answer."""
        try:
            if self._store is None:
                # Again until it succeeds: the password file of Redis may be missing for a moment.
                self._store = NoticeStore(
                    self._region.redis_url(), self._region.name, timeout_seconds=RETRY_SECONDS
                )
            write(self._store)
        except (StoreUnreachable, OSError, ValueError) as error:
            logger.debug("event=not-noted %s", error)
            return False
        return True

    def _write(self, store: NoticeStore) -> None:
        if not self._has_inherited:
            before = store.conditions() if self._conditions else []
            for each in self._conditions:
                each.inherit(it for it in before if it.who == each.who)
            self._has_inherited = True
        conditions = {each.who: each.current for each in self._conditions}
        is_due = time.monotonic() - self._written_at >= RENEW_SECONDS
        if conditions == self._written and not (is_due or self._events):
            return
        cards = [self._card] if self._card and is_due else []
        with self._taken_events() as events:
            store.write(cards=cards, conditions=conditions, events=events)
        self._tell_dropped()
        self._written = conditions
        if is_due:
            self._written_at = time.monotonic()

    def _tell_dropped(self) -> None:
        """Logs how many events are missing, which is an event itself."""
        if count := self.dropped_events - self._told_dropped:
            self._told_dropped += count
            logger.warning("event=events-dropped count=%d while Redis did not answer", count)

    def _write_end(self, store: NoticeStore) -> None:
        """Writes what is not to be lost. No conditions: a successor may write its own by now."""
        ended = [self._card.who] if self._card else []
        with self._taken_events(PENDING_EVENTS_MAX) as events:
            store.write(ended=ended, events=events)

    @contextmanager
    def _taken_events(self, count: int = EVENTS_PER_WRITE) -> Iterator[list[Event]]:
        """Takes events from the queue; puts them back if Redis was not reached.

        If it was reached and did not answer in time, they may be written, and are not repeated.
        """
        events = [self._events.popleft() for _ in range(min(len(self._events), count))]
        try:
            yield events
        except StoreUnreachable as error:
            if isinstance(error.__cause__, redis.ConnectionError):
                self._events.extendleft(reversed(events))
            else:
                self.dropped_events += len(events)
            raise


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
    writer = NoticeWriter(region, conditions, card)
    handler = EventHandler(writer, who)
    handler.addFilter(Sparing())
    logging.getLogger().addHandler(handler)
    writer.start()
    try:
        yield writer
    finally:
        logging.getLogger().removeHandler(handler)
        writer.close()
