"""Sweeping: aborts the uploads below a feed's prefix that nothing needs any more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from aggregator.intents.intent import Intent
from aggregator.loader.object_sink import address_of
from aggregator.loader.reports import FeedPartition
from aggregator.objects.prefix_claim import CLAIM, PrefixClaim, UnreadableClaim, below
from aggregator.s3.object_store import ObjectStore
from aggregator.s3.upload_sweep import Fate, JudgedUpload, ObjectPlace, judged, places
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from tui.facts.feed_objects import Sweep
from tui.facts.feed_scope import Scope
from tui.facts.watch.feed_intents import loaded_partitions, read_intents
from tui.orders.feed_orders import check_scope
from tui.orders.order_checks import OrderRefused


def sweep_uploads(
    appliance: Appliance,
    feed: ObjectFeed,
    scope: Scope,
    *,
    begun_before: float,
    is_dry: bool,
    timeout_seconds: float,
) -> Sweep:
    """Aborts the uploads that nothing needs; returns all that there were. Blocking.

    May be killed and repeated. A loader whose upload is aborted uploads the same records again.

    Args:
        begun_before: Unix time; younger uploads are left.
        is_dry: aborts none.
        timeout_seconds: for each cluster.

    Raises:
        OrderRefused: the feed does not have the scope, or has not claimed its prefix.
        AdminError, Unreachable, Answered: a cluster gives no answer.
        StoreProblem: the store gives none.
    """
    check_scope(feed, scope)
    store = ObjectStore(address_of(feed))
    found = [
        each
        for name in feed.clusters
        if scope.cluster in (None, name)
        for each in _of_cluster(appliance, feed, name, scope, store, begun_before, timeout_seconds)
    ]
    if not is_dry:
        abort_stale(store, found)
    return Sweep(tuple(found), is_dry)


@dataclass(frozen=True, slots=True)
class UploadSweep:
    """Sweep of the uploads of a feed in one cluster. Blocking.

    Args:
        prefix: of the feed's objects in this cluster.
        partitions: whose uploads the feed may have begun.
        read_intents: returns the intents of these partitions as they are now.
        begun_before: Unix time; younger uploads are left.
    """

    store: ObjectStore
    prefix: str
    partitions: Collection[TopicPartition]
    read_intents: Callable[[], Mapping[TopicPartition, Intent]]
    begun_before: float

    def judged(self) -> list[JudgedUpload]:
        """Returns all uploads below the prefix, with what becomes of them."""
        # Listed before the intents are read: what is sealed meanwhile is not aborted.
        uploads = list(self.store.uploads(below(self.prefix, "")))
        topics = {each.topic for each in self.partitions}
        known = {
            upload: place
            for upload, place in places(uploads, self.prefix, topics).items()
            if TopicPartition(place.topic, place.partition) in self.partitions
        }
        needed: set[ObjectPlace] = set()
        for partition, intent in self.read_intents().items() if known else ():
            needed |= ObjectPlace.named(*partition, intent)
        return list(judged(uploads, self.prefix, known, needed, self.begun_before))


def abort_stale(store: ObjectStore, uploads: Iterable[JudgedUpload]) -> None:
    """Aborts the uploads that nothing needs."""
    for each in uploads:
        if each.fate is Fate.STALE:
            store.abort(each.upload.key, each.upload.upload_id)


def _of_cluster(
    appliance: Appliance,
    feed: ObjectFeed,
    name: ClusterName,
    scope: Scope,
    store: ObjectStore,
    begun_before: float,
    timeout_seconds: float,
) -> list[JudgedUpload]:
    settings, prefix = appliance.cluster(name), feed.prefix_of(name)
    admin = Admin(name, settings, timeout_seconds)
    raise_unless_claimed(store, prefix, PrefixClaim(feed.name, str(name), admin.cluster_id()))
    partitions = [each for each in loaded_partitions(feed, name, admin.topics()) if scope.has(each)]

    def intents() -> dict[TopicPartition, Intent]:
        found = read_intents(name, settings, feed, partitions, timeout_seconds)
        return {_place(each): intent for each, intent in found.items()}

    return UploadSweep(store, prefix, {*map(_place, partitions)}, intents, begun_before).judged()


def _place(partition: FeedPartition) -> TopicPartition:
    return TopicPartition(partition.topic, partition.partition)


def raise_unless_claimed(store: ObjectStore, prefix: str, claim: PrefixClaim) -> None:
    """Raises OrderRefused unless the feed has claimed the prefix: others name objects alike."""
    where = f"{store.address.bucket}/{below(prefix, CLAIM)}"
    content = store.read(below(prefix, CLAIM))
    if content is None:
        raise OrderRefused(f"there is no {where}: the feed has never written there")
    try:
        other = PrefixClaim.decode(content)
    except UnreadableClaim as error:
        raise OrderRefused(f"{where} is {error}") from None
    if not claim.is_same(other):
        raise OrderRefused(f"{where} says that {other} writes there, and not {claim}")
