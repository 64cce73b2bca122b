"""Inputs of a round of one stream, taken from the snapshot of its route.

The balancer numbers the carriers of a stream from 0; the order log, plans and reports, from the
stream's first carrier.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from balancer.carrier_plan import CarrierId
from balancer.decision.placement import Scope
from balancer.decision.round import Orders, RoundView
from balancer.decision.state import RoundState
from balancer.topic_partition import TopicPartition
from replicator.config.balance_settings import BalanceSettings
from replicator.config.topology import Route
from replicator.orders.order_records import carrier_numbers
from replicator.placement.rounds.placement_record import round_state
from replicator.placement.rounds.route_settings import StreamSettings, settings_of
from replicator.placement.rounds.route_snapshot import RouteSnapshot
from replicator.placement.rounds.shares import ShareEstimates, ShareMemory

REPORT_SECONDS = 15.0
"""A carrier without a new report for this long is silent."""
SETTLE_SECONDS = 45.0
"""Time after a new plan in which no carrier counts as silent. An epoch may end and the next one
begin, including takeovers of what the former carriers left."""


@dataclass(frozen=True, slots=True)
class StreamInputs:
    """Inputs of one round.

    Args:
        route: route key.
        first_carrier: number of the stream's first carrier.
        partitions: partitions to carry, as the driver shows them.
        state: round state before the round; None before the first placement.
        estimates: share of each of the partitions.
    """

    snapshot: RouteSnapshot
    route: str
    stream: str
    first_carrier: int
    partitions: Set[TopicPartition]
    state: RoundState | None
    settings: StreamSettings
    estimates: ShareEstimates

    @property
    def generation(self) -> int:
        """Generation of the placement before the round; 0 without one."""
        return self.state.generation if self.state else 0

    def view(self, manual_scope: Scope | None) -> RoundView:
        """Returns the view that the balancer decides from.

        Args:
            manual_scope: scope of a manual plan that is to be made now; None without one.
        """
        snapshot, first = self.snapshot, self.first_carrier
        busy = snapshot.active_plan.busy_carriers()
        return RoundView(
            now_ms=snapshot.now_ms,
            partitions=self.partitions,
            shares=self.estimates.shares,
            measured=self.estimates.measured,
            lag_seconds={
                each: report.lag_seconds
                for each, report in snapshot.reports.items()
                if report.lag_seconds is not None and each in self.partitions
            },
            state=self.state,
            orders=self._orders(manual_scope),
            slots=snapshot.active_plan.slots,
            carriers_elsewhere=len(busy - self._own(busy)),
            silent=self._silent(),
            degraded=snapshot.degraded,
            withdrawn=snapshot.active_plan.paused_partitions(self.route) | self._left_stream(),
            doubts=self.estimates.doubts,
            first_carrier=first,
        )

    def _orders(self, manual_scope: Scope | None) -> Orders:
        order_log, now_ms = self.snapshot.order_log, self.snapshot.now_ms
        first = self.first_carrier
        own = carrier_numbers(first)
        return Orders(
            pins={
                each: carrier - first
                for each, carrier in order_log.pins(self.route, now_ms).items()
                if each in self.partitions and carrier in own
            },
            excluded={
                carrier - first: why
                for carrier, why in order_log.excluded(self.route, now_ms).items()
                if carrier in own
            },
            paused=order_log.hold(self.route, self.stream, now_ms) is not None,
            by_hand=manual_scope,
        )

    def _left_stream(self) -> Set[TopicPartition]:
        """Returns placed partitions that belong to another stream by now, or are paused."""
        placed = set(self.state.where) if self.state else set()
        split = self.snapshot.order_log.split(self.route, sorted(placed), self.snapshot.now_ms)
        return placed - set(split.get(self.stream, ()))

    def _silent(self) -> Set[int]:
        """Returns the carriers that have partitions and do not report."""
        snapshot, first = self.snapshot, self.first_carrier
        if snapshot.plan_seconds < SETTLE_SECONDS:
            return frozenset()
        own = self._own(snapshot.active_plan.busy_carriers())
        reporting = {
            report.carrier - first
            for report in snapshot.reports.values()
            if snapshot.unchanged_seconds.get(report.carrier, 0.0) < REPORT_SECONDS
        }
        return {carrier.number - first for carrier in own} - reporting

    def _own(self, carriers: Set[CarrierId]) -> Set[CarrierId]:
        """Returns the carriers of this stream."""
        own = carrier_numbers(self.first_carrier)
        return {each for each in carriers if each.route == self.route and each.number in own}


def stream_inputs(
    snapshot: RouteSnapshot,
    settings: BalanceSettings,
    route: Route,
    stream: str,
    memory: ShareMemory,
    state: RoundState | None,
) -> StreamInputs:
    """Returns the inputs of a stream's round.

    Args:
        memory: shares of the stream's rounds before; this round's are added.
        state: that the last round of this process left; None: the state in the order log.
    """
    order_log, now_ms = snapshot.order_log, snapshot.now_ms
    order = order_log.stream(route.key, stream, now_ms)
    first_carrier = order.first_carrier if order else 0
    if state is None and (placed := order_log.placed(route.key, stream)):
        # Its times are of another process, whose clock may be ahead of ours or behind. Waits go on
        # by the time for which balancers have been active since.
        waited_ms = max(0, snapshot.uptime_ms - placed.uptime_ms)
        state = round_state(placed, first_carrier).shifted(now_ms - waited_ms - placed.at_ms)
    known = sorted(snapshot.active_plan.partitions(route.key))
    partitions = frozenset(order_log.split(route.key, known, now_ms).get(stream, ()))
    stream_settings = settings_of(
        settings,
        route,
        order,
        slots=snapshot.active_plan.slots,
        partitions=len(partitions),
        costs=snapshot.costs,
    )
    snapshot = snapshot.with_file_rates(partitions)
    estimates = memory.estimate(
        partitions,
        snapshot.rates,
        snapshot.fresh,
        snapshot.reports,
        stream_settings.model,
        snapshot.throughput,
    )
    return StreamInputs(
        snapshot=snapshot,
        route=route.key,
        stream=stream,
        first_carrier=first_carrier,
        partitions=partitions,
        state=state,
        settings=stream_settings,
        estimates=estimates,
    )
