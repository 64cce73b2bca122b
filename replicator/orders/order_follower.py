"""Tails the topic sluice.balance in a thread, through all failures of its cluster."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.tail_position import Portion
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.orders.balance_log import BalanceLog, BalanceTailer
from replicator.orders.order_log import KeyedRecord, OrderLog
from replicator.orders.order_records import RENEWED
from replicator.runtime.report_once import ReportOnce

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0


class Follower(Protocol):
    """Follower of orders; it runs between `start` and `stop`, which return at once."""

    def start(self) -> object: ...

    def stop(self) -> object: ...


class OrderFollower:
    """Follower of one region's orders.

    Args:
        name: of the cluster, shown to people.
        on_change: called in the thread with the order log, first when the topic is read to its
            end, then after every change. Renewals of a balancer alone cause no call: they are
            frequent and change no order.
    """

    def __init__(
        self, name: str, cluster: KafkaCluster, on_change: Callable[[OrderLog], None]
    ) -> None:
        self._name, self._cluster, self._on_change = name, cluster, on_change
        self._tailer = BalanceTailer(name, cluster)
        self._is_stopped = threading.Event()
        self._last: OrderLog | None = None

    def start(self) -> None:
        threading.Thread(target=self.run, name=f"following {self._name}", daemon=True).start()

    def stop(self) -> None:
        """Asks the thread to end, without waiting for it."""
        self._is_stopped.set()

    def run(self) -> None:
        """Tails the topic until `stop` is called."""
        reports = ReportOnce()
        while not self._is_stopped.is_set():
            try:
                self._follow()
                reports.settle(self._name)
            except (AdminError, LogUnreadable) as error:
                if reports.is_news(self._name):
                    logger.warning(
                        "event=orders-unheard %s; the orders read before stay in force", error
                    )
            except Exception:
                logger.exception("event=orders-unheard")
            self._is_stopped.wait(PAUSE_SECONDS)

    def _follow(self) -> None:
        """Reads the topic from its beginning, until it has to be read anew or `stop` is called."""
        BalanceLog(self._name, self._cluster).make_topic()
        order_log, is_whole = OrderLog(), False
        polls = self._tailer.follow({})
        try:
            for portions in polls:
                records = list(_records(portions.values()))
                order_log = order_log.after(records) if records else order_log
                was_whole = is_whole
                is_whole = is_whole or any(each.caught_up_ms for each in portions.values())
                has_orders = any(not isinstance(record, RENEWED) for _, record in records)
                if is_whole and (has_orders or not was_whole) and order_log != self._last:
                    self._last = order_log
                    self._on_change(order_log)
                if self._is_stopped.is_set():
                    return
        finally:
            polls.close()


def _records(portions: Iterable[Portion[KeyedRecord]]) -> Iterable[KeyedRecord]:
    for portion in portions:
        for each in portion.told:
            yield each.record
