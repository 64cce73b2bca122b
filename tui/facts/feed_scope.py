"""Feeds that a command names, and the part of a feed: its scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aggregator.intents.table_range import TableRange
from aggregator.loader.reports import FeedPartition
from replicator.config.feed_settings import Feed
from replicator.config.topology import Appliance, UnknownRegion


@dataclass(frozen=True, slots=True)
class Scope:
    """Part of a feed; None for all of it."""

    cluster: str | None = None
    topic: str | None = None
    partition: int | None = None
    table: str | None = None

    def has(self, partition: FeedPartition) -> bool:
        """Returns True for a partition in the scope, whatever its tables."""
        wanted = (self.cluster, self.topic, self.partition)
        return all(name in (None, own) for name, own in zip(wanted, partition, strict=True))


@dataclass(frozen=True, slots=True)
class PendingBlock:
    """Block that an intent names: a loader that takes its partition over has to repeat it.

    Args:
        incarnation: of the partition's log.
    """

    partition: FeedPartition
    table: str
    block: TableRange
    incarnation: int = 0


def selected_feeds(
    appliance: Appliance, region: str | None, names: Sequence[str]
) -> tuple[Feed, ...]:
    """Returns the named feeds or, without names, all feeds of the region, or all feeds.

    Raises:
        UnknownRegion: a region or a feed is not configured, there is no feed at all, or another
            region loads a named feed.
    """
    if region is None:
        feeds: tuple[Feed, ...] = tuple(feed for _, feed in sorted(appliance.feeds.items()))
    else:
        feeds = appliance.feeds_of(region)
    named = tuple(dict.fromkeys(appliance.feed(name).name for name in names))
    for name in named:
        if name not in {feed.name for feed in feeds}:
            raise UnknownRegion(f"region {region!r} does not load feed {name!r}")
    if not feeds:
        where = "the configuration" if region is None else f"region {region!r}"
        raise UnknownRegion(f"{where} has no feed; add a table [feeds.<name>]")
    return tuple(feed for feed in feeds if not named or feed.name in named)
