"""Overwriting of objects: parked partitions go on by writing over what has an object's name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from aggregator.intents.intent import Intent
from aggregator.loader.accepted_intents import overwriting, taken_object
from aggregator.loader.loss_acceptance import AcceptedLosses, accept
from aggregator.loader.object_layout import ObjectLayout
from aggregator.loader.object_sink import address_of
from aggregator.loader.reports import FeedPartition
from aggregator.s3.object_store import ObjectStore
from aggregator.s3.object_verdict import Verdict, verdict
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster, Fenced
from tui.facts.feed_losses import FASTER
from tui.facts.feed_objects import Overwrites, TakenObject
from tui.facts.feed_scope import Scope
from tui.facts.watch.feed_intents import loaded_partitions, read_intents
from tui.orders.feed_orders import check_scope

FREE = "its name is free, or has the object by now: `sluice aggregate accept-loss` lets it go on"
OTHER_SETTINGS = "it was sealed under other settings, and may have another name: set them back"


def overwrite_objects(
    appliance: Appliance,
    feed: ObjectFeed,
    scope: Scope,
    *,
    is_confirmed: bool,
    timeout_seconds: float,
) -> Overwrites:
    """Shows the objects of the scope whose names are taken, or has them overwrite what is there.
    Blocking.

    A loader writes over exactly the content that is there now; another one parks the partition
    again.

    Args:
        timeout_seconds: for each cluster.

    Raises:
        OrderRefused: the feed does not have the scope.
        AdminError, Unreachable, Answered: a cluster gives no answer; partitions of the clusters
            before may go on.
        StoreProblem: the store gives none.
    """
    check_scope(feed, scope)
    parts = [
        _of_cluster(appliance, feed, name, scope, is_confirmed, timeout_seconds)
        for name in feed.clusters
        if scope.cluster in (None, name)
    ]
    return Overwrites(
        tuple(each for part in parts for each in part.taken),
        tuple(each for part in parts for each in part.continued),
        {partition: why for part in parts for partition, why in part.left.items()},
    )


def _of_cluster(
    appliance: Appliance,
    feed: ObjectFeed,
    name: ClusterName,
    scope: Scope,
    is_confirmed: bool,
    timeout_seconds: float,
) -> Overwrites:
    settings = appliance.cluster(name)
    topics = Admin(name, settings, timeout_seconds, needs_configs=False).topics()
    partitions = [each for each in loaded_partitions(feed, name, topics) if scope.has(each)]
    if not partitions:
        return Overwrites()
    intents = read_intents(name, settings, feed, partitions, timeout_seconds)
    store, layout = ObjectStore(address_of(feed)), ObjectLayout(feed, str(name))
    taken = tuple(taken_objects(store, layout, intents))
    if not is_confirmed:
        return Overwrites(taken)
    left: dict[FeedPartition, str] = {}
    for each in taken:
        if each.manifest.fingerprint != layout.fingerprint:
            left[each.partition] = OTHER_SETTINGS
        elif verdict(each.there, each.manifest) in (Verdict.ABSENT, Verdict.OURS):
            left[each.partition] = FREE
    wanted = {
        TopicPartition(each.partition.topic, each.partition.partition): each
        for each in taken
        if each.partition not in left
    }
    if not wanted:
        return Overwrites(left=left)
    try:
        cluster = Cluster(name, settings, client_id="sluice-overwrite")
        result = asyncio.run(let_go_on(cluster, feed.name, wanted, timeout_seconds))
    except Fenced:
        return Overwrites(left={each.partition: FASTER for each in taken})
    except TimeoutError:
        text = f"{name}: given up after {timeout_seconds:g} s; look again"
        raise Unreachable(text) from None
    left |= {wanted[place].partition: why for place, why in result.left.items()}
    return Overwrites(continued=tuple(wanted[each] for each in result.continued), left=left)


def taken_objects(
    store: ObjectStore, layout: ObjectLayout, intents: Mapping[FeedPartition, Intent]
) -> Iterator[TakenObject]:
    """Yields the objects whose names are taken, with what is there now. Blocking."""
    for partition, intent in sorted(intents.items(), key=lambda each: each[0]):
        if taken := taken_object(intent):
            name, manifest = taken
            place = TopicPartition(partition.topic, partition.partition)
            log = intent.incarnation_at(manifest.begin)
            key = layout.key(place, name, manifest.sealed_begin, log)
            yield TakenObject(partition, key, manifest, store.head(key))


async def let_go_on(
    cluster: Cluster, feed: str, wanted: dict[TopicPartition, TakenObject], timeout_seconds: float
) -> AcceptedLosses:
    """Lets partitions go on, whose loaders write over what the operator was shown.

    Args:
        cluster: not opened yet; closed at the end.

    Raises:
        Fenced: a loader was faster; look again.
        TimeoutError: the cluster did not answer in time.
    """

    def changed(place: TopicPartition, intent: Intent) -> Intent:
        each = wanted[place]
        assert each.there is not None
        return overwriting(intent, each.manifest.begin, each.there.etag)

    async with asyncio.timeout(timeout_seconds):
        try:
            await cluster.open({place.topic for place in wanted})
            return await accept(cluster, feed, list(wanted), changed=changed)
        finally:
            await cluster.close()
