"""Forgetting: removes the manifests of objects that the bucket does not have any more."""

from __future__ import annotations

import asyncio

from aggregator.loader.object_forgetting import ObjectForgetting
from aggregator.loader.object_sink import address_of
from aggregator.objects.prefix_claim import PrefixClaim, below
from aggregator.s3.object_store import ObjectStore
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Fenced
from tui.facts.feed_objects import DroppedObjects, Forgetting
from tui.facts.feed_scope import Scope
from tui.orders.feed_orders import check_scope
from tui.orders.order_checks import OrderRefused
from tui.orders.upload_sweeping import raise_unless_claimed


def forget_objects(
    appliance: Appliance,
    feed: ObjectFeed,
    scope: Scope,
    *,
    told_before_ms: int,
    is_confirmed: bool,
    timeout_seconds: float,
) -> Forgetting:
    """Shows the objects of the scope that the bucket does not have any more, or forgets them.
    Blocking.

    May be killed and repeated, and runs beside loaders.

    Args:
        told_before_ms: Unix time; objects that were told since are kept.
        timeout_seconds: for each answer of a cluster.

    Raises:
        OrderRefused: the feed does not have the scope, or has not claimed its prefix, or another
            run has begun.
        AdminError, LogUnreadable, Unreachable, Answered: a cluster gives no answer.
        StoreProblem: the store gives none.
    """
    check_scope(feed, scope)
    store = ObjectStore(address_of(feed))
    found: list[DroppedObjects] = []
    for name in feed.clusters:
        if scope.cluster not in (None, name):
            continue
        settings, prefix = appliance.cluster(name), feed.prefix_of(name)
        admin = Admin(name, settings, timeout_seconds)
        # HEAD of any name is 404 in a bucket that is not there.
        raise_unless_claimed(store, prefix, PrefixClaim(feed.name, str(name), admin.cluster_id()))
        forgetting = ObjectForgetting(
            feed=feed.name,
            name=name,
            settings=settings,
            store=store,
            prefix=below(prefix, ""),
            topic=scope.topic,
            partition=scope.partition,
            told_before_ms=told_before_ms,
            timeout_seconds=timeout_seconds,
        )
        try:
            gone = asyncio.run(forgetting.run(is_confirmed=is_confirmed))
        except Fenced:
            raise OrderRefused("another `sluice aggregate forget` of the feed has begun") from None
        except TimeoutError:
            text = f"{name}: no answer within {timeout_seconds:g} s; run it again"
            raise Unreachable(text) from None
        found += [DroppedObjects.of(log, objects) for log, objects in gone.items()]
    return Forgetting(tuple(sorted(found, key=lambda each: each.log)), is_confirmed)
