"""Orders of operators about one upsert table, each carried out once by the process that keeps it.

Orders end by themselves. A process that begins carries out those that have not ended, perhaps after
another one did: to settle or to rotate once more changes nothing that a query shows.
"""

from __future__ import annotations

from typing import TypeVar

from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import RotateTable, SettleTable

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

    def done(self, order: SettleTable | RotateTable) -> None:
        """Notes that an order was carried out."""
        self._done[type(order)] = order.at_ms, order.who
