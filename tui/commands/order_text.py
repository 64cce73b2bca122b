"""Text and values of orders, which all commands that read or change orders print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from replicator.orders.order_records import (
    Exclusion,
    FeedOrder,
    Freeze,
    Hold,
    Order,
    Pause,
    Pin,
    Stream,
)
from tui.commands.text import NONE, instant, table
from tui.facts.order_words import order_text
from tui.facts.streams import route_name

SCHEMA_VERSION = 1
HEADS = ("ROUTE", "ORDER", "WHO", "WHY", "SINCE", "UNTIL")


def order_values(order: Order) -> dict[str, Any]:
    """Returns an order as plain values for JSON and YAML."""
    fields = order.model_dump(mode="json", exclude={"version", "at_ms", "until_ms", "who", "why"})
    kind, route = fields.pop("kind"), fields.pop("route")
    about = {"feed": route} if isinstance(order, FeedOrder) else {"route": route_name(route)}
    return {
        "kind": kind,
        **about,
        **fields,
        "who": order.who,
        "why": order.why,
        "at": instant(order.at_ms),
        "until": instant(order.until_ms),
    }


def orders_text(orders: Iterable[Order]) -> str:
    """Formats orders as a table for people: all of routes, or all of feeds."""
    orders = list(orders)
    rows = [
        (
            order.feed if isinstance(order, FeedOrder) else route_name(order.route),
            order_text(order),
            order.who,
            order.why,
            instant(order.at_ms),
            instant(order.until_ms) or open_end(order),
        )
        for order in orders
    ]
    about_feeds = any(isinstance(order, FeedOrder) for order in orders)
    return table(("FEED", *HEADS[1:]) if about_feeds else HEADS, rows)


def open_end(order: Order) -> str:
    """Returns what ends an order that has no time at which it ends."""
    match order:
        case Freeze() | Pause():
            return "resumed"
        case Hold():
            return "released"
        case Pin():
            return "unpinned"
        case Exclusion():
            return "included again"
        case Stream():
            return "deleted"
        case _:
            # An order that is carried out once.
            return NONE


def changes_values(
    region: str, written: Sequence[Order], taken_back: Sequence[Order]
) -> dict[str, Any]:
    """Returns the orders that a command wrote and took back, as values for JSON and YAML."""
    return {
        "schema_version": SCHEMA_VERSION,
        "region": region,
        "written": [order_values(each) for each in written],
        "taken_back": [order_values(each) for each in taken_back],
    }


def changes_text(written: Sequence[Order], taken_back: Sequence[Order], nothing: str) -> str:
    """Formats the same orders for people; returns `nothing` when there are none."""
    parts = []
    if written:
        parts.append(f"ordered:\n{orders_text(written)}")
    if taken_back:
        parts.append(f"no longer in force:\n{orders_text(taken_back)}")
    return "\n\n".join(parts) or nothing
