"""Orders about a feed: to its loaders, and to the keepers of its upsert tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from aggregator.objects.named_folder import UnknownFolder, named_folder
from aggregator.objects.schema_versions import bare
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import Feed
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import UnknownRegion
from replicator.orders.order_records import (
    AcceptLaneLosses,
    Freeze,
    RefreshSchema,
    RotateTable,
    SettleTable,
    SkipReplay,
)
from tui.facts.feed_scope import PendingBlock, Scope
from tui.orders.order_checks import OrderRefused
from tui.orders.region_orders import OrderChange, RegionOrders, Terms

if TYPE_CHECKING:
    from aggregator.upsert.tick import Stop

SKIP_DURATION = "1d"
"""Time for which a block may be skipped. Offsets of a topic that is created anew begin at 0."""
KEEPER_DURATION = "10m"
"""Time after which an order to a keeper ends that no daemon has followed."""


def check_scope(feed: Feed, scope: Scope) -> None:
    """Checks that loaders load what the scope names. Raises OrderRefused."""
    table = feed.upsert_table(scope.topic) if scope.topic is not None else None
    if table is not None:
        raise OrderRefused(
            f"{scope.topic} is a topic of the upsert table {table.name}, which no loader loads: "
            "see `sluice upsert`"
        )
    check_table(feed, scope.table)
    _check_names(feed, scope)


def _check_names(feed: Feed, scope: Scope) -> None:
    """Checks that the feed reads what the scope names. Raises OrderRefused."""
    if scope.cluster is not None and scope.cluster not in feed.clusters:
        raise OrderRefused(
            f"feed {feed.name} does not read {scope.cluster}; it reads {', '.join(feed.clusters)}"
        )
    if scope.partition is not None and scope.topic is None:
        raise OrderRefused("a partition is one of a topic: name the topic")
    topic = scope.topic
    if topic is not None and not feed.takes(topic) and feed.upsert_table(topic) is None:
        raise OrderRefused(f"no shard of feed {feed.name} has the topic {topic}")
    for each in feed.upsert_tables:
        if scope.table != each.name and scope.table in each.store_names:
            raise OrderRefused(f"{scope.table} is part of the upsert table {each.name}: name that")


def check_table(feed: Feed, table: str | None) -> None:
    """Checks that loaders may load a table. Raises OrderRefused for an upsert table."""
    if any(table in each.store_names for each in feed.upsert_tables):
        raise OrderRefused(
            f"{table} is an upsert table, which no loader loads: see `sluice upsert`"
        )


def freeze(orders: RegionOrders, feed: Feed, scope: Scope, terms: Terms) -> OrderChange:
    """Stops reading, for upsert tables too. Raises OrderRefused for a scope that the feed does not
    have."""
    _check_names(feed, scope)
    scope = _with_folder(feed, scope)
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
    _check_names(feed, scope)
    active = orders.active(Freeze, [feed])
    if scope.table not in {each.table for each in active}:
        scope = _with_folder(feed, scope)
    inside = [each for each in active if _is_within(feed, each, scope)]
    wider = [each for each in active if each not in inside and _is_within(feed, scope, each)]
    if wider:
        raise OrderRefused(
            "a wider freeze holds: resume that one, and freeze the others one by one; nothing was "
            "changed"
        )
    return orders.publish(deleted=inside)


def refresh_schema(
    orders: RegionOrders, feed: Feed, table: str | None, terms: Terms
) -> OrderChange:
    """Has the loaders read the columns of a table again, or of all tables.

    Raises OrderRefused for an upsert table.
    """
    check_table(feed, table)
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
            incarnation=each.incarnation or None,
        )
        for each in blocks
    )


def _with_folder(feed: Feed, scope: Scope) -> Scope:
    """Returns the scope with the folder of objects as loaders name it, and with the cluster and the
    topic of its path.

    Raises OrderRefused for a folder that the feed does not make.
    """
    if scope.table is None or not isinstance(feed, ObjectFeed):
        return scope
    try:
        cluster, topic, name = named_folder(feed, scope.table)
    except UnknownFolder as error:
        raise OrderRefused(str(error)) from None
    if cluster is not None and scope.cluster not in (None, cluster):
        raise OrderRefused(f"{scope.table} is of the cluster {cluster}, and not {scope.cluster}")
    if topic is not None and scope.topic not in (None, topic):
        raise OrderRefused(f"{scope.table} is of the topic {topic}, and not {scope.topic}")
    if topic is not None and not feed.takes(topic):
        raise OrderRefused(f"feed {feed.name} takes no topic {topic}")
    return replace(scope, cluster=cluster or scope.cluster, topic=topic or scope.topic, table=name)


def _is_within(feed: Feed, one: Freeze | Scope, other: Freeze | Scope) -> bool:
    """Returns True if the other names nothing, or the same, wherever it names something."""
    if isinstance(feed, ObjectFeed) and one.table is not None and other.table == bare(one.table):
        # A folder has all versions of its records.
        one, other = _without_table(one), _without_table(other)
    names = ("cluster", "topic", "partition", "table")
    return all(getattr(other, name) in (None, getattr(one, name)) for name in names)


def _without_table(of: Freeze | Scope) -> Scope:
    return Scope(of.cluster, of.topic, of.partition)


def order_table(
    orders: RegionOrders,
    kind: type[SettleTable | RotateTable],
    feed: Feed,
    table: str,
    why: str,
) -> OrderChange:
    """Orders the keeper of a table to settle it, or to rotate its state.

    Raises UnknownRegion for a name that no upsert table of the feed has.
    """
    check_upsert_table(feed, table)
    return orders.publish([kind(**orders.fields(feed, ending(why)), table=table)])


def accept_lane_losses(
    orders: RegionOrders, feed: Feed, table: str, stops: Sequence[Stop], why: str
) -> OrderChange:
    """Orders the keeper of a table to let stopped lanes go on behind these losses."""
    losses = [(each.lane, each.loss.kind.value, each.loss.begin, each.loss.end) for each in stops]
    fields = orders.fields(feed, ending(why))
    return orders.publish([AcceptLaneLosses(**fields, table=table, losses=tuple(losses))])


def ending(why: str) -> Terms:
    """Returns the terms of an order that ends by itself."""
    return replace(Terms(why), duration=KEEPER_DURATION)


def check_upsert_table(feed: Feed, table: str) -> None:
    """Raises UnknownRegion for a name that no upsert table of the feed has."""
    known = [each.name for each in feed.upsert_tables]
    if table not in known:
        listed = ", ".join(sorted(known)) or "none"
        raise UnknownRegion(f"feed {feed.name} has no upsert table {table!r}; known: {listed}")
