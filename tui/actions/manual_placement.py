"""Manual placement orders: writes one order, then waits for the balancer's answer."""

from __future__ import annotations

import threading
import time

from replicator.orders.order_follower import OrderFollower
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import ByHand, key_of
from tui.state.balance_client import BalanceClient
from tui.cli.views.manual_placement_view import Applied


class Ear:
    """Listener for the answer to one order; the thread that tails the topic calls `hear`.

    Args:
        before: order log that was read before the order was written.
    """

    def __init__(self, order: ByHand, before: OrderLog) -> None:
        # Until the topic is read, the log holds what it held before, and the order, which replaced
        # an earlier unanswered order for the same stream.
        self.book = before.after([(key_of(order), order)])
        self.answered = threading.Event()
        self._order = order

    def hear(self, book: OrderLog) -> None:
        self.book = book
        if book.answer(self._order.route, self._order.stream, self._order.id):
            self.answered.set()


def ordered(
    client: BalanceClient, order: ByHand, before: OrderLog, timeout_seconds: float
) -> Applied:
    """Writes a manual order and returns its result, after `timeout_seconds` at the latest.

    An order whose generation is already superseded is not written.

    Args:
        before: order log that was read before the order was made.

    Raises:
        AdminError: the order was not written.
        WriteUnknown: the order may be written.
    """
    placed = before.placed(order.route, order.stream)
    if order.generation != (placed.generation if placed else 0):
        lease = before.lease(client.region)
        return Applied(order, None, placed, None, lease, order.at_ms, is_written=False)
    client.write([order])
    ear = Ear(order, before)
    following = OrderFollower(client.name, client.cluster, ear.hear)
    following.start()
    try:
        ear.answered.wait(timeout_seconds)
    finally:
        following.stop()
    now_ms, heard = time.time_ns() // 1_000_000, ear.book
    standing = heard.by_hand(order.route, order.stream, now_ms)
    return Applied(
        order,
        heard.answer(order.route, order.stream, order.id),
        placed,
        heard.placed(order.route, order.stream),
        heard.lease(client.region),
        now_ms,
        other=standing if standing and standing.id != order.id else None,
    )
