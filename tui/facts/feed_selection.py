"""Selection of the feeds that a command is about."""

from __future__ import annotations

from collections.abc import Sequence

from replicator.config.feed_settings import Feed
from replicator.config.topology import Appliance, UnknownRegion


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
