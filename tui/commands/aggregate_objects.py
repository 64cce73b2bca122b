"""sluice aggregate objects: which objects of a feed hold which offsets."""

from __future__ import annotations

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import FeedContext, on_partitions
from tui.commands.options import output_option, timeout_option, usage_errors
from tui.commands.output import emit


@click.command("objects")
@on_partitions
@click.option("--offset", type=click.IntRange(min=0), help="Only objects that hold this offset.")
@click.option(
    "--check", is_flag=True, help="Ask the store for the size and checksum of each object."
)
@timeout_option(30.0, "Seconds to wait for each cluster.")
@output_option
def objects(context: FeedContext, offset: int | None, check: bool) -> int:
    """Show the objects that a feed has written, with the offsets in each.

    They are read from the topic sluice.objects.<feed>. With --check the store is asked too, and the
    command exits with 4 if an object is missing or has another content, with 3 if the store does
    not answer.
    """
    from tui.commands.views.objects_view import as_text, as_values
    from tui.orders.object_listing import NoObjects, list_objects

    with usage_errors(NoObjects):
        listing = list_objects(
            context.appliance,
            context.feed_name,
            context.scope,
            offset,
            is_checking=check,
            timeout_seconds=context.timeout_seconds,
        )
    emit(context.output, as_values(listing), lambda: as_text(listing))
    return ExitCode.REFUSED if listing.differences else ExitCode.DONE
