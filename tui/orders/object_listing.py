"""Object listing: which objects of a feed hold which offsets, and what the store has of them."""

from __future__ import annotations

from aggregator.loader.object_sink import address_of
from aggregator.objects.forgotten import Log
from aggregator.objects.told_object import ToldObject
from aggregator.s3.object_listing import differences, told_objects
from aggregator.s3.object_store import ObjectStore
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance
from tui.facts.feed_objects import ObjectListing
from tui.facts.feed_scope import Scope
from tui.orders.feed_orders import check_scope


class NoObjects(ValueError):
    """A feed of another kind: it has no objects."""


def object_feed(appliance: Appliance, name: str) -> ObjectFeed:
    """Returns a feed into objects. Raises NoObjects, UnknownRegion."""
    feed = appliance.feed(name)
    if not isinstance(feed, ObjectFeed):
        raise NoObjects(f"feed {name} has no objects: its kind is {feed.kind}")
    return feed


def list_objects(
    appliance: Appliance,
    feed_name: str,
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
        NoObjects: the feed is of another kind.
        OrderRefused: the feed does not have the scope.
        AdminError, LogUnreadable: a cluster gives no answer.
        StoreProblem: the store gives none.
    """
    feed = object_feed(appliance, feed_name)
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
