"""Object listing: which objects of a feed hold which offsets, and what the store has of them."""

from __future__ import annotations

from aggregator.loader.object_sink import address_of
from aggregator.s3.object_listing import differences, told_objects
from aggregator.s3.object_store import ObjectStore
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance
from tui.actions.feed_orders import check_scope
from tui.state.feed_objects import ObjectListing
from tui.state.feed_scope import Scope


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
    found = [
        each
        for name in feed.clusters
        if scope.cluster in (None, name)
        for each in told_objects(
            name, appliance.cluster(name), feed.name, timeout_seconds, are_all_needed=False
        )
        if scope.topic in (None, each.topic)
        and scope.partition in (None, each.partition)
        and (offset is None or each.begin <= offset < each.end)
    ]
    if not is_checking:
        return ObjectListing(tuple(found))
    return ObjectListing(tuple(found), tuple(differences(ObjectStore(address_of(feed)), found)))
