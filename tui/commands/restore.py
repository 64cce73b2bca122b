"""sluice restore: records from objects of a feed back into a topic."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import FeedContext, on_feed
from tui.commands.options import output_option, timeout_option, usage_errors
from tui.commands.output import emit, plain_values, say
from tui.commands.progress import JSON_SECONDS, progress_option, wait_display
from tui.commands.text import table
from tui.pages.figures import mebibytes

if TYPE_CHECKING:
    from tui.orders.restoring import RestoreResult

HEADS = ("PARTITION", "OBJECTS", "RECORDS", "MIB", "BEGIN", "END", "RESTORED", "UP TO", "STATE")
GROUP_HEADS = ("PARTITION", "OFFSET", "GOES ON AT")


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
    with usage_errors(BadRange, BadWindow):
        wanted = restore_range(offsets, since, until)
        request = restore_request(
            context.appliance,
            context.object_feed,
            context.cluster,
            context.topic,
            into,
            target_topic,
            wanted,
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
    emit(context.output, restore_values(result), lambda: restore_text(result))
    return ExitCode.DONE


def restore_values(result: RestoreResult) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    request, state = result.request, result.state
    return {
        "feed": request.feed.name,
        "source": {"cluster": str(request.source), "topic": request.topic},
        "target": {
            "cluster": str(request.target),
            "topic": request.target_topic,
            "exists": state.is_there,
        },
        "partitions_of_topic": state.partitions,
        "partitions": [
            {
                "partition": plan.partition,
                "objects": len(plan.objects),
                "records_of_objects": plan.records,
                "bytes_of_objects": plan.size_bytes,
                "begin": plan.begin,
                "end": plan.end,
                "restored_records": state.entries[plan.partition].records,
                "restored_up_to": state.entries[plan.partition].position,
                "is_done": state.entries[plan.partition].is_done,
            }
            for plan in state.plans
        ],
        "doubts": [
            {"partition": plan.partition, **plan.doubt._asdict()}
            for plan in state.plans
            if plan.doubt
        ],
        "forgotten": [
            {"partition": plan.partition, **each._asdict()}
            for plan in state.plans
            for each in plan.forgotten
        ],
        "positions": plain_values(result.positions),
    }


def restore_text(result: RestoreResult) -> str:
    """Formats tables for people."""
    request, state = result.request, result.state
    there = "" if state.is_there else ", which is not there yet"
    head = (
        f"{request.source} {request.topic} -> {request.target} {request.target_topic}"
        f" ({state.partitions} partitions){there}"
    )
    rows = []
    for plan in state.plans:
        entry = state.entries[plan.partition]
        rows.append(
            (
                plan.partition,
                len(plan.objects),
                plan.records,
                mebibytes(plan.size_bytes),
                plan.begin,
                plan.end,
                entry.records,
                entry.position,
                "done" if entry.is_done else "open",
            )
        )
    parts = [head, table(HEADS, rows)]
    if doubts := [f"partition {it.partition}: {it.doubt}" for it in state.plans if it.doubt]:
        why = (
            "Only the bucket was asked"
            if request.is_listed
            else f"The committed offsets of {request.feed.name} are gone"
        )
        parts.append("\n".join([f"{why}: records may be missing.", *doubts]))
    forgotten = [
        f"partition {plan.partition}: {each}" for plan in state.plans for each in plan.forgotten
    ]
    if forgotten:
        why = "Objects were forgotten, as the bucket had dropped them: their records are missing."
        parts.append("\n".join([why, *forgotten]))
    if result.positions:
        positions = [
            (
                each.partition,
                each.source_offset,
                "not restored yet" if each.target_offset is None else each.target_offset,
            )
            for each in result.positions
        ]
        parts.append(table(GROUP_HEADS, positions))
    return "\n\n".join(parts)
