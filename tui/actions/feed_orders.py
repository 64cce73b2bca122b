"""Orders to the loaders of a feed: freeze, resume, refresh the schema, skip a replayed block."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import Feed
from replicator.orders.order_records import Freeze, RefreshSchema, SkipReplay
from tui.actions.order_checks import OrderRefused
from tui.actions.region_orders import OrderChange, RegionOrders, Terms
from tui.state.feed_scope import PendingBlock, Scope

SKIP_DURATION = "1d"
"""Time for which a block may be skipped. Offsets of a topic that is created anew begin at 0."""


def check_scope(feed: Feed, scope: Scope) -> None:
    """Checks that the feed has what the scope names. Raises OrderRefused."""
    if scope.cluster is not None and scope.cluster not in feed.clusters:
        raise OrderRefused(
            f"feed {feed.name} does not read {scope.cluster}; it reads {', '.join(feed.clusters)}"
        )
    if scope.partition is not None and scope.topic is None:
        raise OrderRefused("a partition is one of a topic: name the topic")
    if scope.topic is not None and not feed.takes(scope.topic):
        raise OrderRefused(f"no shard of feed {feed.name} has the topic {scope.topic}")


def freeze(orders: RegionOrders, feed: Feed, scope: Scope, terms: Terms) -> OrderChange:
    """Stops reading. Raises OrderRefused for a scope that the feed does not have."""
    check_scope(feed, scope)
    fields = orders.fields(feed, terms)
    return orders.publish(
        [
            Freeze(
                **fields,
                cluster=scope.cluster,
                topic=scope.topic,
                partition=scope.partition,
                table=scope.table,
            )
        ]
    )


def resume(orders: RegionOrders, feed: Feed, scope: Scope) -> OrderChange:
    """Takes back the freezes within the scope.

    Raises OrderRefused for a part of what one freeze stops as a whole.
    """
    check_scope(feed, scope)
    active = orders.active(Freeze, [feed])
    inside = [each for each in active if _is_within(each, scope)]
    wider = [each for each in active if each not in inside and _is_within(scope, each)]
    if wider:
        raise OrderRefused(
            "a wider freeze holds: resume that one, and freeze the others one by one; nothing was "
            "changed"
        )
    return orders.publish(deleted=inside)


def refresh_schema(
    orders: RegionOrders, feed: Feed, table: str | None, terms: Terms
) -> OrderChange:
    """Has the loaders read the columns of a table again, or of all tables."""
    return orders.publish([RefreshSchema(**orders.fields(feed, terms), table=table)])


def skip_replay(
    orders: RegionOrders, feed: Feed, blocks: Iterable[PendingBlock], terms: Terms
) -> OrderChange:
    """Drops blocks that loaders have to repeat: their records may then be missing."""
    fields = orders.fields(feed, replace(terms, duration=SKIP_DURATION))
    return orders.publish(
        SkipReplay(
            **fields,
            cluster=ClusterName(each.partition.cluster),
            topic=each.partition.topic,
            partition=each.partition.partition,
            table=each.table,
            begin=each.block.begin,
            end=each.block.end,
        )
        for each in blocks
    )


def _is_within(one: Freeze | Scope, other: Freeze | Scope) -> bool:
    """Returns True if the other names nothing, or the same, wherever it names something."""
    names = ("cluster", "topic", "partition", "table")
    return all(getattr(other, name) in (None, getattr(one, name)) for name in names)
