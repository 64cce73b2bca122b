"""Preview of a manual plan. Nothing is written, and neither driver nor balancer is notified."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass

from balancer.decision.placement import Scope
from balancer.demand.load_model import Factors
from balancer.plan import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.orders.active_plan import ActivePlan
from replicator.orders.balance_log import BalanceLog
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import CARRIERS_MAX, DEFAULT_STREAM
from replicator.orders.round_status import RoundStatus
from replicator.orders.status_board import StatusBoard
from replicator.placement.rounds.partition_need import PartitionNeed, needs_of
from replicator.placement.rounds.route_settings import OPENED, UNOPENED
from replicator.placement.rounds.source_watch import SourceWatch
from replicator.placement.rounds.stream_round import Outcome, Scene, StreamRound
from replicator.placement.rounds.throughput_watch import ThroughputWatch


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


async def previews(appliance: Appliance, region: str, scope: Scope) -> list[Preview]:
    """Returns a preview for every stream of every route into the region.

    Raises:
        AdminError, LogUnreadable: orders and placements cannot be read.
        StoreUnreachable: the active plan or the reports of carriers cannot be read.
        NoDriver: no driver shows an active plan.
    """
    settings = appliance.region(region)
    book = BalanceLog(ClusterName.aggregate(region), settings.aggregate).read()
    with closing(StatusBoard(settings.redis_url(), region)) as board:
        in_force, rounds = board.plan(), board.rounds()
    if in_force is None:
        raise NoDriver(
            f"nobody shows what is carried into {region}: start `sluice replicate --region "
            f"{region}`, or wait until it is up"
        )
    found = []
    for route in appliance.routes_into(region):
        scene = await _scene(appliance, route, book, in_force, _costs(route, rounds))
        first = {DEFAULT_STREAM: 0} | {
            each.name: each.first_carrier for each in book.streams(route.key, scene.now_ms)
        }
        for name in first:
            placed = book.placed(route.key, name)
            outcome = StreamRound(appliance.balance, route, name, "preview").round(scene, scope)
            generation = placed.generation if placed else 0
            where = placed.where if placed else _by_count(in_force, route, first[name])
            before = dict.fromkeys(placed.carriers if placed else sorted(set(where.values())), 0.0)
            for partition, carrier in where.items():
                if carrier in before:
                    before[carrier] += outcome.known.shares.get(partition, 0.0)
            needs = tuple(needs_of(scene, outcome.known, _carried(in_force, route)))
            carried = in_force.generation(route.key, name)
            found.append(Preview(route, name, generation, outcome, before, needs, carried))
    return found


def _carried(in_force: ActivePlan, route: Route) -> dict[TopicPartition, int]:
    """Maps each partition of a route to its carrier, as the driver shows it."""
    return {
        each: carrier.number
        for carrier, load in sorted(in_force.plan.loads.items())
        if carrier.route == route.key
        for each in load
    }


def _by_count(in_force: ActivePlan, route: Route, first: int) -> dict[TopicPartition, int]:
    """Maps the partitions of a stream without a placement to their carriers in the active plan."""
    own = range(first, first + CARRIERS_MAX)
    return {each: at for each, at in _carried(in_force, route).items() if at in own}


def _costs(route: Route, rounds: Iterable[RoundStatus]) -> tuple[Factors, Factors]:
    """Returns the cost of carrying that the balancer uses, which it may have measured."""
    for each in rounds:
        if each.route == route.key and each.unopened and each.opened:
            return Factors(**each.unopened.model_dump()), Factors(**each.opened.model_dump())
    return UNOPENED, OPENED


async def _scene(
    appliance: Appliance,
    route: Route,
    book: OrderLog,
    in_force: ActivePlan,
    measured: tuple[Factors, Factors],
) -> Scene:
    watch = SourceWatch(appliance, route)
    try:
        await watch.load()
    finally:
        await watch.close()
    now_ms = time.time_ns() // 1_000_000
    with OffsetStore(appliance.region(route.target).redis_url(), route.key) as store:
        reports = store.reports()
    file = ThroughputWatch(appliance.balance.throughput_file, route.source)
    topics = {each.topic for each in in_force.partitions(route.key)}
    return Scene(
        now_ms=now_ms,
        book=book,
        in_force=in_force,
        rates=watch.rates(now_ms),
        fresh=watch.fresh(now_ms),
        reports={TopicPartition(topic, number): it for (_, topic, number), it in reports.items()},
        degraded=watch.degraded(now_ms),
        measured=measured,
        throughput=file.throughput(topics),
    )
