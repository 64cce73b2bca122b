"""sluice upsert settle, rotate: orders to the keeper of an upsert table."""

from __future__ import annotations

import click

from tui.commands.feed_context import FeedContext, on_feed
from tui.commands.options import answer_options, reason_option

table_option = click.option("--table", required=True, metavar="TABLE", help="The upsert table.")


@click.command()
@on_feed
@table_option
@reason_option
@answer_options
def settle(context: FeedContext) -> int:
    """Bring the ends of rows into the rows now, on every server.

    The keeper does so by itself every settle_seconds. A running daemon follows within seconds;
    `sluice upsert status` shows the settle point. The order ends after ten minutes.
    """
    from replicator.orders.order_records import SettleTable
    from tui.orders.upsert_orders import order_table

    assert context.table is not None
    why = context.reason or ""
    return context.show(order_table(context.orders, SettleTable, context.feed, context.table, why))


@click.command()
@on_feed
@table_option
@reason_option
@answer_options
def rotate(context: FeedContext) -> int:
    """Read the state of all keys from the store again, without those that have expired.

    The keeper does so by itself every half retention. No tick is claimed meanwhile; queries go on.
    The order ends after ten minutes.
    """
    from replicator.orders.order_records import RotateTable
    from tui.orders.upsert_orders import order_table

    assert context.table is not None
    why = context.reason or ""
    return context.show(order_table(context.orders, RotateTable, context.feed, context.table, why))
