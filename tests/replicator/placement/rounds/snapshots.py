"""Sample snapshots of a route, for tests of its streams' rounds."""

from balancer.carrier_plan import CarrierId, Plan
from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import key_of
from replicator.placement.rounds.route_snapshot import RouteSnapshot

ROUTE = Route("west", "east")
NOW_MS = 1_800_000_000_000
PARTITIONS = [TopicPartition("orders", number) for number in range(12)]
ORDER = {"route": ROUTE.key, "at_ms": NOW_MS - 5000, "who": "ann@host"}
MIB = 1 << 20


def rates(mib=1.0):
    return {each: Rate(mib * MIB, 1000) for each in PARTITIONS}


def active_plan(partitions=PARTITIONS, paused=(), slots=2, carriers=(0, 1)):
    loads = {
        CarrierId(ROUTE.key, number): tuple(partitions[at :: len(carriers)])
        for at, number in enumerate(carriers)
    }
    return ActivePlan(Plan(1, loads), slots, NOW_MS / 1000 - 1, (), ((ROUTE.key, tuple(paused)),))


def snapshot(order_log=None, now_ms=NOW_MS, **known):
    measured = {"rates": rates(), "fresh": set(PARTITIONS)}
    known = {**measured, "active_plan": active_plan(), "plan_seconds": 1.0, **known}
    return RouteSnapshot(now_ms=now_ms, order_log=order_log or OrderLog(), **known)


def order_log_of(*records):
    return OrderLog().after((key_of(each), each) for each in records)
