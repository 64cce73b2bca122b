"""Orders to the keeper of an upsert table: settle it, or rotate its state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from replicator.config.feed_settings import Feed
from replicator.config.topology import UnknownRegion
from replicator.orders.order_records import AcceptLaneLosses, RotateTable, SettleTable
from tui.orders.region_orders import OrderChange, RegionOrders, Terms

if TYPE_CHECKING:
    from aggregator.upsert.tick import Stop

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
    check_table(feed, table)
    return orders.publish([kind(**orders.fields(feed, ended(why)), table=table)])


def accept_losses(
    orders: RegionOrders, feed: Feed, table: str, stops: Sequence[Stop], why: str
) -> OrderChange:
    """Orders the keeper of a table to let stopped lanes go on behind these losses."""
    losses = [(each.lane, each.loss.kind.value, each.loss.begin, each.loss.end) for each in stops]
    fields = orders.fields(feed, ended(why))
    return orders.publish([AcceptLaneLosses(**fields, table=table, losses=tuple(losses))])


def ended(why: str) -> Terms:
    """Returns the terms of an order that ends by itself."""
    return replace(Terms(why), duration=DURATION)


def check_table(feed: Feed, table: str) -> None:
    """Raises UnknownRegion for a name that no upsert table of the feed has."""
    known = [each.name for each in feed.upsert_tables]
    if table not in known:
        listed = ", ".join(sorted(known)) or "none"
        raise UnknownRegion(f"feed {feed.name} has no upsert table {table!r}; known: {listed}")
