"""Rounds of all streams of all routes into one region: when they run, and how results are
written."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Appliance, Route
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import DEFAULT_STREAM, UPTIME_MS_MAX, AnyRecord, Uptime
from replicator.orders.round_status import RoundStatus
from replicator.placement.rounds.calibration import Calibration
from replicator.placement.rounds.connections import BalancerConnections
from replicator.placement.rounds.round_schedule import RoundSchedule
from replicator.placement.rounds.route_inputs import Reports
from replicator.placement.rounds.route_settings import COSTS_DEFAULT
from replicator.placement.rounds.route_snapshot import RouteSnapshot
from replicator.placement.rounds.stream_round import Outcome, StreamRound
from replicator.runtime.clock import monotonic
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.run_in_thread import run_in_thread
from replicator.runtime.store_errors import StoreUnreachable

log = logging.getLogger(__name__)

Write = Callable[[tuple[AnyRecord, ...], tuple[bytes, ...]], Awaitable[None]]
"""Writes records and tombstones in one transaction."""


class Rounds:
    """Rounds of one region: reads the inputs, decides, and writes placements.

    Args:
        who: name of the balancer in the records that it writes.
        connections: closed with the rounds; None: those of the configuration.
        clock: monotonic time in seconds.
    """

    def __init__(
        self,
        appliance: Appliance,
        region: str,
        who: str,
        connections: BalancerConnections | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        connections = connections or BalancerConnections(appliance, region)
        self._who, self._clock = who, clock
        self._settings = appliance.balance
        self._routes = appliance.routes_into(region)
        self._status_board = connections.status_board()
        self._inputs = {route: connections.route_inputs(route) for route in self._routes}
        self._region = region
        self._uptime: tuple[int, float] | None = None
        """Uptime of earlier balancers in milliseconds, and when ours began, in monotonic seconds;
        None until the order log is read."""
        self._calibrations = {route: Calibration() for route in self._routes}
        self._schedule = RoundSchedule(self._settings.round_seconds)
        self._streams: dict[tuple[Route, str], StreamRound] = {}
        self._statuses: dict[tuple[Route, str], RoundStatus] = {}
        self._order_log: OrderLog | None = None
        self._active_plan: ActivePlan | None = None
        self._plan_seen_at = 0.0
        """Monotonic time at which this plan of the driver was seen first, in seconds."""
        self._partitions: dict[Route, frozenset[TopicPartition]] = {}
        self._logged_once = ReportOnce()
        self._logged_alerts: dict[str, set[str]] = {}
        self.orders_changed = asyncio.Event()
        """Set when records of the order log arrive, so that the daemon calls `tick` at once."""

    @property
    def statuses(self) -> tuple[RoundStatus, ...]:
        """Status of the last round of each stream."""
        return tuple(self._statuses.values())

    def update_orders(self, order_log: OrderLog) -> None:
        """Replaces the order log that the next rounds decide from."""
        self._order_log = order_log
        if self._uptime is None:
            self._uptime = order_log.uptime_ms(), self._clock()
        self.orders_changed.set()

    def renewed(self) -> tuple[AnyRecord, ...]:
        """Returns the records that are written with each renewal of the lease."""
        if self._uptime is None:
            return ()
        at_ms = time.time_ns() // 1_000_000
        found = Uptime(route=self._region, at_ms=at_ms, who=self._who, uptime_ms=self._uptime_ms())
        return (found,)

    async def watch_sources(self) -> None:
        """Measures the traffic of the sources until canceled."""
        async with asyncio.TaskGroup() as tasks:
            for inputs in self._inputs.values():
                tasks.create_task(inputs.source.run())

    async def tick(self, write: Write) -> None:
        """Runs a round of every stream if one is due or an input has changed.

        Raises Superseded.
        """
        self.orders_changed.clear()
        await self._refresh_active_plan()
        if self._order_log is None or self._active_plan is None:
            return
        first_looks = [inputs.source.has_first_look() for inputs in self._inputs.values()]
        changing = self._changing_inputs(self._order_log, self._active_plan)
        if not self._schedule.is_due(changing, self._clock(), is_urgent=any(first_looks)):
            return
        for route, inputs in self._inputs.items():
            if inputs.source.is_loaded:
                await self._run_route(route, self._order_log, self._active_plan, write)
            else:
                self._schedule.repeat()
        await self._publish_statuses()

    async def close(self) -> None:
        """Closes all connections to sources and to Redis."""
        async with AsyncExitStack() as connections:
            connections.callback(self._status_board.close)
            for inputs in self._inputs.values():
                connections.push_async_callback(inputs.aclose)

    # -- inputs

    async def _refresh_active_plan(self) -> None:
        """Reads the driver's active plan. The last one read stays in use while none can be read."""
        try:
            found = await run_in_thread(self._status_board.plan)
        except (StoreUnreachable, ValueError) as error:
            if self._logged_once.is_news("driver"):
                log.warning("event=driver-unseen %s", error)
            return
        self._logged_once.settle("driver")
        if found is None or found is self._active_plan:
            return
        # The driver's clock may be another one: its time only tells that this is another plan.
        if self._active_plan is None or self._active_plan.posted_at != found.posted_at:
            self._plan_seen_at = self._clock()
        self._active_plan = found
        self._partitions = {route: found.partitions(route.key) for route in self._routes}
        for route, inputs in self._inputs.items():
            inputs.source.set_partitions(self._partitions[route])

    def _changing_inputs(self, order_log: OrderLog, active_plan: ActivePlan) -> object:
        """Returns the inputs whose change starts a round at once: orders, partitions and task
        slots."""
        now_ms = time.time_ns() // 1_000_000
        orders = [
            record for route in self._routes for record in order_log.orders(route.key, now_ms)
        ]
        return orders, self._partitions, active_plan.slots

    def _uptime_ms(self) -> int:
        """Returns how long balancers of the region have been active, this one included."""
        before_ms, began = self._uptime or (0, self._clock())
        return min(before_ms + round(1000 * (self._clock() - began)), UPTIME_MS_MAX - 1)

    async def _reports(self, route: Route) -> Reports:
        try:
            return await self._inputs[route].reports()
        except (StoreUnreachable, ValueError) as error:
            log.warning("event=reports-unread route=%s %s", route, error)
            return {}

    # -- rounds

    async def _run_route(
        self, route: Route, order_log: OrderLog, active_plan: ActivePlan, write: Write
    ) -> None:
        """Runs a round of every stream of a route."""
        now_ms, now = time.time_ns() // 1_000_000, self._clock()
        reports = await self._reports(route)
        calibration = self._calibrations[route]
        calibration.observe(reports.values(), now)
        costs, plan_seconds = calibration.costs(COSTS_DEFAULT), now - self._plan_seen_at
        snapshot = await self._inputs[route].snapshot(
            now_ms, order_log, active_plan, reports, costs, plan_seconds, self._uptime_ms()
        )
        names = {DEFAULT_STREAM, *(each.name for each in order_log.streams(route.key, now_ms))}
        for gone in {key for key in self._streams if key[0] == route and key[1] not in names}:
            del self._streams[gone]
            self._statuses.pop(gone, None)
        for name in sorted(names):
            await self._run_stream(route, name, snapshot, write)

    async def _run_stream(
        self, route: Route, name: str, snapshot: RouteSnapshot, write: Write
    ) -> None:
        key, label = (route, name), _label(route, name)
        if key not in self._streams:
            self._streams[key] = StreamRound(self._settings, route, name, self._who)
        stream = self._streams[key]
        try:
            outcome = await run_in_thread(stream.round, snapshot)
        except Exception:
            # The other streams still get their rounds.
            log.exception("event=round-failed stream=%s", label)
            return
        try:
            if outcome.records or outcome.tombstones:
                await write(outcome.records, outcome.tombstones)
        except (AdminError, LogUnreadable) as error:
            log.warning("event=not-placed stream=%s %s", label, error)
            # The outcome is unknown. The next round starts from what the log holds then.
            del self._streams[key]
            return
        stream.accept(outcome)
        self._statuses[key] = outcome.status
        self._log_outcome(label, outcome)

    def _log_outcome(self, label: str, outcome: Outcome) -> None:
        status, placement = outcome.status, outcome.placement
        for alert in status.alerts:
            # Its numbers change in every round, so it is logged only when it begins.
            if alert.name not in self._logged_alerts.get(label, ()):
                log.warning("event=alert stream=%s alert=%r %s", label, alert.name, alert.text)
        self._logged_alerts[label] = {alert.name for alert in status.alerts}
        if placement:
            log.info(
                "event=placed stream=%s generation=%d partitions=%d carriers=%d moves=%d "
                "heaviest=%.4f bound=%.4f certificate=%s because=%r",
                label,
                status.generation,
                status.partitions,
                len(status.loads),
                len(placement.moves),
                max(status.loads.values(), default=0.0),
                placement.bound,
                placement.certificate,
                "; ".join(status.triggers),
            )

    async def _publish_statuses(self) -> None:
        try:
            await run_in_thread(self._status_board.show_rounds, list(self._statuses.values()))
        except StoreUnreachable as error:
            log.warning("event=not-shown %s", error)


def _label(route: Route, stream: str) -> str:
    """Returns the stream's name for people: west>east, or west>east/orders."""
    return route.name if stream == DEFAULT_STREAM else f"{route.name}/{stream}"
