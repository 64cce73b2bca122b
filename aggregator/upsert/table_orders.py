"""Orders of operators about one upsert table, carried out by the process that keeps it.

A freeze holds as long as it stands; the others are carried out once. Orders end by themselves. A
process that begins carries out those that have not ended, perhaps after another one did: to settle
or to rotate once more changes nothing that a query shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from aggregator.upsert.tick import Lane, Stop
from aggregator.upsert.tick_cut import LaneLog, Logs
from replicator.kafka.client.loss import Loss
from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import AcceptLaneLosses, RotateTable, SettleTable

Kind = TypeVar("Kind", SettleTable, RotateTable)


class TableOrders:
    """Orders about one table, and those that were carried out."""

    def __init__(self, feed: str, table: str) -> None:
        self._feed = feed
        self._table = table
        self._done: dict[type[SettleTable | RotateTable], tuple[int, str]] = {}

    def due(self, kind: type[Kind], order_log: OrderLog, now_ms: int) -> Kind | None:
        """Returns the order of a kind that is to be carried out; None if there is none."""
        for order in order_log.of(kind, self._feed, now_ms):
            if order.table == self._table and self._done.get(kind) != (order.at_ms, order.who):
                return order
        return None

    def unfrozen(self, logs: Logs, order_log: OrderLog, now_ms: int) -> dict[Lane, LaneLog | None]:
        """Returns logs as a tick may take from them: None for those that a freeze stops."""
        orders = FeedOrders.of(order_log, self._feed, now_ms)
        if not orders.freezes:
            return {**logs}
        return {
            lane: None
            if orders.frozen(lane.cluster, lane.topic, lane.partition, self._table, now_ms=now_ms)
            else log
            for lane, log in logs.items()
        }

    def accepted(self, stops: Iterable[Stop], order_log: OrderLog, now_ms: int) -> dict[int, Loss]:
        """Returns the losses of stopped lanes that an operator has accepted, by lane.

        An order names each loss as it was shown, so that it is good for no later one.
        """
        named = {
            each
            for order in order_log.of(AcceptLaneLosses, self._feed, now_ms)
            if order.table == self._table
            for each in order.losses
        }
        return {
            stop.lane: stop.loss
            for stop in stops
            if not stop.is_accepted
            and (stop.lane, stop.loss.kind.value, stop.loss.begin, stop.loss.end) in named
        }

    def done(self, order: SettleTable | RotateTable) -> None:
        """Notes that an order was carried out."""
        self._done[type(order)] = order.at_ms, order.who
