"""Feed context: the feed and the part of it that a command names, and the orders of its region."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from tui.commands.command_context import ContextCommand, OrderContext, with_context
from tui.commands.options import config_option

if TYPE_CHECKING:
    from replicator.config.feed_settings import Feed
    from replicator.config.object_feed import ObjectFeed
    from tui.facts.feed_scope import Scope


@dataclass(frozen=True, kw_only=True)
class FeedContext(OrderContext):
    """Context of one run of a command about one feed. Blocking.

    Args:
        feed_name, cluster, topic, partition, table: as typed; `feed` and `scope` are made of them.
    """

    feed_name: str
    cluster: str | None = None
    topic: str | None = None
    partition: int | None = None
    table: str | None = None

    def __post_init__(self) -> None:
        if self.partition is not None and self.topic is None:
            raise click.UsageError("--partition needs --topic")

    @property
    def feed(self) -> Feed:
        """The named feed. Raises UnknownRegion, listing the known ones."""
        return self.appliance.feed(self.feed_name)

    @property
    def object_feed(self) -> ObjectFeed:
        """The named feed into objects. Raises UsageError for a feed of another kind."""
        from replicator.config.object_feed import ObjectFeed

        feed = self.feed
        if not isinstance(feed, ObjectFeed):
            raise click.UsageError(f"feed {feed.name} has no objects: its kind is {feed.kind}")
        return feed

    @property
    def scope(self) -> Scope:
        from tui.facts.feed_scope import Scope

        return Scope(self.cluster, self.topic, self.partition, self.table)

    @property
    def region(self) -> str:
        return self.feed.region


region_option = click.option(
    "--region", metavar="REGION", help="Only feeds that this region loads."
)
feeds_option = click.option(
    "--feed", "feeds", metavar="FEED", multiple=True, help="Only this feed. Repeatable."
)
feed_option = click.option("--feed", "feed_name", required=True, metavar="FEED", help="The feed.")
table_option = click.option("--table", metavar="TABLE", help="Only this table.")
folder_option = click.option(
    "--table",
    metavar="TABLE",
    help="Only this table, or this folder of a feed into objects, as `objects` shows it.",
)


def on_feed(command: ContextCommand[FeedContext]) -> Callable[..., int]:
    """Adds --config and --feed before the command's own options."""
    return config_option(feed_option(with_context(FeedContext, command)))


def on_partitions(command: ContextCommand[FeedContext]) -> Callable[..., int]:
    """Adds --config, --feed, and the options that name partitions of the feed."""
    cluster = click.option(
        "--cluster", metavar="CLUSTER", help='Only this cluster, such as "west regional".'
    )
    topic = click.option("--topic", metavar="TOPIC", help="Only this topic.")
    partition = click.option(
        "--partition", type=click.IntRange(min=0), help="Only this partition of --topic."
    )
    return config_option(feed_option(cluster(topic(partition(with_context(FeedContext, command))))))
