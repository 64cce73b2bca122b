"""Values of commands about balancing: placements, plans, orders, streams."""

from __future__ import annotations

from dataclasses import replace

from balancer.decision.placement import Move, Placement, Reason, Scope
from balancer.demand.demand import Basis
from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.orders.order_records import (
    Answer,
    ByHand,
    Exclusion,
    Freeze,
    Hold,
    Pause,
    Pin,
    RefreshSchema,
    SkipReplay,
)
from replicator.orders.round_status import AlertStatus, MoveStatus
from replicator.placement.rounds.partition_need import PartitionNeed
from replicator.placement.rounds.preview import Preview
from replicator.placement.rounds.shares import ShareEstimates
from replicator.placement.rounds.stream_round import Outcome
from tests.tui.balance_records import (
    FIELDS,
    NOW_MS,
    ROUTE,
    active_plan,
    lease,
    log_of,
    placed,
    status,
    stream,
)
from tests.tui.output.odd import ODD
from tui.commands.balance_partitions import Needs
from tui.commands.balance_plan import Planned
from tui.facts.balance_readings import BalanceReadings
from tui.facts.balancing import BalanceView, StreamList
from tui.facts.manual_placement_result import ManualPlacement

OWN = Route("east", "east")
PIN = Pin(**FIELDS, topic="orders", partition=1, carrier=1, why="near", until_ms=NOW_MS + 60_000)
BY_HAND = ByHand(**FIELDS, id="one", scope=Scope.FULL, generation=3, why=ODD)
HOLD = Hold(**FIELDS, stream="money", why="load test")
ORDERS = (
    PIN,
    PIN.model_copy(update={"topic": ODD, "partition": 12, "until_ms": None}),
    Exclusion(**FIELDS, carrier=7),
    HOLD,
    Pause(**FIELDS, topic="clicks", why="w"),
    Pause(**FIELDS, topic="clicks", partition=3),
    BY_HAND,
)
STREAMS = (
    stream(threshold=0.5, carriers_max=4, is_paused=True),
    stream(name="rare", topics=("x.*", ODD), first_carrier=2000, why=ODD, who=ODD),
)
OF_FEED = {**FIELDS, "route": "flights"}
FEED_ORDERS = (
    Freeze(**OF_FEED, why="w"),
    Freeze(**OF_FEED, topic="t", partition=0, cluster="west regional", table="hits", why=ODD),
    RefreshSchema(**{**OF_FEED, "route": "lake.v2"}),
    RefreshSchema(**OF_FEED, table="hits", until_ms=NOW_MS),
    SkipReplay(
        **OF_FEED, cluster="west regional", topic="t", partition=1, table="hits", begin=3, end=9
    ),
)


def readings(**changes: object) -> BalanceReadings:
    """Returns those of a route with placements and rounds, and of one that is placed by count."""
    rounds = (
        status(),
        status(
            stream="money",
            held=None,
            degraded="west regional: away",
            certificate=None,
            moves=(),
            moves_count=0,
            loads={1000: 0.2, 1001: 0.95},
            counts={1000: 1, 1001: 2},
            alerts=(AlertStatus(name="lagging", text=ODD, evidence={}),),
            measured_part=0.5,
            unopened=None,
            opened=None,
        ),
    )
    records = (placed(), placed(stream="money", first=1000), lease(), *STREAMS, *ORDERS)
    found = BalanceReadings(
        "east", (ROUTE, OWN), NOW_MS, log_of(*records), rounds, active_plan(), ("north: away",)
    )
    return replace(found, **changes)


def balance(**changes: object) -> BalanceView:
    found = readings(**changes)
    return found.view(60.0, acts=found.is_acting)


def balances() -> dict[str, BalanceView]:
    """Returns balancing where something is missing, by the name of a case."""
    why = "loads are not known: west regional: away"
    blind = status(held=why, degraded="west regional: away", bound=None, placed_at_ms=None)
    return {
        "unknown": balance(order_log=None, rounds=None, active_plan=None, problems=(ODD,)),
        "without_orders": balance(order_log=None, problems=()),
        "never_balanced": balance(order_log=log_of(), rounds=(), active_plan=None, problems=()),
        "earlier_round": balance(rounds=(status(generation=2),)),
        "lapsed": balance(order_log=log_of(placed(), lease(40)), rounds=(blind,), problems=()),
    }


def many_carriers() -> BalanceView:
    numbers = tuple(range(45))
    topics = {n: (("orders", tuple(range(n % 3))),) for n in numbers}
    where = placed().model_copy(update={"carriers": numbers, "topics": topics})
    loads = {n: n / 100 for n in numbers if n % 10}
    return balance(order_log=log_of(where, lease()), rounds=(status(loads=loads),), problems=())


def need(number: int = 0, topic: str = "orders", **more) -> PartitionNeed:
    known = {
        "carrier": 1,
        "share": 0.25,
        "basis": Basis.MEASURED,
        "rate": Rate(2_000_000.4, 900.0),
        "lag_records": 7,
        "lag_seconds": 0.4,
        "is_fresh": True,
    }
    return PartitionNeed(partition=TopicPartition(topic, number), **known | more)


