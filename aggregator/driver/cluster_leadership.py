"""Leadership of the aggregator's driver in one cluster: its term, its topics, its adoptions and its
commands there. One cluster that is down leaves the others flowing."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from aiokafka.errors import KafkaError

from aggregator.driver import store_probe
from aggregator.driver.adoption_memory import AdoptionMemory
from aggregator.driver.feed_adoption import FeedAdoption
from aggregator.driver.start_group import StartWaits, group_offsets
from aggregator.intents.stored import Stored
from aggregator.loader import object_records
from aggregator.loader.dead_letters import PARTITIONS
from aggregator.loader.produced import MESSAGE_BYTES_MAX
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import Feed
from replicator.config.names import (
    OWN_PREFIX,
    PLAN_TOPIC,
    adopted_topic,
    aggregator_id,
    dead_letter_topic,
    objects_topic,
)
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError, AdminUnreachable
from replicator.kafka.admin.group_members import GroupMembers
from replicator.kafka.admin.own_topics import make_topics
from replicator.kafka.admin.topic import Topic
from replicator.kafka.admin.topic_changes import Create
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster, Forbidden
from replicator.runtime.run_in_thread import run_in_thread
from replicator.spark.driver_command import Term, read_command
from replicator.spark.driver_term import DriverTerm

log = logging.getLogger(__name__)

COMMAND_SECONDS = 10.0
NOTE_SECONDS = 3.0
MEMORY_CONFIG = (
    ("cleanup.policy", "compact"),
    # A note is written again and again: what is overtaken goes within days.
    ("segment.ms", "86400000"),
    ("segment.bytes", str(64 << 20)),
)
WITHOUT_CONFIGS = partial(Admin, needs_configs=False)
"""No feed needs the configs of topics. One topic whose configs may not be described would keep all
others unknown."""
AskStore = Callable[..., Awaitable[Mapping[TopicPartition, Stored]]]


class ClusterLeadership:
    """The driver of a region's feeds in one of the clusters that they read.

    Args:
        feeds: those that read this cluster.
        make_admin: makes the admin client of the cluster.
        ask_store: returns what a feed's store has of partitions without an intent.
        make_adoption: makes the adoption of a feed.
    """

    def __init__(
        self,
        appliance: Appliance,
        region: str,
        name: ClusterName,
        feeds: Sequence[Feed],
        make_admin: Callable[..., Admin] = WITHOUT_CONFIGS,
        ask_store: AskStore = store_probe.stored,
        make_adoption: Callable[..., FeedAdoption] = FeedAdoption,
    ) -> None:
        self.name = name
        self.feeds = feeds
        self.last_version = 0
        """Version of the plan that was published last, also by the driver before."""
        self.waiting: dict[str, str] = {}
        """Feeds that adopt no partitions as their start is not known, with the reasons."""
        self.left_out: dict[tuple[str, str], str] = {}
        """Topics that are not loaded, by feed and name, with the reasons: the others flow."""
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
        self._make_adoption = make_adoption
        self._adoptions = {feed.name: self._adoption(feed, ask_store) for feed in feeds}
        self._is_examined = False

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
        await self._examine()
        await run_in_thread(make_topics, self._admin, creates)
        await self._make_memories(replicas)
        await self._cluster.open()

    async def _examine(self) -> None:
        """Finds the feeds that are new in the cluster: the others have a topic of dead letters."""
        if self._is_examined:
            return
        letters = {dead_letter_topic(feed.name): feed.name for feed in self.feeds}
        there = await run_in_thread(self._admin.topics, list(letters))
        known = {letters[topic.name] for topic in there}
        for name, adoption in self._adoptions.items():
            adoption.is_new = name not in known
        self._is_examined = True

    async def _make_memories(self, replicas: int) -> None:
        """Makes the topics that remember adoptions. A feed whose topic is refused goes on: what
        rests too long is then asked of the store alone."""
        for name, adoption in self._adoptions.items():
            create = Create(adopted_topic(name), 1, MEMORY_CONFIG, replicas)
            try:
                await run_in_thread(make_topics, self._admin, [create])
            except AdminUnreachable:
                raise
            except AdminError as error:
                adoption.can_remember = False
                log.error(
                    "event=adoptions-not-remembered feed=%s cluster=%s: %s",
                    name,
                    self.name.replace(" ", "-"),
                    error,
                )

    def _adoption(self, feed: Feed, ask_store: AskStore) -> FeedAdoption:
        return self._make_adoption(
            feed=feed,
            name=self.name.replace(" ", "-"),
            cluster=self._cluster,
            admin=self._admin,
            driver=self._term,
            memory=AdoptionMemory(self._cluster, feed.name),
            starts=self._starts,
            probe=partial(ask_store, feed, self.name, self._cluster),
            timeout_ms=self._appliance.replicator.transaction_timeout_ms,
        )

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
        """Notes how far the feeds are loaded, if this driver still leads, and disconnects."""
        with suppress(TimeoutError, Answered, Unreachable, KafkaError, OSError):
            async with asyncio.timeout(NOTE_SECONDS if self._term.term.epoch >= 0 else 0):
                for adoption in self._adoptions.values():
                    await adoption.note()
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

    @property
    def pause_seconds(self) -> float:
        """Longest pause between two looks for partitions, after which commits might expire."""
        return min((it.pause_seconds for it in self._adoptions.values()), default=math.inf)

    async def partitions(self) -> dict[str, list[TopicPartition]]:
        """Returns the partitions of each feed's topics, all of them adopted or parked.

        Intents that no loader renews are renewed.

        Raises AdminError, Unreachable, Answered; Fenced when a newer driver leads.
        """
        topics = await run_in_thread(self._admin.topics)
        found: dict[str, list[TopicPartition]] = {}
        for feed in self.feeds:
            all_own = [topic for topic in topics if _is_loaded(feed, topic)]
            self._note_rights(feed, all_own)
            own = [topic for topic in all_own if topic.is_readable]
            unreadable = [topic.name for topic in all_own if not topic.is_readable]
            try:
                await self._adoptions[feed.name].round(own, unreadable)
            except (StartWaits, Forbidden) as waits:
                # Such as the topic of its memory: the other feeds go on.
                self.waiting[feed.name] = str(waits)
            else:
                self.waiting.pop(feed.name, None)
            found[feed.name] = [
                TopicPartition(topic.name, number)
                for topic in own
                for number in range(topic.partitions)
            ]
        self._term.renew_within(self.pause_seconds)
        return found

    def _note_rights(self, feed: Feed, topics: Iterable[Topic]) -> None:
        for topic in topics:
            self.left_out.pop((feed.name, topic.name), None)
            if not topic.is_readable:
                reason = f"the user may not read it: grant READ on the topic {topic.name}"
                self.left_out[feed.name, topic.name] = reason

    async def _starts(
        self,
        feed: Feed,
        places: Sequence[TopicPartition],
        counts: Mapping[str, int],
        *,
        is_first: bool,
    ) -> Mapping[TopicPartition, int]:
        """Returns the first offset to load of each partition that answers.

        All records of partitions that were made since the feed began are later than the start
        "latest".

        Args:
            counts: partitions of each topic that were adopted before.

        Raises StartWaits.
        """
        found: dict[TopicPartition, int] = {}
        if places and feed.start_group:
            members = GroupMembers(self.name, self._appliance.cluster(self.name))
            found = await group_offsets(
                feed.start_group, self._cluster, members, places, is_first=is_first
            )
        left = [place for place in places if place not in found]
        start = "earliest" if feed.start_group else feed.start
        if start == "latest":
            found_first = self._adoptions[feed.name].found_first or ()
            whole = {place for place in left if is_made_since(place, counts, found_first)}
            found = {**found, **await run_in_thread(self._offsets, [*whole], "earliest")}
            left = [place for place in left if place not in whole]
        return {**found, **await run_in_thread(self._offsets, left, start)}

    def _offsets(
        self, places: Sequence[TopicPartition], start: str | int
    ) -> Mapping[TopicPartition, int]:
        """Returns the offsets of a start that is no group. Blocking."""
        if start in ("earliest", "latest"):
            return self._admin.offsets(places, start)  # type: ignore[arg-type]
        # Before the search: a record that comes between the two is not passed over.
        ends = self._admin.offsets(places, "latest")
        found = self._admin.offsets(places, int(start))
        return {
            place: ends[place] if offset < 0 else offset
            for place, offset in found.items()
            if offset >= 0 or place in ends
        }

    async def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Returns the log ends of partitions, from which their traffic follows."""
        return await run_in_thread(self._admin.offsets, list(partitions), "latest")


def is_made_since(
    place: TopicPartition, counts: Mapping[str, int], found_first: Collection[str]
) -> bool:
    """Returns True if a partition was made since its feed began.

    Args:
        counts: partitions of each topic that were adopted before.
        found_first: topics that are older than the feed, or come under it by another setting.
    """
    return bool(counts[place.topic]) or place.topic not in found_first


def _is_loaded(feed: Feed, topic: Topic) -> bool:
    is_own = topic.name.startswith((OWN_PREFIX, "__")) or topic.is_internal
    return not is_own and feed.takes(topic.name)
