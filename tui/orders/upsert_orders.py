"""Orders to the keeper of an upsert table: settle it, or rotate its state."""

from __future__ import annotations

from dataclasses import replace

from replicator.config.feed_settings import Feed
from replicator.config.topology import UnknownRegion
from replicator.orders.order_records import RotateTable, SettleTable
from tui.orders.region_orders import OrderChange, RegionOrders, Terms

DURATION = "10m"
"""Time after which an order that no daemon has followed ends."""


def order_table(
    orders: RegionOrders,
    kind: type[SettleTable | RotateTable],
    feed: Feed,
    table: str,
    why: str,
) -> OrderChange:
    """Orders the keeper of a table to settle it, or to rotate its state.

    Raises UnknownRegion for a name that no upsert table of the feed has.
    """
    known = [each.name for each in feed.upsert_tables]
    if table not in known:
        listed = ", ".join(sorted(known)) or "none"
        raise UnknownRegion(f"feed {feed.name} has no upsert table {table!r}; known: {listed}")
    terms = replace(Terms(why), duration=DURATION)
    return orders.publish([kind(**orders.fields(feed, terms), table=table)])