UNSEEN = need(1, carrier=None, basis=Basis.TOPIC, rate=None, lag_records=None, lag_seconds=None)
NEEDS = (
    need(),
    UNSEEN,
    need(2, is_fresh=False),
    need(3, is_fresh=False, basis=Basis.FILE),
    need(4, ODD, basis=Basis.DEFAULT, share=0.0),
)


def needs(topic: str | None = None, found: tuple[PartitionNeed, ...] = NEEDS) -> Needs:
    known, blind = Outcome(status(degraded=None)), Outcome(status(degraded=ODD))
    return Needs(
        "east",
        (
            Preview(ROUTE, "default", 3, known, {}, found, 3),
            Preview(ROUTE, "money", 3, blind, {}, found[:1], 2),
            Preview(OWN, "default", 0, known, {}, (), 0),
        ),
        topic,
    )


MANY_NEEDS = tuple(need(number, share=0.9 - number / 100) for number in range(45))
PLACE = TopicPartition("orders", 1)
MOVES = (
    MoveStatus(topic="orders", partition=1, source=1, target=0, reason="relieves its carrier"),
    MoveStatus(topic=ODD, partition=12, source=None, target=1, reason="new"),
)


def preview(
    count: int = 1, stream: str = "default", generation: int = 3, told: int = 100, **more
) -> Preview:
    """Returns a dry run with that many moves, of which the round tells the first `told`."""
    placement = Placement(
        where={PLACE: 0},
        moves=(Move(PLACE, 1, 0, Reason.RELIEVES),) * count,
        loads={0: 0.5, 1: 0.4},
        hot={PLACE: 0.9} if count == 2 else {},
        unplaced=(),
        bound=0.45,
        certificate=count,
    )
    fields = {
        "stream": stream,
        "generation": generation + 1,
        "loads": {0: 0.5, 1: 0.4},
        "moves": (MOVES * count)[: min(count, told)],
        "moves_count": count,
        "bound": 0.45,
        "certificate": count,
        "alerts": (),
        "held": None,
    }
    outcome = Outcome(
        status(**(fields | more)),
        placement=placement if count else None,
        estimates=ShareEstimates({PLACE: 0.2}),
    )
    return Preview(ROUTE, stream, generation, outcome, {0: 0.3, 2: 0.6})


UNLOADED = preview(0, stream="idle", loads={})
ALERT = AlertStatus(name="hot partition", text=ODD, evidence={"0": 0.9})
PLANS = {
    "": Planned(
        "east",
        Scope.FULL,
        (
            preview(2, alerts=(ALERT,), held="moves are paused", measured_part=0.25),
            preview(1, stream="money", generation=0, certificate=None, at_least=None),
            preview(0, stream="rare", degraded="west regional: away"),
        ),
        " --config a.toml",
    ),
    "_nothing": Planned(
        "east",
        Scope.STICKY,
        (
            preview(0, moves=MOVES),
            preview(0, generation=0, stream="new"),
            replace(UNLOADED, before={}),
            replace(UNLOADED, outcome=replace(UNLOADED.outcome, estimates=ShareEstimates({}))),
        ),
    ),
    "_many": Planned("east", Scope.STICKY, (preview(45), preview(45, stream="money", told=42))),
}

ORDER = ByHand(**FIELDS, id="one", scope=Scope.STICKY, generation=3)
ANSWER = Answer(**FIELDS, id="one", stream="default", generation=4, moves=2)
AFTER = placed(4).model_copy(
    update={"topics": {0: (("orders", (0, 1)),), 1: (("orders", (2,)), (ODD, (0,)))}}
)
FAR = placed(4).model_copy(update={"topics": {0: (("orders", tuple(range(45))),)}})
STALE = ANSWER.model_copy(update={"refused": ODD, "moves": 0, "generation": 5})


def placement(
    answer: Answer | None = None, after: object = None, acting: object = None, **more
) -> ManualPlacement:
    return ManualPlacement(ORDER, answer, placed(3), after, acting, NOW_MS, **more)


PLACEMENTS = {
    "": placement(ANSWER, AFTER),
    "_many": placement(ANSWER.model_copy(update={"moves": 45}), FAR),
    "_unmoved": placement(ANSWER.model_copy(update={"moves": 0, "generation": 3}), placed(3)),
    "_untold": placement(ANSWER),
    "_refused": placement(STALE, AFTER),
    "_stale": placement(is_written=False),
    "_waits": placement(acting=lease()),
    "_without_balancer": placement(acting=lease(40)),
    "_replaced": placement(replaced_by=ORDER.model_copy(update={"id": "two", "who": "eve@ops"})),
}


def streams(*, is_known: bool = True) -> StreamList:
    """Returns streams with and without topics, of a route with and one without placements."""
    gaps = placed(stream="rare").model_copy(update={"carriers": (2003, 2000, 2002)})
    records = (*STREAMS, placed(), placed(stream="money", first=1000), gaps)
    several = [TopicPartition(f"x.{letter}", 0) for letter in "edcba"]
    plan = active_plan(*several) if is_known else None
    found = BalanceReadings("east", (ROUTE, OWN), NOW_MS, log_of(*records), None, plan)
    view = found.view(60.0, acts=found.is_acting)
    return StreamList(region="east", streams=found.with_matching(view.streams))
