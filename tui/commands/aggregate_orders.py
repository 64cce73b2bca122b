"""sluice aggregate freeze, resume, refresh-schema, skip-replay: orders to the loaders of a feed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import (
    FeedContext,
    folder_option,
    on_feed,
    on_partitions,
    table_option,
)
from tui.commands.options import (
    answer_options,
    confirmed_reason_option,
    reason_option,
    reason_options,
)
from tui.commands.output import emit
from tui.commands.text import instant, table

if TYPE_CHECKING:
    from tui.facts.feed_scope import PendingBlock

BLOCK_HEADS = ("CLUSTER", "TOPIC", "PARTITION", "TABLE", "BEGIN", "END", "RECORDS", "SEALED")


@click.command()
@on_partitions
@folder_option
@reason_options
@answer_options
def freeze(context: FeedContext) -> int:
    """Stop reading a feed, or the named part of it.

    What was read is loaded, and intents stay renewed. With --table a partition stops in front of
    the table's next record. Frozen topics lose records only to their own retention. Loaders follow
    within seconds.
    """
    from tui.orders.feed_orders import freeze as freeze_scope

    change = freeze_scope(context.orders, context.feed, context.scope, context.terms)
    return context.show(change)


@click.command()
@on_partitions
@folder_option
@answer_options
def resume(context: FeedContext) -> int:
    """End every freeze of a feed, or those of the named part of it.

    Exits with 4 when a wider freeze holds, such as one of the whole feed: end that one, then freeze
    again what has to stay frozen.
    """
    from tui.orders.feed_orders import resume as resume_scope

    change = resume_scope(context.orders, context.feed, context.scope)
    return context.show(change, nothing="nothing of it was frozen: nothing was changed")


@click.command("refresh-schema")
@on_feed
@table_option
@reason_option
@answer_options
def refresh_schema(context: FeedContext) -> int:
    """Have loaders read the columns of the feed's tables again.

    They do so by themselves every aggregator.refresh_seconds, and when an insert is refused because
    of its columns. A field of a column that is not known yet is ignored until then.
    """
    from tui.orders.feed_orders import refresh_schema as refresh

    return context.show(refresh(context.orders, context.feed, context.table, context.terms))


@click.command("skip-replay")
@on_partitions
@table_option
@confirmed_reason_option
@click.option(
    "--confirm", is_flag=True, help="Skip the blocks. Without --confirm nothing is changed."
)
@answer_options
def skip_replay(context: FeedContext, confirm: bool) -> int:
    """Drop the blocks that loaders have to repeat after a takeover.

    Their records are in the table only if an earlier loader stored them; `sluice verify` reports
    each block as an accepted loss. Without --confirm the blocks are shown, and the command exits
    with 4 if there are any. A loader drops a block only if it has to repeat exactly that block, and
    within a day. Exits with 3 when a cluster could not be reached.
    """
    if confirm and context.reason is None:
        raise click.UsageError("--confirm needs --reason")
    from tui.facts.watch.feed_intents import pending_blocks
    from tui.orders.feed_orders import skip_replay as skip

    blocks = pending_blocks(context.appliance, context.feed, context.scope, context.timeout_seconds)
    if not confirm:
        emit(context.output, blocks_values(blocks), lambda: blocks_text(blocks))
        return ExitCode.REFUSED if blocks else ExitCode.DONE
    change = skip(context.orders, context.feed, blocks, context.terms)
    return context.show(change, nothing="no block has to be repeated: nothing was changed")


def blocks_values(blocks: Sequence[PendingBlock]) -> list[dict[str, Any]]:
    """Returns plain values for JSON and YAML."""
    return [
        {
            **each.partition._asdict(),
            "table": each.table,
            "begin": each.block.begin,
            "end": each.block.end,
            "records": each.block.records,
            "sealed_at": instant(each.block.sealed_at_ms),
        }
        for each in blocks
    ]


def blocks_text(blocks: Sequence[PendingBlock]) -> str:
    """Formats a table for people."""
    if not blocks:
        return "no block has to be repeated"
    rows = [
        (
            *each.partition,
            each.table,
            each.block.begin,
            each.block.end,
            each.block.records,
            instant(each.block.sealed_at_ms),
        )
        for each in blocks
    ]
    return f"would be skipped, with --confirm:\n{table(BLOCK_HEADS, rows)}"
