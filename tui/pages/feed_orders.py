"""Actions on a feed or a part of it: freeze, resume, and commands to copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.pages.page import Action, Field

if TYPE_CHECKING:
    from tui.facts.feed_status import FeedPartitionView, FeedView

NO_FEED = "no feed under the cursor"


def feed_actions(
    feed: FeedView | None, partition: FeedPartitionView | None = None
) -> Sequence[Action]:
    """Returns the actions on a feed or, if one is given, on a partition of it."""
    why_off = NO_FEED if feed is None else None
    name = feed.feed if feed else ""
    subject = f"{partition.topic}-{partition.partition}" if partition else name
    target = _target(name, partition)
    length = Field("for", "--for", is_required=False, help="such as 30m; empty: until resumed")
    return (
        Action(
            "H",
            "freeze",
            ("aggregate", "freeze", *target),
            (
                Field("table", "--table", is_required=False, help="empty: all tables"),
                Field("reason", "--reason", help="recorded, and shown to other operators"),
                length,
            ),
            confirmation=subject,
            why_off=why_off,
        ),
        Action(
            "R",
            "resume",
            ("aggregate", "resume", *target),
            confirmation=subject,
            why_off=why_off or (None if is_frozen(feed, partition) else "nothing of it is frozen"),
        ),
        _way_out(feed, partition, target),
    )


def _way_out(
    feed: FeedView | None, partition: FeedPartitionView | None, target: Sequence[str]
) -> Action:
    """Returns the action on what is parked; accepting a loss gives no name back that is taken."""
    is_off = None if is_parked(feed, partition) else "nothing here is parked"
    if partition is not None and partition.is_name_taken:
        label, command = "overwrite", "overwrite"
    else:
        label, command = "accept loss", "accept-loss"
    return Action(
        "L",
        label,
        ("aggregate", command, *target),
        why_off=NO_FEED if feed is None else is_off,
        is_copied=True,
    )


def is_frozen(feed: FeedView | None, partition: FeedPartitionView | None) -> bool:
    """Returns True if a freeze of the feed, or of the partition, is known."""
    if partition is not None:
        return partition.frozen is not None
    return any(order.kind == "freeze" for order in (feed.orders or () if feed else ()))


def is_parked(feed: FeedView | None, partition: FeedPartitionView | None) -> bool:
    """Returns True if the partition is parked, or one of the feed's."""
    if partition is not None:
        return partition.parked is not None
    return any(each.parked is not None for each in (feed.partitions if feed else ()))


def _target(feed: str, partition: FeedPartitionView | None) -> tuple[str, ...]:
    """Returns the options that name the feed or the partition: the row has fixed them."""
    if partition is None:
        return ("--feed", feed)
    number = str(partition.partition)
    place = ("--topic", partition.topic, "--partition", number)
    return ("--feed", feed, "--cluster", partition.cluster, *place)
