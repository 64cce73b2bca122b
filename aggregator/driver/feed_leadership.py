"""Leadership of a region's feeds: the clusters that are led, their partitions, the plan, orders.

Each cluster is led by itself: one that does not answer is asked again and again, and has no loaders
meanwhile. Any change of the plan begins a new epoch of all loaders.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from aggregator.driver.cluster_leadership import ClusterLeadership
from aggregator.driver.feed_posting import FeedCluster, FeedPosting, FeedPostingFile
from aggregator.driver.loader_plan import PlanPace, plan_loaders
from aggregator.driver.store_admission import StoreAdmission
from balancer.carrier_plan import Plan
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Fenced, ProducerStateLost
from replicator.notices.condition import Kind, Subject
from replicator.notices.conditions import Conditions
from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_follower import OrderFollower
from replicator.orders.order_log import OrderLog
from replicator.runtime.backoff import Backoff
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.run_in_thread import run_in_thread
from replicator.spark.driver_command import Term

log = logging.getLogger(__name__)

PAUSE_SECONDS = (0.5, 10.0)
FIRST_ORDERS_SECONDS = 15.0
FIRST_PLAN_SECONDS = 5.0
"""Longest wait for the other clusters before the first plan is made without them."""
KEPT = 0.7
"""Part of the traffic known before that counts on at each look."""


class FeedLeadership:
    """The driver of one region's feeds.

    Args:
        postings: file in which plans are left for the epoch runner.
        conditions: where clusters that do not answer are noted; None: nobody asks for them.
    """

    def __init__(
        self,
        appliance: Appliance,
        region: str,
        postings: FeedPostingFile,
        conditions: Conditions | None = None,
    ) -> None:
        self._appliance = appliance
        self._region = region
        self._postings = postings
        feeds = appliance.feeds_of(region)
        names = dict.fromkeys(name for feed in feeds for name in feed.clusters)
        self._feeds = feeds
        self._clusters = {
            name: ClusterLeadership(
                appliance, region, name, [feed for feed in feeds if name in feed.clusters]
            )
            for name in names
        }
        self._partitions: dict[FeedCluster, list[TopicPartition]] = {}
        self._terms: dict[ClusterName, Term] = {}
        self._traffic = Traffic()
        self._pace = PlanPace()
        self._order_log = OrderLog()
        self._changed = asyncio.Event()
        self._heard = asyncio.Event()
        self._follower: OrderFollower | None = None
        self._posting: FeedPosting | None = None
        self._is_epoch_over = False
        self._reports = ReportOnce()
        self._conditions = conditions or Conditions(f"aggregate {region}")
        self._unknown: dict[Subject, str] = {}
        self._waiting: dict[Subject, str] = {}
        self._admission = StoreAdmission(
            feeds,
            self._conditions,
            self._changed.set,
            appliance.aggregator.refresh_seconds,
        )

    async def lead(self, count_slots: Callable[[], int]) -> None:
        """Leads until cancelled.

        Args:
            count_slots: returns how many Spark tasks can run at once.

        Raises:
            TermSuperseded, Fenced: a newer driver of this region leads in some cluster.
            ProducerStateLost: the coordinator of some cluster has forgotten this driver's id.
        """
        self._follow_orders()
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_ORDERS_SECONDS):
                await self._heard.wait()
        async with asyncio.TaskGroup() as tasks:
            for cluster in self._clusters.values():
                tasks.create_task(self._lead_in(cluster))
            tasks.create_task(self._keep_planning(count_slots))

    @property
    def order_log(self) -> OrderLog:
        """All orders that are known."""
        return self._order_log

    def end_epoch(self) -> None:
        """Has the plan posted anew, with which another epoch begins."""
        self._is_epoch_over = True
        self._changed.set()

    async def stop(self) -> None:
        """Posts the stop and publishes it: loaders drain, release and end."""
        self.post_stop()
        if self._posting:
            version = self._posting.plan.version
            led = [self._clusters[name] for name in self._terms]
            await asyncio.gather(*(each.stop(version) for each in led), return_exceptions=True)

    def post_stop(self) -> None:
        """Posts stop without publishing it, so that no further epoch begins."""
        if self._posting:
            before = self._posting
            self._postings.write(replace(before, stop=True))

    async def has_successor(self) -> bool:
        """Returns True when another driver of this region leads in some cluster."""
        led = [self._clusters[name] for name in self._terms]
        found = await asyncio.gather(*(each.has_successor() for each in led))
        return any(found)

    async def close(self) -> None:
        if self._follower:
            self._follower.stop()
        for cluster in self._clusters.values():
            await cluster.close()

    # -- clusters

    async def _lead_in(self, cluster: ClusterLeadership) -> None:
        """Leads in one cluster, from when it answers on."""
        backoff = Backoff(*PAUSE_SECONDS)
        while True:
            try:
                await cluster.prepare()
                await cluster.acquire()
                break
            except (AdminError, Unreachable, Answered, OSError) as error:
                self._tell_trouble(cluster.name, error)
            await asyncio.sleep(backoff.jittered(0.8, 1.2))
            backoff.grow()
        self._settle_trouble(cluster.name)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(cluster.keep())
            tasks.create_task(self._keep_looking(cluster))
            tasks.create_task(self._admission.admit_all(cluster.name, cluster.cluster_id))
            tasks.create_task(self._admission.keep_claims(cluster.name, cluster.cluster_id))

    async def _keep_looking(self, cluster: ClusterLeadership) -> None:
        """Looks for topics and partitions, periodically."""
        while True:
            try:
                found = await cluster.partitions()
                self._tell_waiting(cluster)
                for feed, partitions in found.items():
                    each = FeedCluster(feed, cluster.name)
                    if self._partitions.get(each) != partitions:
                        self._partitions[each] = partitions
                        self._changed.set()
                    self._traffic.look(each, await cluster.ends(partitions), time.monotonic())
                if self._terms.get(cluster.name) != cluster.term:
                    self._terms[cluster.name] = cluster.term
                    self._changed.set()
                self._settle_trouble(cluster.name)
            except (Fenced, ProducerStateLost):
                # Another driver leads, or the coordinator has forgotten this one: only a new run
                # leads again.
                raise
            except (AdminError, Unreachable, Answered, OSError) as error:
                # Partitions that are loaded continue; only new ones have to wait.
                self._tell_trouble(cluster.name, error)
            pause = min(self._appliance.aggregator.refresh_seconds, cluster.pause_seconds)
            await asyncio.sleep(pause)

    def _tell_waiting(self, cluster: ClusterLeadership) -> None:
        """Tells of feeds whose start is not known yet, and of topics that are left out."""
        name = str(cluster.name)
        left_out = {
            Subject(feed=feed, cluster=name, topic=topic): reason
            for (feed, topic), reason in cluster.left_out.items()
        }
        for about in [it for it in self._waiting if it.cluster == name and it.topic]:
            if about not in left_out:
                self._reports.settle(about)
                del self._waiting[about]
        self._waiting |= left_out
        for about, why in left_out.items():
            if self._reports.is_news(about, why):
                log.error(
                    "event=topic-left-out feed=%s cluster=%s topic=%s: %s",
                    about.feed,
                    name.replace(" ", "-"),
                    about.topic,
                    why,
                )
        for feed in cluster.feeds:
            about = Subject(feed=feed.name, cluster=str(cluster.name))
            reason = cluster.waiting.get(feed.name)
            if reason is None:
                self._reports.settle(about)
                self._waiting.pop(about, None)
                continue
            self._waiting[about] = reason
            if self._reports.is_news(about, reason):
                log.error(
                    "event=start-waits feed=%s cluster=%s: %s",
                    feed.name,
                    cluster.name.replace(" ", "-"),
                    reason,
                )
        self._conditions.replace(Kind.WAITING, self._waiting)

    def _settle_trouble(self, name: ClusterName) -> None:
        self._reports.settle(name)
        self._unknown.pop(Subject(cluster=str(name)), None)
        self._conditions.replace(Kind.TOPICS_UNKNOWN, self._unknown)

    def _tell_trouble(self, name: ClusterName, error: Exception) -> None:
        self._unknown[Subject(cluster=str(name))] = str(error)
        self._conditions.replace(Kind.TOPICS_UNKNOWN, self._unknown)
        if self._reports.is_news(name, str(error)):
            log.error("event=topics-unknown cluster=%s: %s", name.replace(" ", "-"), error)

    # -- plans

    async def _keep_planning(self, count_slots: Callable[[], int]) -> None:
        """Makes the first plan once all clusters are led, or some for long enough; then follows
        changes."""
        began = time.monotonic()
        while len(self._terms) < len(self._clusters) or self._admission.is_trying:
            is_late = time.monotonic() - began > FIRST_PLAN_SECONDS
            if self._terms and is_late:
                break
            await asyncio.sleep(0.1)
        while True:
            slots = await run_in_thread(count_slots)
            self._plan(slots)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._appliance.aggregator.refresh_seconds):
                    await self._changed.wait()
            self._changed.clear()

    def _plan(self, slots: int) -> None:
        before = self._posting
        versions = [self._clusters[name].last_version for name in self._terms]
        plan = before.plan if before else Plan(max(versions, default=0))
        wanted = {
            each: partitions
            for each, partitions in self._partitions.items()
            if each.cluster in self._terms and self._admission.has(each)
        }
        planned = plan_loaders(wanted, slots, plan, self._traffic.weights(wanted))
        now, now_ms = time.monotonic(), time.time_ns() // 1_000_000
        orders = {
            feed.name: FeedOrders.of(self._order_log, feed.name, now_ms) for feed in self._feeds
        }
        unconditional = self._admission.unconditional
        posting = FeedPosting(
            planned, slots, dict(self._terms), orders, unconditional=unconditional
        )
        is_over, self._is_epoch_over = self._is_epoch_over, False
        if before is not None:
            if posting == before and not is_over:
                return
            may_wait = not is_over and self._may_wait(posting, before, wanted)
            if may_wait and self._pace.seconds_left(now) > 0:
                return
            if planned is plan:
                posting = replace(posting, plan=plan.renewed())
        self._pace.made(now)
        self._posting = posting
        # Posted first, so that loaders that end because of the command find the plan.
        self._postings.write(posting)
        for name in self._terms:
            self._clusters[name].want(posting.plan.version)
        log.info(
            "event=plan version=%d partitions=%d loaders=%d slots=%d clusters=%d",
            posting.plan.version,
            posting.plan.partitions,
            sum(bool(load) for load in posting.plan.loads.values()),
            slots,
            len(self._terms),
        )

    def _may_wait(
        self, posting: FeedPosting, before: FeedPosting, wanted: Iterable[FeedCluster]
    ) -> bool:
        """Returns True if nothing but partitions, or their loaders, differs, and a new plan would
        end open objects. It is made by a later look."""
        if replace(posting, plan=before.plan) != before:
            return False
        led = {FeedCluster.parse(loader.route) for loader in before.plan.loads}
        has_objects = any(
            isinstance(feed, ObjectFeed) and feed.name in {each.feed for each in led}
            for feed in self._feeds
        )
        return has_objects and led == set(wanted)

    # -- orders

    def _follow_orders(self) -> None:
        loop = asyncio.get_running_loop()

        def receive(orders: OrderLog) -> None:
            self._order_log = orders
            self._heard.set()
            self._changed.set()

        def received_in_thread(orders: OrderLog) -> None:
            with suppress(RuntimeError):  # the daemon has ended meanwhile
                loop.call_soon_threadsafe(receive, orders)

        aggregate = self._appliance.region(self._region).aggregate
        name = ClusterName.aggregate(self._region)
        self._follower = OrderFollower(name, aggregate, received_in_thread)
        self._follower.start()


class Traffic:
    """Records per second of every partition, smoothed."""

    def __init__(self) -> None:
        self._ends: dict[FeedCluster, tuple[float, Mapping[TopicPartition, int]]] = {}
        self._rates: dict[FeedCluster, dict[TopicPartition, float]] = {}

    def look(self, each: FeedCluster, ends: Mapping[TopicPartition, int], now: float) -> None:
        """Notes log ends at a time in seconds."""
        before = self._ends.get(each)
        self._ends[each] = now, ends
        if before is None or now <= before[0]:
            return
        rates = self._rates.setdefault(each, {})
        for partition, end in ends.items():
            if partition in before[1]:
                rate = max(0, end - before[1][partition]) / (now - before[0])
                known = rates.get(partition, rate)
                rates[partition] = KEPT * known + (1 - KEPT) * rate

    def weights(
        self, wanted: Iterable[FeedCluster]
    ) -> dict[FeedCluster, Mapping[TopicPartition, float]]:
        """Returns the rates of the partitions that were seen twice."""
        return {each: self._rates.get(each, {}) for each in wanted}
