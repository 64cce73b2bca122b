"""sluice aggregate objects: which objects of a feed hold which offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import FeedContext, on_partitions
from tui.commands.options import output_option, timeout_option
from tui.commands.output import emit, plain_values
from tui.commands.text import joined, table
from tui.pages.figures import mebibytes

if TYPE_CHECKING:
    from aggregator.objects.forgotten import Log
    from aggregator.objects.told_object import ToldObject
    from replicator.config.object_feed import ObjectFeed
    from replicator.config.topology import Appliance
    from tui.facts.feed_objects import ObjectListing
    from tui.facts.feed_scope import Scope

HEADS = ("CLUSTER", "TOPIC", "PARTITION", "BEGIN", "END", "RECORDS", "LEFT OUT", "MIB", "KEY")


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
    listing = list_objects(
        context.appliance,
        context.object_feed,
        context.scope,
        offset,
        is_checking=check,
        timeout_seconds=context.timeout_seconds,
    )
    emit(context.output, objects_values(listing), lambda: objects_text(listing))
    return ExitCode.REFUSED if listing.differences else ExitCode.DONE


def list_objects(
    appliance: Appliance,
    feed: ObjectFeed,
    scope: Scope,
    offset: int | None,
    *,
    is_checking: bool,
    timeout_seconds: float,
) -> ObjectListing:
    """Returns the objects of the scope. Blocking.

    Args:
        offset: only objects that hold it.
        is_checking: asks the store for each of them.
        timeout_seconds: for each cluster.

    Raises:
        OrderRefused: the feed does not have the scope.
        AdminError, LogUnreadable: a cluster gives no answer.
        StoreProblem: the store gives none.
    """
    from aggregator.loader.object_sink import address_of
    from aggregator.s3.object_listing import differences, told_objects
    from aggregator.s3.object_store import ObjectStore
    from tui.facts.feed_objects import ObjectListing
    from tui.orders.feed_orders import check_scope

    check_scope(feed, scope)
    told = [
        told_objects(
            name, appliance.cluster(name), feed.name, timeout_seconds, are_all_needed=False
        )
        for name in feed.clusters
        if scope.cluster in (None, name)
    ]
    found = tuple(
        each
        for one in told
        for each in one.objects
        if _is_within(scope, each) and (offset is None or each.begin <= offset < each.end)
    )
    forgotten = tuple(
        each
        for one in told
        for log, each in sorted(one.forgotten.items())
        if _is_within(scope, log) and (offset is None or each.has(offset))
    )
    if not is_checking:
        return ObjectListing(found, forgotten=forgotten)
    answers = differences(ObjectStore(address_of(feed)), found)
    return ObjectListing(found, tuple(answers), forgotten)


def _is_within(scope: Scope, of: ToldObject | Log) -> bool:
    return scope.topic in (None, of.topic) and scope.partition in (None, of.partition)


def objects_values(listing: ObjectListing) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "objects": plain_values(listing.objects),
        "differences": plain_values(listing.differences),
        "forgotten": [
            {**each.log._asdict(), **some._asdict()}
            for each in listing.forgotten
            for some in each.ranges
        ],
    }


def objects_text(listing: ObjectListing) -> str:
    """Formats a table for people."""
    rows = [
        (
            each.cluster,
            each.topic,
            each.partition,
            each.begin,
            each.end,
            each.records,
            each.left_out,
            mebibytes(each.size_bytes),
            each.key,
        )
        for each in listing.objects
    ]
    text = table(HEADS, rows) if rows else "no object is told of"
    if gone := [
        f"forgotten: {named(it.log)}: {each}" for it in listing.forgotten for each in it.ranges
    ]:
        text = "\n\n".join([text, joined(gone)])
    if listing.differences is None:
        return text
    lines = [f"differs: {each.key}: {each.text}" for each in listing.differences]
    return "\n\n".join([text, joined(lines or ["the store has all of them"])])


def named(log: Log) -> str:
    """Returns a log for people."""
    later = f", log {log.incarnation}" if log.incarnation else ""
    return f"{log.topic}-{log.partition} in {log.cluster}{later}"
