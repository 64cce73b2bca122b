"""Order log of one region, read on from where the last question stopped."""

from __future__ import annotations

import time
from collections.abc import Generator

from replicator.config.names import BALANCE_TOPIC
from replicator.kafka.admin.admin import Admin
from replicator.kafka.tail.tail_position import Portion
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.orders.balance_log import BalanceTailer
from replicator.orders.order_log import KeyedRecord, OrderLog

Portions = dict[int, Portion[KeyedRecord]]


class OrderWatch:
    """Watch of one region's orders. Blocking, for one thread; creates no topic.

    Reading the whole topic anew for each look would make clients and parse megabytes each time.
    """

    def __init__(self, admin: Admin, tailer: BalanceTailer, timeout_seconds: float) -> None:
        self._admin = admin
        self._tailer = tailer
        self._timeout_seconds = timeout_seconds
        self._order_log = OrderLog()
        self._polls: Generator[Portions, None, None] | None = None
        self._partitions: frozenset[int] = frozenset()

    @classmethod
    def of(cls, admin: Admin) -> OrderWatch:
        """Returns the watch of an aggregate; nothing is asked yet."""
        return cls(admin, BalanceTailer(admin.name, admin.cluster), admin.timeout_seconds)

    def read(self) -> OrderLog:
        """Returns the order log as it is now. Raises AdminError or LogUnreadable."""
        try:
            return self._read()
        except Exception:
            self.close()
            raise

    def _read(self) -> OrderLog:
        began_ms = time.time_ns() // 1_000_000
        deadline = time.monotonic() + self._timeout_seconds
        awaited = set(self._partitions)
        while True:
            if self._polls is None:
                if not self._admin.topics([BALANCE_TOPIC]):
                    return OrderLog()
                awaited = self._start()
            portions = next(self._polls, None) if self._polls else None
            if portions is None:
                # The topic was cut or recreated: it is read from its beginning.
                self.close()
            else:
                self._take(portions)
                awaited -= _caught_up(portions, began_ms)
                if not awaited:
                    return self._order_log
            if time.monotonic() > deadline:
                seconds = f"{self._timeout_seconds:g} s"
                raise LogUnreadable(f"{BALANCE_TOPIC}: not read to its end in {seconds}")

    def _start(self) -> set[int]:
        """Begins to read; returns the partitions, whose ends are awaited."""
        self._polls, self._order_log = self._tailer.follow({}), OrderLog()
        # The first item has all partitions, and no records.
        self._partitions = frozenset(next(self._polls))
        return set(self._partitions)

    def close(self) -> None:
        """Closes the consumer; the next question reads the topic from its beginning."""
        polls, self._polls = self._polls, None
        if polls is not None:
            polls.close()

    def _take(self, portions: Portions) -> None:
        records = [told.record for portion in portions.values() for told in portion.told]
        if records:
            self._order_log = self._order_log.after(records)


def _caught_up(portions: Portions, at_ms: int) -> set[int]:
    """Returns the partitions of which everything was read that stood there at a time."""
    return {number for number, it in portions.items() if (it.caught_up_ms or 0) >= at_ms}
