"""Drivers of a region in a world: the product's leadership as processes, with a played Spark each.

The shell around a leadership follows the real daemon: prepare, acquire once Spark is warm, keep,
and at the end stop what can still be told. An operator's service manager starts it again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from balancer.decision.settings import CARRIERS_MAX
from balancer.topic_partition import TopicPartition
from replicator.config.topology import Appliance
from replicator.kafka.client.cluster import Fenced
from replicator.mirror.carrier.carrier import carry
from replicator.mirror.carrier.carrier_assembly import MAKERS, Makers, assemble
from replicator.mirror.carrier.receipts import Receipt
from replicator.mirror.driver import driver_leadership
from replicator.mirror.driver.driver_leadership import DriverLeadership
from replicator.mirror.topics.topic_sync import Ends
from replicator.mirror.topics.written_log import WrittenLog
from replicator.notices.conditions import Conditions
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import (
    DEFAULT_STREAM,
    AnyRecord,
    Placed,
    by_carrier,
)
from replicator.orders.status_board import StatusBoard
from replicator.runtime.exit_codes import decisive
from replicator.spark.driver_command import Term, TermSuperseded
from replicator.spark.kept_epochs import end_overdue
from replicator.spark.posting import Posting
from tests.world.blocking import HAS_THREADS
from tests.world.checks.log_reading import LogReading
from tests.world.checks.wrong import Wrong
from tests.world.kafka.admin import ends_of
from tests.world.mirror.balancing import SETTINGS as BALANCE
from tests.world.mirror.balancing import Balancing
from tests.world.mirror.mirroring import ROUTE, Mirroring
from tests.world.mirror.order_topic import OrderTopic, Pairs, WorldFollower, pairs_of
from tests.world.mirror.parts import PARTS, Parts
from tests.world.mirror.played_spark import PlayedSpark, Postings
from tests.world.mirror.standing_orders import StandingOrders
from tests.world.process import CURRENT, Process
from tests.world.world import World

REGION = ROUTE.target
WARM_SECONDS = (0.2, 2.0)
RESTART_SECONDS = (0.5, 4.0)
PUBLISH_SECONDS = 2.0
FIRST_PLAN_SECONDS = 60.0
LINGER_SHARE = 0.6
"""Share of the carriers that outlive the driver that had started them."""


class NoBoard:
    """Status board in a Redis that is away."""

    def show_plan(self, _: ActivePlan) -> None:
        raise ConnectionError("no Redis")


class DriverRun:
    """Run of a driver, from its start to its end.

    Args:
        parts: of the driver.
        ends: returns the admin clients for all routes into a region.
        orders: topic of the orders that it follows.
        shows_plans: in the region's Redis, which takes time.
        spark: takes the run's postings.
        posted: called with the run and each plan that it posts.
        tell: takes lines for the log of the history.
    """

    def __init__(
        self,
        name: str,
        appliance: Appliance,
        dice: random.Random,
        ends: Callable[..., Any],
        parts: Parts,
        orders: OrderTopic,
        shows_plans: bool,
        spark: Callable[[Postings], PlayedSpark],
        posted: Callable[[DriverRun, Posting], object],
        tell: Callable[[str], object],
    ) -> None:
        self.postings = Postings(partial(posted, self))
        self.spark = spark(self.postings)
        self.is_fenced = False
        """True after it has ended because of another driver."""
        self._stop = asyncio.Event()
        self._appliance, self._dice, self._tell = appliance, dice, tell
        self._leadership = DriverLeadership(
            appliance,
            REGION,
            parts.planner(appliance.replicator.carriers_per_route),
            self.postings,
            Conditions(name),
            driver_leadership.Makers(
                ends=ends,
                follower=self._follow,
                board=StatusBoard if shows_plans else lambda *_: NoBoard(),
                topics=parts.topics,
            ),
        )
        self._shows_plans = shows_plans
        self.process = Process(name)
        self._orders, self._parts = orders, parts
        self._follower: WorldFollower | None = None

    @property
    def heard(self) -> StandingOrders:
        """Orders that the driver decides by."""
        return self._follower.told if self._follower else StandingOrders()

    def _follow(self, _: str, __: object, on_change: Callable[[OrderLog], None]) -> WorldFollower:
        self._follower = WorldFollower(self._orders, on_change, self._parts.reader())
        return self._follower

    def start(self) -> None:
        self.process.start(self._main())
        self.process.at_kill.append(lambda: self.spark.abandon(LINGER_SHARE))
        self.spark.start()

    def terminate(self) -> None:
        """Asks the run to end, as SIGTERM does."""
        self._stop.set()

    @property
    def is_running(self) -> bool:
        return not (self.process.is_dead or self.process.has_ended)

    async def _main(self) -> None:
        HAS_THREADS.set(self._shows_plans)
        working = asyncio.ensure_future(self._work())
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            working.cancel()
        await asyncio.wait({working})
        error = None if working.cancelled() else working.exception()
        if error is not None:
            error = decisive(error, (Fenced, TermSuperseded))
            self._tell(f"{self.process.name} ends: {type(error).__name__}: {error}")
            self.is_fenced = isinstance(error, TermSuperseded) or (
                isinstance(error, Fenced) and await self._leadership.has_successor()
            )
        await self._wind_down()

    async def _work(self) -> None:
        await self._leadership.prepare()
        await asyncio.sleep(self._dice.uniform(*WARM_SECONDS))
        await self._leadership.acquire((), self.spark.count_slots)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._leadership.keep())
            tasks.create_task(end_overdue(lambda: self.spark.epoch, self._leadership.end_epoch))

    async def _wind_down(self) -> None:
        try:
            self._leadership.post_stop()
            if not self.is_fenced:
                async with asyncio.timeout(PUBLISH_SECONDS):
                    await self._leadership.stop()
        except Exception as error:
            self._tell(f"{self.process.name} is not heard: {error}")
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._appliance.replicator.drain_seconds + 1.5):
                    await self.spark.idle.wait()
        self.spark.abandon(0.0)
        await self._leadership.close()


class DrivenMirroring(Mirroring):
    """Mirroring whose region has real drivers.

    Args:
        makers: of the carriers' parts.
        parts: of drivers.
        tell: takes lines for the log of the history.
        dice: decides when things happen.
        has_balancers: True lets balancers place partitions, and nobody else.
        topic_settings: settings of the [topics] table.
    """

    def __init__(
        self,
        world: World,
        topics: Sequence[str],
        partitions: int,
        brokers: int,
        *,
        makers: Makers = MAKERS,
        parts: Parts = PARTS,
        tell: Callable[[str], object],
        dice: random.Random,
        has_balancers: bool = False,
        topic_settings: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        balance = BALANCE if has_balancers else {}
        super().__init__(world, topics, partitions, brokers, balance, topic_settings, **settings)
        self._makers, self._parts, self._tell, self._dice = makers, parts, tell, dice
        self.orders = OrderTopic(self.target, dice)
        self.balancing: Balancing | None = None
        if has_balancers:
            self.balancing = Balancing(self.appliance, self.orders, parts, world.loop, dice, tell)
        self._orders_read = LogReading(self.orders.partition, is_stable=True)
        self._standing = StandingOrders()
        self.on_post: list[Callable[[DriverRun, Posting], object]] = []
        """Called with each plan that a driver posts."""
        self.runs: list[DriverRun] = []
        self._first_started = asyncio.Event()
        self.make_written: Callable[[], WrittenLog] = WrittenLog
        """Makes the log of written configs that a driver reads."""
        self.make_clock: Callable[[], float] = lambda: 0.0
        """Returns the seconds by which the clock of the next process is ahead."""
        self.slots = 8
        """Spark tasks that can run at once."""
        self._terms: list[tuple[Process, Term]] = []
        self._generation = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._unwritten: asyncio.Queue[tuple[Pairs, asyncio.Future[None]]] = asyncio.Queue()

    async def begin(self) -> None:
        await self.client.open({place.topic for place in self.places})
        self.start_driver()
        keepers = (self._keep_driver(), self._keep_writing())
        for each in keepers:
            self.background(each)
        if self.balancing:
            self.background(self.balancing.keep())
        async with asyncio.timeout(FIRST_PLAN_SECONDS):
            await self._first_started.wait()

    def start_driver(self) -> DriverRun:
        """Starts a driver, whether or not another one runs."""
        made = DriverRun(
            f"driver {len(self.runs) + 1}",
            self.appliance,
            self._dice,
            self._ends,
            self._parts,
            self.orders,
            self.balancing is not None,
            self._spark,
            self._posted,
            self._tell,
        )
        self.runs.append(made)
        made.process.clock_ahead = self.make_clock()
        made.start()
        return made

    def _ends(self, appliance: Appliance, region: str) -> Ends:
        return replace(ends_of(self.world, appliance, region), written=self.make_written())

    def drivers(self) -> list[DriverRun]:
        """Returns the runs that have not ended, stopped ones too."""
        return [run for run in self.runs if run.is_running]

    def standing(self) -> StandingOrders:
        """Returns the orders that stand in the topic; those known before while it does not
        answer."""
        self._standing = self._standing.after(self.orders.read(self._orders_read) or ())
        return self._standing

    async def place(
        self, loads: Mapping[int, Iterable[TopicPartition]], makers: Makers = MAKERS
    ) -> None:
        """Writes placements of all streams that have these carriers, as the balancer does; the
        driver decides whether an epoch begins."""
        self._generation += 1
        standing = self.standing()
        for name in (DEFAULT_STREAM, *standing.streams):
            first = standing.first_carrier(name)
            own = {it: loads[it] for it in loads if first <= it < first + CARRIERS_MAX}
            if own:
                self.order([self._placed(name, own)])

    def _placed(self, stream: str, loads: Mapping[int, Iterable[TopicPartition]]) -> Placed:
        where = [(place, number) for number, some in loads.items() for place in some]
        return Placed(
            route=ROUTE.key,
            at_ms=0,
            who="balancer",
            stream=stream,
            generation=self._generation,
            carriers=tuple(sorted(loads)),
            topics=by_carrier(where),
        )

    def order(
        self, records: Iterable[AnyRecord] = (), tombstones: Iterable[bytes] = ()
    ) -> asyncio.Future[None]:
        """Writes records and tombstones behind those before; the future ends once they stand."""
        return self.write(pairs_of(records, tombstones))

    def write(self, pairs: Pairs) -> asyncio.Future[None]:
        """Writes keys and values in the same way, whether or not anybody can follow them."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unwritten.put_nowait((pairs, done))
        return done

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs work until it ends or the mirroring is closed; an error of it ends the history."""
        self._tasks.append(self.world.loop.in_background(work))

    async def _keep_writing(self) -> None:
        while True:
            pairs, done = await self._unwritten.get()
            await self.orders.write(pairs)
            done.set_result(None)

    def _posted(self, run: DriverRun, posting: Posting) -> None:
        for act in self.on_post:
            act(run, posting)

    def outdated(self) -> list[str]:
        """Returns the carriers that run for a driver that has a successor."""
        # The coordinator gives a forgotten id another producer id, which is higher in this world.
        newest = max(((term.producer_id, term.epoch) for _, term in self._terms), default=(0, 0))
        return [
            f"{process.name} still runs"
            for process, term in self._terms
            if (term.producer_id, term.epoch) < newest
            and not (process.is_dead or process.has_ended)
        ]

    def mend(self) -> None:
        super().mend()
        if self.balancing:
            self.balancing.mend()
        for run in self.drivers():
            if run.process.is_stopped:
                run.process.resume()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self.balancing:
            await self.balancing.close()
        for run in self.drivers():
            run.process.kill()
        mains = [run.process.main for run in self.runs if run.process.main]
        await asyncio.gather(*mains, return_exceptions=True)
        await super().close()

    def _spark(self, postings: Postings) -> PlayedSpark:
        return PlayedSpark(
            self.appliance,
            postings,
            self._dice,
            self._carry,
            self._started,
            lambda: self.slots,
        )

    async def _carry(self, *args: Any, **options: Any) -> list[Receipt]:
        """Runs a carrier once; an error that no carrier may end with ends the history."""
        try:
            make_session = partial(assemble, makers=self._makers)
            return await carry(*args, make_session=make_session, **options)
        except TermSuperseded:
            raise
        except Exception as error:
            process = CURRENT.get()
            if process is not None and not process.is_dead:
                text = f"{process.name} fails: {type(error).__name__}: {error}"
                self.world.loop.fail(Wrong(text))
            raise

    def _started(self, process: Process, term: Term) -> None:
        process.clock_ahead = self.make_clock()
        self.carriers.append(process)
        self._first_started.set()
        self._terms.append((process, term))

    async def _keep_driver(self) -> None:
        """Starts a driver whenever none runs, as a service manager does."""
        while True:
            await asyncio.sleep(0.1)
            if not self.drivers():
                await asyncio.sleep(self._dice.uniform(*RESTART_SECONDS))
                self.start_driver()
