"""Sample order records, rounds and plans of one region, for tests of the balancing commands."""

from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import AnyRecord, Lease, Placed, Stream, by_carrier, key_of
from replicator.orders.round_status import AlertStatus, CostStatus, MoveStatus, RoundStatus

ROUTE = Route("west", "east")
NOW_MS = 1_800_000_000_000
FIELDS = {"route": ROUTE.key, "at_ms": NOW_MS - 60_000, "who": "ann@ops"}


def log_of(*records: AnyRecord) -> OrderLog:
    return OrderLog().after((key_of(each), each) for each in records)


def partitions(topic: str, *numbers: int) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, number) for number in numbers)


def placed(generation: int = 3, stream: str = "default", first: int = 0) -> Placed:
    """Returns a placement: orders-0 on one carrier, orders-1 and orders-2 on the next."""
    where = zip(partitions("orders", 0, 1, 2), (first, first + 1, first + 1), strict=True)
    return Placed(
        **FIELDS,
        stream=stream,
        generation=generation,
        carriers=(first, first + 1),
        topics=by_carrier(where),
    )


def lease(seconds_ago: float = 3.0) -> Lease:
    at_ms = NOW_MS - round(seconds_ago * 1000)
    since_ms = NOW_MS - 3_600_000
    return Lease(route="east", at_ms=at_ms, who="bob@ops pid 7", since_ms=since_ms)


def stream(**more) -> Stream:
    return Stream(
        **{
            **FIELDS,
            "name": "money",
            "topics": ("pay.*",),
            "first_carrier": 1000,
            "why": "w",
            **more,
        }
    )


def active_plan(*paused: TopicPartition) -> ActivePlan:
    loads = {
        CarrierId(ROUTE.key, 0): partitions("orders", 0),
        CarrierId(ROUTE.key, 1): (*partitions("orders", 1, 2), *partitions("pay", 0)),
    }
    paused_by_route = ((ROUTE.key, tuple(tuple(each) for each in paused)),) if paused else ()
    return ActivePlan(
        Plan(9, loads), 4, NOW_MS / 1000, ((ROUTE.key, "default", 3),), paused_by_route
    )


def status(**more) -> RoundStatus:
    fields = {
        "route": ROUTE.key,
        "stream": "default",
        "at_ms": NOW_MS - 12_000,
        "generation": 3,
        "partitions": 3,
        "placed_at_ms": NOW_MS - 60_000,
        "triggers": ("there is no plan yet",),
        "moves": (MoveStatus(topic="orders", partition=0, source=None, target=0, reason="new"),),
        "moves_count": 1,
        "loads": {0: 0.9, 1: 0.4},
        "counts": {0: 1, 1: 2},
        "bound": 0.4,
        "certificate": 0,
        "needed": 2,
        "at_least": 2,
        "measured_part": 1.0,
        "alerts": (AlertStatus(name="hot partition", text="orders-0 is hot", evidence={"0": 0.9}),),
        "held": "moves are paused",
        "unopened": CostStatus(per_byte=1e-9, per_record=1e-8),
        "opened": CostStatus(per_byte=1e-9, per_record=2e-6),
    }
    return RoundStatus(**{**fields, **more})
