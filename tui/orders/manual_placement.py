"""Manual placement: orders the placement of a stream, then waits for the balancer's answer."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Protocol

from balancer.decision.placement import Scope
from replicator.config.topology import KafkaCluster, Route
from replicator.orders.order_follower import OrderFollower
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import ByHand, key_of
from tui.facts.manual_placement_result import ManualPlacement
from tui.facts.streams import find_stream
from tui.facts.watch.balance_client import BalanceClient
from tui.orders.region_orders import RegionOrders


class Follower(Protocol):
    """Follower of the order log, in a thread of its own."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


MakeFollower = Callable[[str, KafkaCluster, Callable[[OrderLog], None]], Follower]
"""Called with the cluster's name, the cluster, and the receiver of each new order log."""


class AnswerListener:
    """Listener for the answer to one order; the thread that tails the topic calls `hear`.

    Args:
        before: order log that was read before the order was written.
    """

    def __init__(self, order: ByHand, before: OrderLog) -> None:
        # Until the topic is read, the log holds what it held before, and the order, which replaced
        # an earlier unanswered order for the same stream.
        self.order_log = before.after([(key_of(order), order)])
        self.answered = threading.Event()
        self._order = order

    def hear(self, order_log: OrderLog) -> None:
        self.order_log = order_log
        if order_log.answer(self._order.route, self._order.stream, self._order.id):
            self.answered.set()


def place_stream(
    orders: RegionOrders,
    route: Route,
    stream: str,
    *,
    scope: Scope,
    generation: int,
    timeout_seconds: float,
    progress: Callable[[int, str], object],
) -> ManualPlacement:
    """Has the balancer place a stream now, unless another generation than this one is placed.

    Args:
        progress: called with what is left, and each step in words.

    Raises:
        UnknownStream: the route has no such stream.
        AdminError: the order was not written.
        WriteUnknown: the order may be written.
    """
    before, now_ms = orders.order_log, orders.now_ms
    find_stream(before, route.key, stream, now_ms)
    orders.warn_unless_acting(f"start `sluice balance --region {orders.region}`")
    order = ByHand(
        route=route.key,
        at_ms=now_ms,
        who=orders.who,
        why="sluice balance apply",
        id=uuid.uuid4().hex,
        stream=stream,
        scope=scope,
        generation=generation,
    )
    return order_placement(orders.client, order, before, timeout_seconds, progress)


def order_placement(
    client: BalanceClient,
    order: ByHand,
    before: OrderLog,
    timeout_seconds: float,
    progress: Callable[[int, str], object],
    make_follower: MakeFollower = OrderFollower,
) -> ManualPlacement:
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
        return ManualPlacement(order, None, placed, None, lease, order.at_ms, is_written=False)
    client.write([order])
    progress(1, f"ordered; waits at most {timeout_seconds:g} s for the balancer")
    listener = AnswerListener(order, before)
    follower = make_follower(client.name, client.cluster, listener.hear)
    follower.start()
    try:
        is_answered = listener.answered.wait(timeout_seconds)
    finally:
        follower.stop()
    if is_answered:
        progress(0, "the balancer has answered")
    now_ms, after = time.time_ns() // 1_000_000, listener.order_log
    newest = after.by_hand(order.route, order.stream, now_ms)
    return ManualPlacement(
        order,
        after.answer(order.route, order.stream, order.id),
        placed,
        after.placed(order.route, order.stream),
        after.lease(client.region),
        now_ms,
        replaced_by=newest if newest and newest.id != order.id else None,
    )
