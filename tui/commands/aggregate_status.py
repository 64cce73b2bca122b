"""sluice aggregate status: progress of feeds, and the tables that they load into."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import feeds_option, region_option
from tui.commands.options import config_option, output_option, partitions_option, timeout_option
from tui.commands.output import emit
from tui.commands.text import condition_line, page_text

if TYPE_CHECKING:
    from replicator.notices.condition import Condition
    from tui.facts.feed_status import FeedStatus
    from tui.pages.page import Section

TABLE_FIGURES = ("LAG", "LAG S", "ROWS/S", "BUFFERED MIB", "INTENT S", "WINDOW", "DEAD")
OBJECT_FIGURES = ("LAG", "ROWS/S", "BUFFERED MIB", "OPEN", "OPEN S", "SEALED", "SEALED S", "DEAD")
TABLE_TITLES = (
    *("FEED", "SHARD", "TABLE", "ACTIVE PARTS", "BLOCKS/S", "WINDOW BLOCKS", "WINDOW S"),
    "COORDINATES",
)


@click.command()
@config_option
@region_option
@feeds_option
@partitions_option
@timeout_option(5.0)
@output_option
def status(
    config: str,
    region: str | None,
    feeds: tuple[str, ...],
    partitions: bool,
    timeout: float,
    output: str,
) -> int:
    """Show the progress of feeds, and the tables that they load into.

    Unknown values are shown as ? (null in JSON and YAML), never as 0. LAG counts offsets up to the
    last stable offset. INTENT S is the age of the oldest block that may have been sent and is not
    known to be stored. WINDOW is the part of the table's deduplication window that has passed
    since. DEAD is the number of records that ever became dead letters. docs/aggregate.md has all
    columns. Exits with 3 when a server could not be reached; everything that is known is shown all
    the same.
    """
    from replicator.config.topology import load
    from tui.facts.feed_scope import selected_feeds
    from tui.facts.watch.feed_questions import feeds_now

    appliance = load(config)
    found = feeds_now(appliance, selected_feeds(appliance, region, feeds), timeout)
    emit(output, found, lambda: status_text(found, by_partition=partitions))
    return ExitCode.UNREACHABLE if found.problems else ExitCode.DONE


def status_text(status: FeedStatus, by_partition: bool = False) -> str:
    """Formats topics, or partitions and blocks, and the tables, with the remarks below.

    Feeds into ClickHouse come first, then those into S3: their figures are others.
    """
    from tui.pages.feed import tables_section
    from tui.pages.feed_sections import blocks_section, partitions_section, topics_section

    sections: list[Section] = []
    by_store = sorted(status.feeds, key=lambda each: each.is_of_objects)
    for is_of_objects, some in groupby(by_store, key=lambda each: each.is_of_objects):
        feeds = list(some)
        place = ("FEED", *(() if is_of_objects else ("SHARD",)), "CLUSTER", "TOPIC")
        figures = OBJECT_FIGURES if is_of_objects else TABLE_FIGURES
        if by_partition:
            titles = (*place, "PART", "MODE", "COMMITTED", "END", *figures, "LOADER", "CUSTODY")
            sections.append(partitions_section(feeds, is_of_objects).only(titles))
            sections.append(blocks_section(feeds, is_of_objects))
        else:
            titles = (*place, "PARTS", "MODE", *figures, "CUSTODY")
            sections.append(topics_section(feeds, is_of_objects).only(titles))
        if not is_of_objects:
            sections.append(tables_section(feeds).only(TABLE_TITLES))
    return page_text(sections, remarks(status))


def remarks(status: FeedStatus) -> Iterator[str]:
    """Yields conditions, parked partitions, blocks whose window passes, orders, and problems.

    A condition that several feeds share is yielded once.
    """
    from tui.facts.feed_health import WINDOW_WARN
    from tui.pages.feed_figures import percent
    from tui.pages.feeds import order_note

    yield from dict.fromkeys(map(condition_line, _conditions(status)))
    for feed in status.feeds:
        for each in feed.partitions:
            name = f"{feed.feed} {each.cluster} {each.topic}-{each.partition}"
            if each.parked is not None:
                yield f"parked: {name}: {each.parked}"
            for block in each.blocks or ():
                if (block.window_used or 0.0) >= WINDOW_WARN:
                    yield (
                        f"old block: {name}: offsets [{block.begin}, {block.end}) of "
                        f"{block.table} were sealed {block.age_seconds:.0f} s ago, "
                        f"{percent(block.window_used)} of the table's deduplication window"
                    )
        for order in feed.orders or ():
            yield f"order: {feed.feed}: {order_note(order)}"
    for problem in status.problems:
        yield f"problem: {problem}"


def _conditions(status: FeedStatus) -> Iterator[Condition]:
    """Yields conditions, without those that a partition tells itself."""
    from replicator.notices.condition import Kind

    for feed in status.feeds:
        told = {
            (Kind.PARKED.value, each.cluster, each.topic, each.partition)
            for each in feed.partitions
            if each.parked is not None
        }
        for each in feed.conditions or ():
            if (each.kind, each.cluster, each.topic, each.partition) not in told:
                yield each
