"""Store probe: asks the store of a feed what it has of partitions without an intent.

Tables are asked for the last row of each partition, on every replica. Objects are told in the
topic `sluice.objects.<feed>`, and listed in the bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from aggregator.driver.adoption_memory import read_topic
from aggregator.intents.stored import Stored
from aggregator.loader import object_records
from aggregator.loader.object_sink import trial_store
from aggregator.objects.forgotten import Forgotten, Removed, decoded
from aggregator.objects.object_name import parsed
from aggregator.objects.told_object import ToldObject, UnreadableObject
from aggregator.s3.answers import StoreProblem
from aggregator.s3.object_store import ObjectStore
from aggregator.store.shard_store import ShardStore, StoreTimeouts
from aggregator.store.stored_offsets import stored_in_shard
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed, Feed
from replicator.config.names import objects_topic
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.client.cluster import Cluster
from replicator.runtime.run_in_thread import run_in_thread

LISTED_MAX = 100_000
"""Objects of a topic that are listed."""
Found = Mapping[TopicPartition, Stored]
Ends = dict[TopicPartition, dict[int, int]]
"""Offsets by partition and incarnation of its log."""


@dataclass(slots=True)
class ToldEnds:
    """Ends of what was told of each partition.

    Args:
        doubt: why something may be missing; empty if nothing is.
    """

    doubt: str = ""
    ends: Ends = field(default_factory=dict)
    several: set[TopicPartition] = field(default_factory=set)
    """Partitions with objects in several folders."""
    _folders: dict[TopicPartition, str] = field(default_factory=dict)

    def take(self, told: ToldObject | Forgotten) -> None:
        """Takes in an object, or what was forgotten: its records were stored as well."""
        of = told.log if isinstance(told, Forgotten) else told
        place = TopicPartition(of.topic, of.partition)
        ends = self.ends.setdefault(place, {})
        ends[of.incarnation] = max(told.end, ends.get(of.incarnation, 0))
        if told.folder is None or self._folders.setdefault(place, told.folder) != told.folder:
            self.several.add(place)


async def stored(
    feed: Feed,
    name: ClusterName,
    cluster: Cluster,
    places: Collection[TopicPartition],
    is_thorough: bool,
    *,
    make_shard: Callable[..., ShardStore] = ShardStore,
    make_store: Callable[[ObjectFeed], ObjectStore] = trial_store,
    listed_max: int = LISTED_MAX,
) -> Found:
    """Returns what the store of a feed has of partitions of a cluster.

    Args:
        is_thorough: reads all that was ever told of objects, also where the bucket lists none.
    """
    if isinstance(feed, ObjectFeed):
        listing = await run_in_thread(_listed, feed, str(name), places, make_store, listed_max)
        begins = listing.begins
        # A bucket lists where an object begins; where it ends was told.
        told = await _told(feed, str(name), cluster) if is_thorough or begins else ToldEnds()
        return {
            place: replace(
                of_logs(
                    told.ends.get(place, {}),
                    begins.get(place, {}),
                    listing.doubt or told.doubt,
                    is_passing=listing.is_passing,
                ),
                has_folders=place in told.several,
            )
            for place in places
        }
    assert isinstance(feed, ClickHouseFeed)
    return await run_in_thread(_in_tables, feed, str(name), places, make_shard)


def _in_tables(
    feed: ClickHouseFeed,
    cluster: str,
    places: Collection[TopicPartition],
    make_shard: Callable[..., ShardStore],
) -> Found:
    timeouts = StoreTimeouts(insert=feed.insert_timeout_seconds)
    found: dict[TopicPartition, Stored] = {}
    for number, shard in enumerate(feed.shards):
        own = [place for place in places if feed.shard_number(place.topic) == number]
        if own:
            store = make_shard(shard, timeouts, feed=feed.name, kept=1)
            try:
                is_by_topic = feed.table_from == "topic"
                found |= stored_in_shard(store, cluster, own, is_by_topic=is_by_topic)
            finally:
                store.close()
    return found


async def _told(feed: ObjectFeed, name: str, cluster: Cluster) -> ToldEnds:
    """Returns the ends of the objects that the feed has told of."""
    found = ToldEnds()
    for number in range(object_records.PARTITIONS):
        async for key, value, _ in read_topic(cluster, objects_topic(feed.name), number):
            try:
                told = decoded(key or b"", value)
            except UnreadableObject as error:
                found.doubt = str(error)
                return found
            if isinstance(told, Removed):
                continue
            if (told.log.cluster if isinstance(told, Forgotten) else told.cluster) == name:
                found.take(told)
    if not found.ends:
        found.doubt = f"no object was told of in {objects_topic(feed.name)}"
    return found


@dataclass(slots=True)
class Listing:
    """First offsets of the last objects in a bucket.

    Args:
        doubt: why an object may be in the bucket that was not listed; empty if none is.
        is_passing: see Stored.
    """

    begins: Ends = field(default_factory=dict)
    doubt: str = ""
    is_passing: bool = False


def _listed(
    feed: ObjectFeed,
    cluster: str,
    places: Collection[TopicPartition],
    make_store: Callable[[ObjectFeed], ObjectStore],
    listed_max: int,
) -> Listing:
    found = Listing()
    try:
        store, prefix = make_store(feed), feed.prefix_of(cluster)
        for topic in sorted({place.topic for place in places}):
            _list_topic(found, store, prefix, topic, listed_max)
    except StoreProblem as problem:
        found.doubt = f"the bucket does not answer ({problem.text})"[:80]
        found.is_passing = True
    return found


def _list_topic(
    found: Listing, store: ObjectStore, prefix: str, topic: str, listed_max: int
) -> None:
    folder = "/".join(filter(None, (prefix, topic)))
    for number, each in enumerate(store.objects(f"{folder}/")):
        if number >= listed_max:
            found.doubt = f"the bucket has more than {listed_max} objects of the topic"
            break
        name = parsed(each.key, prefix)
        if name is not None:
            of_place = found.begins.setdefault(TopicPartition(topic, name.partition), {})
            of_place[name.incarnation] = max(name.begin, of_place.get(name.incarnation, 0))


def of_logs(
    ends: Mapping[int, int], begins: Mapping[int, int], doubt: str, *, is_passing: bool
) -> Stored:
    """Returns what is stored of a partition, by the incarnations of its logs (see `combined`).

    The doubt is about its last log.
    """
    logs = sorted({*ends, *begins})
    if not logs:
        return combined(None, None, doubt, is_passing=is_passing)
    found = {
        log: combined(ends.get(log), begins.get(log), doubt, is_passing=is_passing) for log in logs
    }
    known = {log: it.next_offset for log, it in found.items() if it.next_offset is not None}
    last = found[logs[-1]]
    return Stored(max(known.values()), last.doubt, last.is_passing, known)


def combined(end: int | None, begin: int | None, doubt: str, *, is_passing: bool) -> Stored:
    """Returns what is stored of a log.

    Args:
        end: of the last object that was told of.
        begin: of the last object in the bucket.
    """
    if begin is not None and begin >= (end or 0):
        return Stored(begin + 1, f"an object begins at {begin}, its end is not told")
    return Stored(end, doubt, is_passing)
