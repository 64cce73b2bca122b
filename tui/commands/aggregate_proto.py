"""sluice aggregate proto: the Protobuf messages of a table's row batches."""

from __future__ import annotations

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import config_option, timeout_option


@click.command()
@config_option
@click.option("--feed", "feed_name", required=True, metavar="FEED", help="A feed of the table.")
@click.option("--table", required=True, metavar="TABLE", help="The table.")
@timeout_option(10.0)
def proto(config: str, feed_name: str, table: str, timeout: float) -> int:
    """Print the .proto file with which programs write row batches of a table.

    It has a field for each column of now, and the hash of these columns. See "Formats" in
    docs/aggregate.md.
    """
    from aggregator.formats.row_batch_type import proto_text
    from replicator.config.feed_settings import ClickHouseFeed
    from replicator.config.topology import load
    from tui.facts.watch.table_columns import table_columns

    feed = load(config).feed(feed_name)
    if not isinstance(feed, ClickHouseFeed):
        raise click.UsageError(f"feed {feed_name} has no tables: its kind is {feed.kind}")
    click.echo(proto_text(table_columns(feed, table, timeout)), nl=False)
    return ExitCode.DONE
