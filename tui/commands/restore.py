"""sluice restore: records from objects of a feed back into a topic."""

from __future__ import annotations

import asyncio
import time

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import FeedContext, on_feed
from tui.commands.options import output_option, timeout_option, usage_errors
from tui.commands.output import emit, say
from tui.commands.progress import progress_option, wait_display

JSON_SECONDS = 1.0
"""Time between two JSON lines."""


@click.command()
@on_feed
@click.option("--topic", required=True, metavar="TOPIC", help="Topic whose objects are restored.")
@click.option(
    "--cluster",
    metavar="CLUSTER",
    help='Its cluster, such as "west aggregate", if the feed has two.',
)
@click.option("--into", metavar="CLUSTER", help="Cluster of the target topic. Default: the same.")
@click.option("--as", "target_topic", metavar="TOPIC", help="Target topic. Default: the same name.")
@click.option(
    "--offsets",
    multiple=True,
    metavar="PARTITION:BEGIN-END",
    help="Only these offsets, END excluded, such as 3:100-200, 3:100- or 3:-; with it only the "
    "named partitions. Repeatable.",
)
@click.option("--since", metavar="INSTANT", help="Only records of this time or later.")
@click.option(
    "--until", metavar="INSTANT", help="Only records before this time: 2026-11-22T03:00:00Z."
)
@click.option(
    "--incarnation",
    type=click.IntRange(min=0),
    metavar="NUMBER",
    help="Only objects of this log, if the topic was created again: 0 is the first one, others "
    "stand in the names of their objects.",
)
@click.option(
    "--create",
    is_flag=True,
    help="Create the target topic if it is not there, with the partitions of the source and "
    "without retention.",
)
@click.option("--replication-factor", type=click.IntRange(min=1), help="Needed with --create.")
@click.option(
    "--from-listing",
    "is_listed",
    is_flag=True,
    help="Find the objects by a listing of the bucket, and leave the source cluster alone: for one "
    "that is lost. Stop the feed first.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be restored; change nothing.")
@click.option(
    "--group",
    metavar="GROUP",
    help="Show where this consumer group of the source topic goes on in the restored one.",
)
@click.option(
    "--offset",
    "group_offsets",
    multiple=True,
    metavar="PARTITION:OFFSET",
    help="Show where a group with this committed offset goes on. Repeatable.",
)
@timeout_option(30.0, "Seconds to wait for each cluster.")
@progress_option
@output_option
def restore(
    context: FeedContext,
    into: str | None,
    target_topic: str | None,
    offsets: tuple[str, ...],
    since: str | None,
    until: str | None,
    incarnation: int | None,
    create: bool,
    replication_factor: int | None,
    is_listed: bool,
    dry_run: bool,
    group: str | None,
    group_offsets: tuple[str, ...],
    progress: str | None,
) -> int:
    """Write the records of a feed's objects back into a topic, each exactly once.

    Partition, order, key, value, headers and timestamp are those of the source. The target topic
    has to be empty, or to hold this restore: run again after whatever ended it, the command goes on
    where it was. Only Parquet with key, value and headers as bytes can be restored. Exits with 4 if
    a check refuses, with 8 if a newer restore into the topic has begun.
    """
    from aggregator.restore.restore_range import BadRange
    from replicator.audit.window import BadWindow
    from tui.commands.views.restore_view import as_text, as_values
    from tui.orders.object_listing import NoObjects
    from tui.orders.restoring import (
        RestoreOptions,
        group_offsets_of,
        restore_range,
        restore_request,
    )
    from tui.orders.restoring import restore as restore_job

    if create and replication_factor is None:
        raise click.UsageError("--create needs --replication-factor")
    if is_listed and group is not None:
        raise click.UsageError("--from-listing does not ask for a --group: name its --offset")
    if context.topic is None:
        raise click.UsageError("--topic is missing")
    with usage_errors(BadRange, BadWindow, NoObjects):
        request = restore_request(
            context.appliance,
            context.feed_name,
            context.cluster,
            context.topic,
            into,
            target_topic,
            restore_range(offsets, since, until),
            is_listed=is_listed,
            incarnation=incarnation,
        )
        options = RestoreOptions(
            replication_factor=replication_factor if create else None,
            group=group,
            offsets=group_offsets_of(group_offsets),
            is_dry_run=dry_run,
            timeout_seconds=context.timeout_seconds,
        )
    display = wait_display(progress, json_seconds=JSON_SECONDS)

    def show(done: int, whole: int) -> None:
        display.show("restore", whole - done, f"{done} of {whole} records", time.monotonic())

    try:
        result = asyncio.run(restore_job(context.appliance, request, options, show, say))
    finally:
        display.end()
    emit(context.output, as_values(result), lambda: as_text(result))
    return ExitCode.DONE
