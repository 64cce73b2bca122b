"""Preview of a manual plan. Nothing is written, and neither driver nor balancer is notified."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass

from balancer.decision.placement import Scope
from balancer.demand.load_model import Factors, LoadModel
from replicator.config.topology import Appliance, Route
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import DEFAULT_STREAM, carrier_numbers
from replicator.orders.round_status import RoundStatus
from replicator.placement.rounds.connections import BalancerConnections
from replicator.placement.rounds.partition_need import PartitionNeed, needs_of
from replicator.placement.rounds.route_settings import COSTS_DEFAULT
from replicator.placement.rounds.route_snapshot import RouteSnapshot
from replicator.placement.rounds.stream_round import Outcome, StreamRound
from replicator.runtime.gather import gather_or_cancel
from replicator.runtime.run_in_thread import run_in_thread


class NoDriver(Exception):
    """No driver shows an active plan: start `sluice replicate`, or wait until it is up."""


@dataclass(frozen=True, slots=True)
class Preview:
    """Preview for one stream.

    Args:
        generation: of the placement that the preview is based on; 0 without a placement.
        before: by carrier, its predicted load under the current placement.
        needs: needs of all partitions to be carried, the heaviest first.
        carried_generation: of the placement that the driver follows; 0 if it follows none yet.
    """

    route: Route
    stream: str
    generation: int
    outcome: Outcome
    before: Mapping[int, float]
    needs: tuple[PartitionNeed, ...] = ()
    carried_generation: int = 0


async def previews(
    appliance: Appliance,
    region: str,
    scope: Scope,
    connections: BalancerConnections | None = None,
) -> list[Preview]:
    """Returns a preview for every stream of every route into the region.

    Args:
        connections: None: those of the configuration.

    Raises:
        AdminError, LogUnreadable: orders and placements cannot be read.
        StoreUnreachable: the active plan or the reports of carriers cannot be read.
        NoDriver: no driver shows an active plan.
    """
    connections = connections or BalancerConnections(appliance, region)
    asked_orders = run_in_thread(connections.balance_log().read)
    asked_board = run_in_thread(_board, connections)
    # Neither waits for the other, so that two silent servers cost no more than one.
    await gather_or_cancel(asked_orders, asked_board)
    order_log, (active_plan, rounds) = asked_orders.result(), asked_board.result()
    if active_plan is None:
        raise NoDriver(
            f"no driver shows what it carries into {region}: start `sluice replicate --region "
            f"{region}`, or wait until it is up"
        )
    found = []
    for route in appliance.routes_into(region):
        snapshot = await _snapshot(connections, route, order_log, active_plan, rounds)
        streams = order_log.streams(route.key, snapshot.now_ms)
        first_carriers = {DEFAULT_STREAM: 0} | {each.name: each.first_carrier for each in streams}
        for stream, first_carrier in first_carriers.items():
            outcome = StreamRound(appliance.balance, route, stream, "preview").round(
                snapshot, scope
            )
            found.append(_preview(route, stream, first_carrier, snapshot, outcome))
    return found


def _board(connections: BalancerConnections) -> tuple[ActivePlan | None, list[RoundStatus]]:
    with closing(connections.status_board()) as board:
        return board.plan(), board.rounds()


async def _snapshot(
    connections: BalancerConnections,
    route: Route,
    order_log: OrderLog,
    active_plan: ActivePlan,
    rounds: Iterable[RoundStatus],
) -> RouteSnapshot:
    async with aclosing(connections.route_inputs(route)) as inputs:
        await inputs.source.load()
        now_ms = time.time_ns() // 1_000_000
        reports = await inputs.reports()
        return await inputs.snapshot(now_ms, order_log, active_plan, reports, _costs(route, rounds))


def _costs(route: Route, rounds: Iterable[RoundStatus]) -> LoadModel:
    """Returns the cost of carrying that the balancer uses, which it may have measured."""
    for each in rounds:
        if each.route == route.key and each.unopened and each.opened:
            unopened, opened = each.unopened.model_dump(), each.opened.model_dump()
            return LoadModel(Factors(**unopened), Factors(**opened))
    return COSTS_DEFAULT


def _preview(
    route: Route, stream: str, first_carrier: int, snapshot: RouteSnapshot, outcome: Outcome
) -> Preview:
    active_plan, estimates = snapshot.active_plan, outcome.estimates
    carriers_now = active_plan.carriers(route.key)
    placed = snapshot.order_log.placed(route.key, stream)
    if placed:
        carriers, where = placed.carriers, placed.where
    else:
        # Without a placement the driver places by count.
        own = carrier_numbers(first_carrier)
        where = {each: number for each, number in carriers_now.items() if number in own}
        carriers = tuple(sorted(set(where.values())))
    return Preview(
        route,
        stream,
        placed.generation if placed else 0,
        outcome,
        estimates.loads(carriers, where),
        tuple(needs_of(snapshot, estimates, carriers_now)),
        active_plan.generation(route.key, stream),
    )
