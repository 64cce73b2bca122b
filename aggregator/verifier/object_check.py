"""Object check: compares what a feed has told of its objects with what the store has.

The order of the requests keeps what is under way from looking wrong: the store is listed first,
then the intents are read, then what was told. An object that the listing shows is named by the
intent, or is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.loader.object_sink import address_of
from aggregator.objects.forgotten import Log
from aggregator.objects.object_name import ObjectName, parsed
from aggregator.objects.prefix_claim import below
from aggregator.objects.told_objects import ToldObjects
from aggregator.s3.answers import StoreProblem
from aggregator.s3.object_listing import differences, told_objects
from aggregator.s3.object_store import Listed, ObjectStore
from aggregator.s3.upload_sweep import ObjectPlace
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.kafka.tail.topic_tailer import LogUnreadable

EXAMPLES_MAX = 20
Intents = Mapping[TopicPartition, Intent]


@dataclass(slots=True)
class ObjectCount:
    """Objects of a feed in one cluster.

    Args:
        told: objects that the store was asked for.
        missing, different: of these.
        foreign: objects in the store whose names are of the feed's shape, and that nothing names.
        forgotten: objects that the store had dropped before, by an operator's word.
    """

    cluster: ClusterName
    feed: str
    where: str
    told: int = 0
    missing: int = 0
    different: int = 0
    foreign: int = 0
    forgotten: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def is_different(self) -> bool:
        return bool(self.missing or self.different or self.foreign)

    def example(self, text: str) -> None:
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(text)


@dataclass(frozen=True, slots=True)
class ObjectResult:
    """Counts of feeds, and the reasons why servers could not be asked."""

    counts: tuple[ObjectCount, ...] = ()
    problems: tuple[str, ...] = ()


class ObjectCheck:
    """Check of one feed in one cluster. Blocking.

    Args:
        since_ms: objects that were told since are asked for; others that were written since are
            foreign.
        timeout_seconds: for each answer of a cluster.
    """

    def __init__(
        self,
        appliance: Appliance,
        feed: ObjectFeed,
        cluster: ClusterName,
        since_ms: int,
        timeout_seconds: float,
    ) -> None:
        self._settings = appliance.cluster(cluster)
        self._feed = feed
        self._name = cluster
        self._since_ms = since_ms
        self._timeout_seconds = timeout_seconds
        self._prefix = feed.prefix_of(cluster)
        self._store = ObjectStore(address_of(feed))

    def run(self) -> ObjectResult:
        """Compares all objects."""
        count = ObjectCount(
            self._name, self._feed.name, f"{self._feed.bucket}/{below(self._prefix, '')}"
        )
        try:
            self._compare(count)
        except (AdminError, LogUnreadable, Unreachable, Answered, StoreProblem) as error:
            return ObjectResult((count,), (str(error),))
        except TimeoutError:
            text = f"{self._name}: no answer within {self._timeout_seconds:g} s"
            return ObjectResult((count,), (text,))
        return ObjectResult((count,))

    def _compare(self, count: ObjectCount) -> None:
        listed = list(self._listed())
        places = {TopicPartition(name.topic, name.partition) for _, name in listed}
        intents = asyncio.run(self._intents(places)) if places else {}
        told = told_objects(
            self._name, self._settings, self._feed.name, self._timeout_seconds, are_all_needed=True
        )
        for each in foreign(listed, told, intents, self._since_ms):
            count.foreign += 1
            count.example(f"foreign: {each}: no manifest names it")
        count.forgotten = sum(each.objects for each in told.forgotten.values())
        asked = [each for each in told.objects if each.told_at_ms >= self._since_ms]
        count.told = len(asked)
        for found in differences(self._store, asked):
            count.missing += found.is_missing
            count.different += not found.is_missing
            count.example(f"{found.key} {found.text}")

    def _listed(self) -> Iterator[tuple[Listed, ObjectName]]:
        """Yields the objects whose names are of the feed's shape."""
        for each in self._store.objects(below(self._prefix, "")):
            if name := parsed(each.key, self._prefix):
                yield each, name

    async def _intents(self, places: Iterable[TopicPartition]) -> Intents:
        cluster = Cluster(self._name, self._settings, client_id="sluice-verify")
        async with asyncio.timeout(self._timeout_seconds):
            await cluster.open()
            try:
                return await IntentStore(cluster, self._feed.name).read(list(places))
            finally:
                await cluster.close()


def foreign(
    listed: Iterable[tuple[Listed, ObjectName]],
    told: ToldObjects,
    intents: Intents,
    since_ms: int,
) -> Iterator[str]:
    """Yields the keys of objects that no manifest names.

    What lies before the first object that was told of a partition's log is none of them: another
    sink wrote it, from which the feed has taken over. Forgotten objects that are there again are
    foreign.
    """
    keys: set[str] = set()
    firsts: dict[tuple[str, int, int], int] = {}
    begins = [(each.log, each.ranges[0].begin) for each in told.forgotten.values() if each.ranges]
    for each in told.by_key.values():
        keys.add(each.key)
        begins.append((Log.of(each), each.begin))
    for log, begin in begins:
        firsts[log[1:]] = min(begin, firsts.get(log[1:], begin))
    sealed: set[ObjectPlace] = set()
    for place, intent in intents.items():
        sealed |= ObjectPlace.named(*place, intent)
    for found, name in listed:
        first = firsts.get((name.topic, name.partition, name.incarnation))
        # No other sink names incarnations.
        is_before = not name.incarnation and (first is None or name.begin < first)
        is_named = found.key in keys or ObjectPlace.of(name) in sealed
        if not is_named and not is_before and found.modified_at * 1000 >= since_ms:
            yield found.key
