"""Leadership of the driver: its term, the topics it looks after, its plans and its commands."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace

from balancer.plan import CarrierId, Plan
from replicator.config.topology import Appliance, Route
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.client import trouble_watch
from replicator.kafka.client.cluster import Answered, Cluster, Fenced
from replicator.mirror.driver.active_plan_publisher import ActivePlanPublisher
from replicator.mirror.driver.adoption import Adoption
from replicator.mirror.driver.own_topics import make_own_topics
from replicator.mirror.driver.planner import Planner
from replicator.mirror.topics.topic_plan import Carried
from replicator.mirror.topics.topic_sync import TopicSync, by_route
from replicator.orders.order_follower import OrderFollower
from replicator.orders.order_log import OrderLog
from replicator.runtime.run_in_thread import run_in_thread
from replicator.spark.driver_command import Driver, TermSuperseded, read_command
from replicator.spark.posting import Posting, PostingFile, needs_new_epoch
from replicator.spark.reassignment_delta import ReassignmentDelta, busy_carriers, extended_delta

log = logging.getLogger(__name__)

CHECK_SECONDS = 2.0
HEAR_SECONDS = 0.2
HEAR_FIRST_SECONDS = 15.0
# Brokers forget ids and commits that are not used for a week.
SAY_AGAIN_SECONDS = 3600.0
# A driver that acquires the leadership adopts new partitions before its first command.
SUCCESSOR_SECONDS = 20.0


class DriverLeadership:
    """A driver's leadership: prepared first, then acquired, then kept, and stopped at the end.

    Args:
        region: the target region.
        planner: makes plans from the decisions of balancer and operators.
        postings: file in which plans are left for the stream's reader.
    """

    def __init__(self, appliance: Appliance, region: str, planner: Planner, postings: PostingFile):
        settings = appliance.replicator
        self._appliance = appliance
        self._region = region
        self._planner = planner
        self._postings = postings
        self._routes = appliance.routes_into(region)
        self._topics = TopicSync(appliance, region)
        self._target = Cluster(
            f"{region} aggregate",
            appliance.region(region).aggregate,
            client_id=f"sluice-driver-{region}",
            request_timeout_ms=settings.request_timeout_ms,
            idle_seconds=settings.connections_idle_seconds,
        )
        self._driver = Driver(self._target, region, settings.transaction_timeout_ms)
        self._carried: Sequence[Carried] = ()
        self._adoption: Adoption | None = None
        self._count_slots: Callable[[], int] = lambda: 1
        self._last_version = 0
        self._posting: Posting | None = None
        self._is_said = False
        self._delta = ReassignmentDelta(0)
        self._running: frozenset[CarrierId] = frozenset()
        self._showing = ActivePlanPublisher(appliance, region)
        self._book = OrderLog()
        self._heard = asyncio.Event()
        self._following: OrderFollower | None = None

    async def prepare(self) -> None:
        """Does everything that can be done while another driver may still lead.

        Raises:
            AdminError, Unreachable: the target does not answer, or refuses.
        """
        replicas = self._appliance.topics.replication_factor
        target = self._topics.target
        await run_in_thread(make_own_topics, target, self._routes, replicas)
        self._follow()
        self._carried = await run_in_thread(self._topics.round)
        await self._target.open()
        # Without the balancer's placements partitions are placed by count, and would move later.
        with suppress(TimeoutError):
            async with asyncio.timeout(HEAR_FIRST_SECONDS):
                await self._heard.wait()

    async def take(self, trusted: Collection[Route], count_slots: Callable[[], int]) -> None:
        """Acquires the leadership, adopts what is new, and publishes the first plan.

        From the first step on, the driver before is fenced.

        Args:
            trusted: routes whose partitions are adopted although they are not empty.
            count_slots: returns how many Spark tasks can run at once.
        """
        self._count_slots = count_slots
        term = await self._driver.open()
        log.info("event=term producer_id=%d epoch=%d", term.producer_id, term.epoch)
        before = await read_command(self._target, self._region)
        self._last_version = before.plan_version if before else 0
        self._adoption = Adoption(
            cluster=self._target,
            admin=self._topics.target,
            driver=self._driver,
            routes=self._routes,
            trusting=trusted,
        )
        await self._plan_for(self._carried)

    async def keep(self) -> None:
        """Looks at topics again and again, and checks that this driver still leads.

        Raises:
            TermSuperseded, Fenced: a newer driver leads.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_planning())
            tasks.create_task(self._keep_checking())
            tasks.create_task(self._showing.keep())

    async def stop(self) -> None:
        """Posts and publishes stop: carriers drain, release and end.

        Does nothing before the first plan is posted, as there are no carriers.
        """
        if self._posting:
            await self._post(replace(self._posting, stop=True))

    def post_stop(self) -> None:
        """Posts stop without publishing it, so that no further epoch begins.

        Carriers may follow another driver's command by now.
        """
        if self._posting:
            self._postings.write(replace(self._posting, stop=True))

    async def close(self) -> None:
        if self._following:
            self._following.stop()
        await self._target.close()

    async def has_successor(self) -> bool:
        """Returns True when another driver publishes a command within SUCCESSOR_SECONDS, or has
        done so.

        A transaction of our own that timed out looks like a fence as well: the coordinator aborts
        it under a newer epoch.
        """
        with suppress(TimeoutError, Answered):
            async with asyncio.timeout(SUCCESSOR_SECONDS):
                while True:
                    word = await read_command(self._target, self._region)
                    ours = self._driver.term
                    if word and word.term != ours and not word.term.is_before(ours):
                        return True
                    await asyncio.sleep(HEAR_SECONDS)
        return False

    async def complain(self) -> None:
        """Logs problems of the target that last. Runs until cancelled."""
        await trouble_watch.watch(
            self._target, lambda text: log.warning("event=target-trouble %s", text)
        )

    def _follow(self) -> None:
        loop = asyncio.get_running_loop()

        def hear(book: OrderLog) -> None:
            self._book = book
            self._heard.set()

        def heard(book: OrderLog) -> None:
            with suppress(RuntimeError):  # the daemon has ended meanwhile
                loop.call_soon_threadsafe(hear, book)

        aggregate = self._appliance.region(self._region).aggregate
        self._following = OrderFollower(f"{self._region} aggregate", aggregate, heard)
        self._following.start()

    async def _keep_planning(self) -> None:
        """Looks at topics now and then, and plans at once after an order or a placement."""
        look_at = time.monotonic() + self._appliance.topics.refresh_seconds
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, look_at - time.monotonic())):
                    await self._heard.wait()
            self._heard.clear()
            try:
                if time.monotonic() >= look_at:
                    look_at = time.monotonic() + self._appliance.topics.refresh_seconds
                    self._carried = await run_in_thread(self._topics.round)
                await self._plan_for(self._carried)
            except Fenced:
                raise
            except (AdminError, Answered) as error:
                # Partitions that are carried continue; only new ones have to wait.
                log.error("event=topics-unknown %s", error)

    async def _plan_for(self, carried: Sequence[Carried]) -> None:
        assert self._adoption is not None
        await self._adoption.adopt(carried)
        slots = await run_in_thread(self._count_slots)
        # Versions continue after those of the driver before: receipts tell plans apart by version.
        before = self._posting.plan if self._posting else Plan(self._last_version)
        now_ms = time.time_ns() // 1_000_000
        wanted = by_route(self._routes, carried)
        planned = self._planner.plan(wanted, slots, before, self._book, now_ms)
        plan = planned.plan
        limits = self._topics.limits
        posting = Posting(plan, slots, self._driver.term, limits)
        if self._posting and plan.version == before.version:
            if not needs_new_epoch(self._posting, posting):
                if not self._is_said:
                    await self._say()
                self._showing.show(planned, slots)
                return
            await self._post(replace(posting, plan=plan.renewed()))
        elif delta := self._goes_on(posting):
            await self._post(posting, delta)
        else:
            await self._post(posting)
        self._showing.show(replace(planned, plan=self._posted.plan), slots)

    def _goes_on(self, posting: Posting) -> ReassignmentDelta | None:
        """Returns the delta from the posted plan to the next; None: a new epoch is needed."""
        before = self._posting
        if before is None or needs_new_epoch(before, posting):
            return None
        return extended_delta(self._delta, before.plan, posting.plan, self._running, posting.limits)

    async def _post(self, posting: Posting, delta: ReassignmentDelta | None = None) -> None:
        """Posts a plan, then publishes it, so that carriers that end because of it find it.

        Args:
            delta: delta by which the running carriers reach the plan; without it their epoch ends.
        """
        busy_now = busy_carriers(posting.plan)
        self._running = self._running & busy_now if delta else busy_now
        self._delta = delta or ReassignmentDelta(posting.plan.version)
        self._posting = posting
        self._postings.write(posting)
        await self._say()
        log.info(
            "event=plan version=%d partitions=%d carriers=%d slots=%d stop=%s epoch=%s",
            posting.plan.version,
            posting.plan.partitions,
            len(posting.plan.loads),
            posting.slots,
            posting.stop,
            "goes-on" if delta else "new",
        )

    async def _say(self) -> None:
        """Publishes the posted plan; after a failure, the next round of planning does so again."""
        posting, self._is_said = self._posted, False
        await self._driver.publish(posting.plan.version, stop=posting.stop, delta=self._delta)
        self._is_said = True

    @property
    def _posted(self) -> Posting:
        assert self._posting is not None
        return self._posting

    async def _keep_checking(self) -> None:
        said_at = time.monotonic()
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            word = await read_command(self._target, self._region)
            if word and word.term != self._driver.term:
                raise TermSuperseded(f"it has {word.term}, this one had {self._driver.term}")
            if time.monotonic() - said_at > SAY_AGAIN_SECONDS and self._posting:
                await self._driver.publish(self._posting.plan.version, delta=self._delta)
                said_at = time.monotonic()
