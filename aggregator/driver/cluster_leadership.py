"""Leadership of the aggregator's driver in one cluster: its term, its topics, its adoptions and its
commands there. One cluster that is down leaves the others flowing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from aggregator.driver.start_group import StartWaits, group_offsets
from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.loader import object_records
from aggregator.loader.dead_letters import PARTITIONS
from aggregator.loader.produced import MESSAGE_BYTES_MAX
from balancer.plan import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import Feed
from replicator.config.names import (
    OWN_PREFIX,
    PLAN_TOPIC,
    aggregator_id,
    dead_letter_topic,
    objects_topic,
    unloaded_id,
)
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.group_members import GroupMembers
from replicator.kafka.admin.own_topics import make_topics
from replicator.kafka.admin.topic import Topic
from replicator.kafka.admin.topic_changes import Create
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.custody import Custody
from replicator.runtime.run_in_thread import run_in_thread
from replicator.spark.driver_command import Term, read_command
from replicator.spark.driver_term import DriverTerm

log = logging.getLogger(__name__)

COMMAND_SECONDS = 10.0


class ClusterLeadership:
    """The driver of a region's feeds in one of the clusters that they read.

    Args:
        feeds: those that read this cluster.
        make_admin: makes the admin client of the cluster.
    """

    def __init__(
        self,
        appliance: Appliance,
        region: str,
        name: ClusterName,
        feeds: Sequence[Feed],
        make_admin: Callable[..., Admin] = Admin,
    ) -> None:
        self.name = name
        self.feeds = feeds
        self.last_version = 0
        """Version of the plan that was published last, also by the driver before."""
        self.waiting: dict[str, str] = {}
        """Feeds that adopt no partitions as their start is not known, with the reasons."""
        settings = appliance.replicator
        self._appliance = appliance
        self._driver_id = aggregator_id(region)
        self._admin = make_admin(name, appliance.cluster(name))
        self._cluster = Cluster(
            name,
            appliance.cluster(name),
            client_id=f"sluice-aggregator-{region}",
            request_timeout_ms=settings.request_timeout_ms,
            idle_seconds=settings.connections_idle_seconds,
        )
        self._term = DriverTerm(self._cluster, self._driver_id, settings.transaction_timeout_ms)
        self._wanted = (0, False)
        self._changed = asyncio.Event()

    @property
    def term(self) -> Term:
        return self._term.term

    async def cluster_id(self) -> str:
        """Returns the id that the cluster has told. Raises AdminError."""
        return await run_in_thread(self._admin.cluster_id)

    async def prepare(self) -> None:
        """Makes the topics that the feeds need here. Raises AdminError, Unreachable."""
        replicas = self._appliance.topics.replication_factor
        config = (("retention.ms", "-1"), ("max.message.bytes", str(MESSAGE_BYTES_MAX)))
        letters = [dead_letter_topic(feed.name) for feed in self.feeds]
        kept = (("cleanup.policy", "compact"),)
        objects = [objects_topic(feed.name) for feed in self.feeds if feed.kind == "s3"]
        creates = [
            Create(PLAN_TOPIC, 1, (), replicas),
            *(Create(topic, PARTITIONS, config, replicas) for topic in letters),
            *(Create(topic, object_records.PARTITIONS, kept, replicas) for topic in objects),
        ]
        await run_in_thread(make_topics, self._admin, creates)
        await self._cluster.open()

    async def acquire(self) -> None:
        """Acquires the leadership; the driver before is fenced from here on."""
        term = await self._term.open()
        before = await read_command(self._cluster, self._driver_id)
        self.last_version = before.plan_version if before else 0
        log.info(
            "event=term cluster=%s producer_id=%d epoch=%d",
            self.name.replace(" ", "-"),
            term.producer_id,
            term.epoch,
        )

    async def keep(self) -> None:
        """Publishes what is wanted and checks that this driver still leads, until cancelled.

        Raises:
            TermSuperseded, Fenced: a newer driver leads.
        """
        # Before the first command of this driver, that of the driver before is the last one.
        await self._publish_next()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._term.keep_checking())
            tasks.create_task(self._keep_publishing())

    def want(self, plan_version: int, *, stop: bool = False) -> None:
        """Has the plan of this version published, or the stop, as soon as the cluster answers."""
        self._wanted = (plan_version, stop)
        self._changed.set()

    async def stop(self, plan_version: int) -> None:
        """Publishes the stop; gives up on a cluster that does not answer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(COMMAND_SECONDS):
                await self._term.publish(plan_version, stop=True)

    async def has_successor(self) -> bool:
        """Returns True when another driver leads here."""
        return await self._term.has_successor()

    async def close(self) -> None:
        await self._cluster.close()

    async def _keep_publishing(self) -> None:
        while True:
            await self._publish_next()

    async def _publish_next(self) -> None:
        """Waits until another command is wanted, and publishes it."""
        await self._changed.wait()
        self._changed.clear()
        version, stop = self._wanted
        await self.publish(version, stop=stop)

    async def publish(self, plan_version: int, *, stop: bool = False) -> None:
        """Publishes a command now. Raises Fenced."""
        await self._term.publish(plan_version, stop=stop)
        self.last_version = plan_version

    # -- partitions

    async def partitions(self) -> dict[str, list[TopicPartition]]:
        """Returns the partitions of each feed's topics, all of them adopted.

        Raises AdminError; Fenced when a newer driver leads.
        """
        topics = await run_in_thread(self._admin.topics)
        found: dict[str, list[TopicPartition]] = {}
        for feed in self.feeds:
            own = [topic for topic in topics if _is_loaded(feed, topic)]
            try:
                await self._adopt(feed, own)
            except StartWaits as waits:
                self.waiting[feed.name] = str(waits)
            else:
                self.waiting.pop(feed.name, None)
            found[feed.name] = [
                TopicPartition(topic.name, number)
                for topic in own
                for number in range(topic.partitions)
            ]
        return found

    async def _adopt(self, feed: Feed, topics: Sequence[Topic]) -> None:
        """Commits first intents of partitions that were never loaded, and then their witness.

        In this order: a witness without its intent means that the intent was lost.

        Raises StartWaits if it is not known yet where they begin.
        """
        store = IntentStore(self._cluster, feed.name)
        counts = {topic.name: await store.witnessed(topic.name) for topic in topics}
        grown = [topic for topic in topics if counts[topic.name] < topic.partitions]
        new = [
            TopicPartition(topic.name, at)
            for topic in grown
            for at in range(counts[topic.name], topic.partitions)
        ]
        known = await store.read(new)
        new = [place for place in new if place not in known]
        is_first = not any(counts.values()) and not known
        starts = await self._starts(feed, new, is_first=is_first)
        for topic in grown:
            own = [place for place in new if place.topic == topic.name]
            if not all(place in starts for place in own):
                continue  # a partition without a leader has no answer: the next round asks again
            intents = {
                place: Intent(
                    custody=Custody.RELEASED,
                    offset=starts[place],
                    reference=starts[place],
                    transactional_id=unloaded_id(feed.name),
                    topic_id=topic.topic_id,
                )
                for place in own
            }
            await self._term.commit(store.offsets(intents))
            await self._term.commit(store.witness(topic.name, topic.partitions))
            if own:
                log.info(
                    "event=adopted feed=%s cluster=%s topic=%s partitions=%d",
                    feed.name,
                    self.name.replace(" ", "-"),
                    topic.name,
                    len(own),
                )

    async def _starts(
        self, feed: Feed, places: Sequence[TopicPartition], *, is_first: bool
    ) -> Mapping[TopicPartition, int]:
        """Returns the first offset to load of each partition that answers. Raises StartWaits."""
        found: dict[TopicPartition, int] = {}
        if places and feed.start_group:
            members = GroupMembers(self.name, self._appliance.cluster(self.name))
            found = await group_offsets(
                feed.start_group, self._cluster, members, places, is_first=is_first
            )
        left = [place for place in places if place not in found]
        start = "earliest" if feed.start_group else feed.start
        return {**found, **await run_in_thread(self._offsets, left, start)}

    def _offsets(
        self, places: Sequence[TopicPartition], start: str | int
    ) -> Mapping[TopicPartition, int]:
        """Returns the offsets of a start that is no group. Blocking."""
        if start in ("earliest", "latest"):
            return self._admin.offsets(places, start)  # type: ignore[arg-type]
        found = self._admin.offsets(places, int(start))
        late = [place for place, offset in found.items() if offset < 0]
        return {**found, **self._admin.offsets(late, "latest")}

    async def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Returns the log ends of partitions, from which their traffic follows."""
        return await run_in_thread(self._admin.offsets, list(partitions), "latest")


def _is_loaded(feed: Feed, topic: Topic) -> bool:
    is_own = topic.name.startswith((OWN_PREFIX, "__")) or topic.is_internal
    return not is_own and feed.takes(topic.name)
