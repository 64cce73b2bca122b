"""Leadership of the driver: its term, the topics of its region, its plans and its commands."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from balancer.carrier_plan import Plan
from replicator.config.cluster_name import ClusterName
from replicator.config.names import driver_id
from replicator.config.topology import Appliance, KafkaCluster, Route
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.client import trouble_watch
from replicator.kafka.client.cluster import Answered, Cluster, Fenced, ProducerStateLost
from replicator.mirror.driver.active_plan_publisher import ActivePlanPublisher, Board
from replicator.mirror.driver.adoption import Adoption
from replicator.mirror.driver.own_topics import make_own_topics
from replicator.mirror.driver.paused import paused_subjects
from replicator.mirror.driver.planner import Planned, Planner
from replicator.mirror.driver.posted_plan import PostedPlan
from replicator.mirror.ledger.ledger import Ledger
from replicator.mirror.topics.topic_plan import Carried
from replicator.mirror.topics.topic_sync import Ends, TopicSync, by_route
from replicator.notices.condition import Kind, Subject
from replicator.notices.conditions import Conditions
from replicator.orders.order_follower import Follower, OrderFollower
from replicator.orders.order_log import OrderLog
from replicator.orders.status_board import StatusBoard
from replicator.runtime.run_in_thread import run_in_thread
from replicator.spark.driver_command import read_command
from replicator.spark.driver_term import DriverTerm
from replicator.spark.posting import Posting

log = logging.getLogger(__name__)

FIRST_ORDERS_SECONDS = 15.0


class Postings(Protocol):
    """Place in which postings are left."""

    def write(self, posting: Posting, /) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Makers:
    """Makers of the parts that reach servers in threads of their own.

    Args:
        ends: returns the admin clients for all routes into a region.
        follower: takes a cluster's name, its settings, and what to call with each order log.
        board: takes the URL of a region's Redis, and the region.
        topics: makes the sync of topics, of what TopicSync takes.
    """

    ends: Callable[[Appliance, str], Ends] = Ends.of
    follower: Callable[[str, KafkaCluster, Callable[[OrderLog], None]], Follower] = OrderFollower
    board: Callable[[str, str], Board] = StatusBoard
    topics: Callable[..., TopicSync] = TopicSync


MAKERS = Makers()


class DriverLeadership:
    """A driver's leadership: prepared first, then acquired, then kept, and stopped at the end.

    Args:
        region: the target region.
        planner: makes plans from the decisions of balancer and operators.
        postings: file in which plans are left for the epoch runner.
        conditions: where this driver notes why something is not carried.
        makers: of the parts that reach servers in threads.
    """

    def __init__(
        self,
        appliance: Appliance,
        region: str,
        planner: Planner,
        postings: Postings,
        conditions: Conditions,
        makers: Makers = MAKERS,
    ):
        settings = appliance.replicator
        self._appliance = appliance
        self._region = region
        self._planner = planner
        self._postings = postings
        self._routes = appliance.routes_into(region)
        self._conditions = conditions
        self._topics = makers.topics(appliance, region, conditions, makers.ends(appliance, region))
        self._target = Cluster(
            ClusterName.aggregate(region),
            appliance.region(region).aggregate,
            client_id=f"sluice-driver-{region}",
            request_timeout_ms=settings.request_timeout_ms,
            idle_seconds=settings.connections_idle_seconds,
        )
        self._driver = DriverTerm(self._target, driver_id(region), settings.transaction_timeout_ms)
        self._carried: Sequence[Carried] = ()
        self._needs: dict[str, int] = {}
        self._adoption: Adoption | None = None
        self._count_slots: Callable[[], int] = lambda: 1
        self._last_version = 0
        self._posted: PostedPlan | None = None
        self._is_published = False
        self._is_epoch_over = False
        self._plan_publisher = ActivePlanPublisher(
            lambda: makers.board(appliance.region(region).redis_url(), region)
        )
        self._make_follower = makers.follower
        self._order_log = OrderLog()
        self._orders_changed = asyncio.Event()
        self._order_follower: Follower | None = None

    async def prepare(self) -> None:
        """Does everything that can be done while another driver may still lead.

        Raises:
            AdminError, Unreachable: the target does not answer, or refuses.
        """
        replicas = self._appliance.topics.replication_factor
        target = self._topics.target
        await run_in_thread(make_own_topics, target, self._routes, replicas)
        self._follow_orders()
        self._carried = await run_in_thread(self._topics.round)
        await self._target.open()
        # Without the balancer's placements partitions are placed by count, and would move later.
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_ORDERS_SECONDS):
                await self._orders_changed.wait()

    async def acquire(self, trusted: Collection[Route], count_slots: Callable[[], int]) -> None:
        """Acquires the leadership, adopts what is new, and publishes the first plan.

        From the first step on, the driver before is fenced.

        Args:
            trusted: routes whose partitions are adopted although they are not empty.
            count_slots: returns how many Spark tasks can run at once.
        """
        self._count_slots = count_slots
        term = await self._driver.open()
        log.info("event=term producer_id=%d epoch=%d", term.producer_id, term.epoch)
        before = await read_command(self._target, driver_id(self._region))
        self._last_version = before.plan_version if before else 0
        self._adoption = Adoption(
            cluster=self._target,
            admin=self._topics.target,
            driver=self._driver,
            routes=self._routes,
            trusting=trusted,
            conditions=self._conditions,
            begins=self._topics.begins if self._appliance.topics.start == "latest" else None,
        )
        await self._plan_for(self._carried)

    async def keep(self) -> None:
        """Follows topics and orders, and checks that this driver still leads.

        Raises:
            TermSuperseded, Fenced: a newer driver leads.
            ProducerStateLost: the coordinator has forgotten this driver's id.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_planning())
            tasks.create_task(self._driver.keep_checking())
            tasks.create_task(self._plan_publisher.keep())

    def end_epoch(self) -> None:
        """Has the plan posted anew, with which another epoch begins."""
        self._is_epoch_over = True
        self._orders_changed.set()

    async def stop(self) -> None:
        """Posts and publishes stop: carriers drain, release and end.

        Does nothing before the first plan is posted, as there are no carriers.
        """
        if self._posted:
            await self._post(self._posted.stopped())

    def post_stop(self) -> None:
        """Posts stop without publishing it, so that no further epoch begins.

        Carriers may follow another driver's command by now.
        """
        if self._posted:
            self._postings.write(self._posted.stopped().posting)

    async def close(self) -> None:
        if self._order_follower:
            self._order_follower.stop()
        await self._target.close()

    async def has_successor(self) -> bool:
        """Returns True when another driver publishes a command soon, or has done so."""
        return await self._driver.has_successor()

    async def report_target_trouble(self) -> None:
        """Logs problems of the target that last. Runs until cancelled."""
        await trouble_watch.watch(
            self._target, lambda text: log.warning("event=target-trouble %s", text)
        )

    def _follow_orders(self) -> None:
        loop = asyncio.get_running_loop()

        def receive(orders: OrderLog) -> None:
            self._order_log = orders
            self._orders_changed.set()

        def received_in_thread(orders: OrderLog) -> None:
            with suppress(RuntimeError):  # the daemon has ended meanwhile
                loop.call_soon_threadsafe(receive, orders)

        aggregate = self._appliance.region(self._region).aggregate
        self._order_follower = self._make_follower(
            ClusterName.aggregate(self._region), aggregate, received_in_thread
        )
        self._order_follower.start()

    async def _keep_planning(self) -> None:
        """Describes topics periodically, and plans at once after an order or a placement."""
        refresh_at = time.monotonic() + self._appliance.topics.refresh_seconds
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, refresh_at - time.monotonic())):
                    await self._orders_changed.wait()
            self._orders_changed.clear()
            is_refresh = time.monotonic() >= refresh_at
            try:
                if is_refresh:
                    refresh_at = time.monotonic() + self._appliance.topics.refresh_seconds
                    self._carried = await self._sync_topics()
                await self._plan_for(self._carried)
                # A plan after an order asks nobody for topics.
                if is_refresh:
                    self._conditions.replace(Kind.TOPICS_UNKNOWN, {})
            except (Fenced, ProducerStateLost):
                # Another driver leads, or the coordinator has forgotten this one: only a new run
                # leads again.
                raise
            except (AdminError, Answered) as error:
                # Partitions that are carried continue; only new ones have to wait.
                log.error("event=topics-unknown %s", error)
                cluster = ClusterName.aggregate(self._region)
                about = Subject(cluster=cluster)
                self._conditions.replace(Kind.TOPICS_UNKNOWN, {about: str(error)})

    async def _sync_topics(self) -> Sequence[Carried]:
        """Returns the topics that can be carried, once the target's are as their sources' are.

        Lowered configs are set once the ledger says that what the sources had is mirrored. The
        ledger also names the records that need a higher limit of a batch.
        """
        carried = await run_in_thread(self._topics.round, self._needs)
        # Read after the round, which says so when the target does not answer.
        before, self._needs = self._needs, await self._read_needs(carried)
        mirrored = {
            route: {
                place: entry.source_offset
                for place, entry in (await Ledger(self._target, route).read(places)).items()
                if not entry.parked
            }
            for route, places in self._topics.awaited().items()
        }
        if self._topics.advance(mirrored) or self._needs != before:
            carried = await run_in_thread(self._topics.round, self._needs)
        return carried

    async def _read_needs(self, carried: Sequence[Carried]) -> dict[str, int]:
        """Returns, by topic, the limit of a batch that the next record of some partition needs."""
        found: dict[str, int] = {}
        for route in self._routes:
            places = by_route([route], [it for it in carried if it.route == route])[route.key]
            for topic, size in (await Ledger(self._target, route).needs(places)).items():
                found[topic] = max(size, found.get(topic, 0))
        return found

    def _paused(self, planned: Planned, now_ms: int) -> dict[Subject, str]:
        found: dict[Subject, str] = {}
        for route in self._routes:
            partitions = planned.paused.get(route.key, ())
            found |= paused_subjects(route, partitions, self._order_log, now_ms)
        return found

    async def _plan_for(self, carried: Sequence[Carried]) -> None:
        """Adopts what is new, and posts the next plan if it is another one."""
        assert self._adoption is not None
        await self._adoption.adopt(carried)
        self._driver.renew_within(self._adoption.renewal_seconds)
        slots = await run_in_thread(self._count_slots)
        before, now_ms = self._posted, time.time_ns() // 1_000_000
        planned = self._planner.plan(
            by_route(self._routes, carried),
            slots,
            # Versions continue after those of the driver before: receipts tell plans apart by
            # version.
            before.posting.plan if before else Plan(self._last_version),
            self._order_log,
            now_ms,
        )
        self._conditions.replace(Kind.PAUSED, self._paused(planned, now_ms))
        posting = Posting(
            planned.plan,
            slots,
            self._driver.term,
            self._topics.limits,
            refusing=self._topics.refusing,
        )
        if before is None:
            posted = PostedPlan.of_new_epoch(posting)
        else:
            posted = before.anew(posting) if self._is_epoch_over else before.next(posting)
        self._is_epoch_over = False
        if posted is not before:
            await self._post(posted)
        elif not self._is_published:
            await self._publish(posted)
        self._plan_publisher.show(replace(planned, plan=posted.posting.plan), slots)

    async def _post(self, posted: PostedPlan) -> None:
        """Posts a plan, then publishes it, so that carriers that end because of it find it."""
        self._posted = posted
        posting = posted.posting
        self._postings.write(posting)
        await self._publish(posted)
        log.info(
            "event=plan version=%d partitions=%d carriers=%d slots=%d stop=%s epoch=%s",
            posting.plan.version,
            posting.plan.partitions,
            len(posting.plan.loads),
            posting.slots,
            posting.stop,
            "new" if posted.begins_epoch else "goes-on",
        )

    async def _publish(self, posted: PostedPlan) -> None:
        """Publishes the posted plan; after a failure, the next round of planning does so again."""
        self._is_published = False
        posting = posted.posting
        await self._driver.publish(posting.plan.version, stop=posting.stop, delta=posted.delta)
        self._is_published = True
