"""Rounds of all streams of all routes into one region: when they run, and how results are
written."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any

from balancer.demand.load_model import Factors
from balancer.plan import TopicPartition
from replicator.config.topology import Appliance, Route
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import DEFAULT_STREAM, AnyRecord
from replicator.orders.round_status import RoundStatus
from replicator.orders.status_board import StatusBoard
from replicator.placement.rounds.calibration import Calibration
from replicator.placement.rounds.route_settings import OPENED, UNOPENED
from replicator.placement.rounds.source_watch import SourceWatch
from replicator.placement.rounds.stream_round import Outcome, Scene, StreamRound, label
from replicator.placement.rounds.throughput_watch import ThroughputWatch
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.run_in_thread import run_in_thread
from replicator.runtime.store_errors import StoreUnreachable

log = logging.getLogger(__name__)

Write = Callable[[tuple[AnyRecord, ...], tuple[bytes, ...]], Awaitable[None]]


class Rounds:
    """Collects round inputs, decides, and writes placements.

    Args:
        who: writer of the records.
    """

    def __init__(self, appliance: Appliance, region: str, who: str) -> None:
        self._who = who
        self._settings = appliance.balance
        self._routes = appliance.routes_into(region)
        url = appliance.region(region).redis_url()
        self._board = StatusBoard(url, region)
        self._report_stores = {route: OffsetStore(url, route.key) for route in self._routes}
        self._watches = {route: SourceWatch(appliance, route) for route in self._routes}
        self._files = {
            route: ThroughputWatch(self._settings.throughput_file, route.source)
            for route in self._routes
        }
        self._calibrations = {route: Calibration() for route in self._routes}
        self._observed_at: dict[Route, float] = {}
        self._streams: dict[tuple[Route, str], StreamRound] = {}
        self._statuses: dict[tuple[Route, str], RoundStatus] = {}
        self._book: OrderLog | None = None
        self._in_force: ActivePlan | None = None
        self._partitions: dict[Route, frozenset[TopicPartition]] = {}
        self._decided_upon: object = None
        self._round_at = 0.0
        self._logged_once = ReportOnce()
        self._said: dict[str, set[str]] = {}
        self.happened = asyncio.Event()
        """Set when records of the order log arrive, so that the daemon calls `tick` at once."""

    @property
    def statuses(self) -> tuple[RoundStatus, ...]:
        """Status of the last round of each stream."""
        return tuple(self._statuses.values())

    def hear(self, book: OrderLog) -> None:
        """Receives a new state of the order log."""
        self._book = book
        self.happened.set()

    async def keep_looking(self) -> None:
        """Looks at the sources until canceled."""
        async with asyncio.TaskGroup() as tasks:
            for watch in self._watches.values():
                tasks.create_task(watch.keep())

    async def tick(self, write: Write) -> None:
        """Runs a round of every stream if one is due or an input has changed.

        Raises Superseded.
        """
        self.happened.clear()
        await self._see_driver()
        if self._book is None or self._in_force is None:
            return
        now = time.monotonic()
        upon = self._upon(self._book, self._in_force)
        first_looks = [watch.has_first_look() for watch in self._watches.values()]
        has_looked = any(first_looks)
        if upon == self._decided_upon and now < self._round_at and not has_looked:
            return
        self._decided_upon = upon
        self._round_at = now + self._settings.round_seconds
        for route in self._routes:
            if self._watches[route].is_loaded:
                await self._round(route, self._book, self._in_force, write)
            else:
                self._decided_upon = None
        await self._show()

    async def close(self) -> None:
        """Closes all connections to sources and to Redis."""
        async with AsyncExitStack() as connections:
            connections.callback(self._board.close)
            for store in self._report_stores.values():
                connections.callback(store.close)
            for watch in self._watches.values():
                connections.push_async_callback(watch.close)

    # -- inputs

    async def _see_driver(self) -> None:
        """Reads the driver's active plan. The last one read stays in use while none can be read."""
        try:
            found = await run_in_thread(self._board.plan)
        except (StoreUnreachable, ValueError) as error:
            if self._logged_once.is_news("driver"):
                log.warning("event=driver-unseen %s", error)
            return
        self._logged_once.settle("driver")
        if found is None or found is self._in_force:
            return
        self._in_force = found
        self._partitions = {route: found.partitions(route.key) for route in self._routes}
        for route, watch in self._watches.items():
            watch.want(self._partitions[route])

    def _upon(self, book: OrderLog, in_force: ActivePlan) -> object:
        """Returns the inputs whose change starts a round at once: orders, partitions and task
        slots."""
        now_ms = time.time_ns() // 1_000_000
        orders = [record for route in self._routes for record in book.orders(route.key, now_ms)]
        return orders, self._partitions, in_force.slots

    async def _reports(self, route: Route) -> Mapping[TopicPartition, PartitionReport]:
        try:
            found: Any = await run_in_thread(self._report_stores[route].reports)
        except (StoreUnreachable, ValueError) as error:
            log.warning("event=reports-unread route=%s %s", route, error)
            return {}
        return {TopicPartition(topic, number): it for (_, topic, number), it in found.items()}

    def _costs(
        self, route: Route, reports: Iterable[PartitionReport], now: float
    ) -> tuple[Factors, Factors]:
        calibration = self._calibrations[route]
        seconds = now - self._observed_at.get(route, now)
        self._observed_at[route] = now
        if seconds > 0:
            calibration.observe(reports, now, seconds)
        return calibration.factors(UNOPENED, OPENED)

    # -- decisions

    async def _round(
        self, route: Route, book: OrderLog, in_force: ActivePlan, write: Write
    ) -> None:
        now_ms = time.time_ns() // 1_000_000
        watch = self._watches[route]
        reports = await self._reports(route)
        topics = {each.topic for each in self._partitions[route]}
        throughput = await run_in_thread(self._files[route].throughput, topics)
        scene = Scene(
            now_ms=now_ms,
            book=book,
            in_force=in_force,
            rates=watch.rates(now_ms),
            fresh=watch.fresh(now_ms),
            reports=reports,
            degraded=watch.degraded(now_ms),
            measured=self._costs(route, reports.values(), now_ms / 1000),
            throughput=throughput,
        )
        names = {DEFAULT_STREAM, *(each.name for each in book.streams(route.key, now_ms))}
        for gone in {key for key in self._streams if key[0] == route and key[1] not in names}:
            del self._streams[gone]
            self._statuses.pop(gone, None)
        for name in sorted(names):
            stream = self._streams.get((route, name))
            if stream is None:
                stream = StreamRound(self._settings, route, name, self._who)
                self._streams[route, name] = stream
            try:
                outcome = await run_in_thread(stream.round, scene)
            except Exception:
                # The other streams still get their rounds.
                log.exception("event=round-failed stream=%s", label(route, name))
                continue
            try:
                if outcome.records or outcome.taken_back:
                    await write(outcome.records, outcome.taken_back)
            except (AdminError, LogUnreadable) as error:
                log.warning("event=not-placed stream=%s %s", label(route, name), error)
                # The outcome is unknown. The next round starts from what the log holds then.
                del self._streams[route, name]
                continue
            stream.written(outcome)
            self._statuses[route, name] = outcome.status
            self._say(label(route, name), outcome)

    def _say(self, name: str, outcome: Outcome) -> None:
        status, placement = outcome.status, outcome.placement
        for alert in status.alerts:
            # Its numbers change in every round, so it is logged only when it begins.
            if alert.name not in self._said.get(name, ()):
                log.warning("event=alert stream=%s alert=%r %s", name, alert.name, alert.text)
        self._said[name] = {alert.name for alert in status.alerts}
        if placement:
            log.info(
                "event=placed stream=%s generation=%d partitions=%d carriers=%d moves=%d "
                "heaviest=%.4f bound=%.4f certificate=%s because=%r",
                name,
                status.generation,
                status.partitions,
                len(status.loads),
                len(placement.moves),
                max(status.loads.values(), default=0.0),
                placement.bound,
                placement.certificate,
                "; ".join(status.triggers),
            )

    async def _show(self) -> None:
        try:
            await run_in_thread(self._board.show_rounds, list(self._statuses.values()))
        except StoreUnreachable as error:
            log.warning("event=not-shown %s", error)
