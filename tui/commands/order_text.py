"""Text and values of orders, which all commands that read or change orders print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replicator.orders.order_records import FeedOrder, Freeze, Order
from tui.commands.text import instant, section_text, table
from tui.facts.balance_readings import order_view
from tui.facts.order_words import order_text
from tui.facts.streams import route_name
from tui.pages.figures import NONE
from tui.pages.stream import orders_section

SCHEMA_VERSION = 1
TITLES = ("ROUTE", "ORDER", "WHO", "WHY", "SINCE", "ENDS")


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


def orders_text(orders: Sequence[Order]) -> str:
    """Formats orders as a table for people: all of routes, or all of feeds."""
    of_feeds = [order for order in orders if isinstance(order, FeedOrder)]
    if not of_feeds:
        # Text has their times as instants, whatever the time is now.
        section = orders_section([order_view(each) for each in orders], now=0.0)
        return section_text(section.only(TITLES))
    rows = [
        (
            order.feed,
            order_text(order),
            order.who,
            order.why,
            instant(order.at_ms),
            instant(order.until_ms)
            or ("by aggregate resume" if isinstance(order, Freeze) else NONE),
        )
        for order in of_feeds
    ]
    return table(("FEED", *TITLES[1:]), rows)


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
