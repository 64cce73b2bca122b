"""Questions about the balancing of all target regions, and the views that their answers make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import (
    ByHand,
    Exclusion,
    Hold,
    Order,
    Pause,
    Pin,
    Stream,
)
from replicator.orders.round_status import RoundStatus
from replicator.orders.status_board import StatusBoard
from tui.facts.balance_status import BalanceStatus, StreamStatus, is_acting
from tui.facts.balancing import (
    BalanceAlert,
    BalanceView,
    CarrierLoad,
    MoveView,
    OrderView,
    StreamView,
)
from tui.facts.order_words import ending_words, order_text
from tui.facts.part import BALANCE, ORDERS, REPORT_FRESH_SECONDS, STALE_CADENCES
from tui.facts.streams import route_name
from tui.facts.watch.admins import Admins
from tui.facts.watch.kept_client import KeptClient
from tui.facts.watch.notice_questions import redis_name
from tui.facts.watch.order_watch import OrderWatch
from tui.facts.watch.question import Answers, Key, Question
from tui.facts.watch.route_questions import RouteReports, reports_key

REDIS_SECONDS = 2.0
ORDERS_SECONDS = 10.0
ROUNDS_KEPT = 5
"""Intervals between rounds for which the last round of a balancer counts."""

Hosts = Mapping[tuple[str, int], str]
"""Host of each carrier, by the name of its route and its number."""

KINDS: dict[type[Order], str] = {
    Pin: "pin",
    Exclusion: "exclude",
    Hold: "hold",
    Pause: "pause",
    ByHand: "place",
    Stream: "paused stream",
}


@dataclass(frozen=True, slots=True)
class Board:
    """Status that driver and balancer of a region publish.

    Args:
        plan: None when no driver publishes one, or it cannot be read.
        problem: why the plan cannot be read.
    """

    rounds: tuple[RoundStatus, ...]
    plan: ActivePlan | None = None
    problem: str | None = None


def orders_key(region: str) -> Key:
    return Key(ClusterName.aggregate(region), ORDERS)


def board_key(region: str) -> Key:
    return Key(redis_name(region), BALANCE)


def balance_questions(
    appliance: Appliance, timeout_seconds: float, admins: Admins | None = None
) -> list[Question]:
    """Returns the questions about all regions that routes lead into; nothing is asked yet.

    Args:
        admins: clients that other questions use too; by default some are made.
    """
    clients = admins or Admins(appliance, timeout_seconds)
    return [question for region in _targets(appliance) for question in _of_region(clients, region)]


def balance_fields(appliance: Appliance) -> Callable[[Answers, float], dict[str, object]]:
    """Returns the builder of the snapshot's field `balance`."""
    return lambda answers, now: {"balance": balance_of(appliance, answers, now)}


def _targets(appliance: Appliance) -> list[str]:
    return sorted({route.target for route in appliance.routes})


def _of_region(admins: Admins, region: str) -> list[Question]:
    settings = admins.appliance.region(region)
    board = KeptClient(
        redis_name(region),
        lambda: StatusBoard(settings.redis_url(), region, admins.timeout_seconds),
    )
    return [
        order_question(admins, region),
        Question(
            key=board_key(region),
            cadence_seconds=REDIS_SECONDS,
            ask=lambda: board.ask(read_board),
            close=board.close,
        ),
    ]


def order_question(admins: Admins, region: str) -> Question:
    """Returns the question about the orders of a region."""
    name = ClusterName.aggregate(region)
    orders = OrderWatch.of(admins.of(name))
    return Question(
        key=orders_key(region),
        cadence_seconds=ORDERS_SECONDS,
        ask=orders.read,
        cluster=admins.cluster(name),
        close=orders.close,
    )


def read_board(board: StatusBoard) -> Board:
    """Returns what is published. Raises StoreUnreachable."""
    rounds = tuple(board.rounds())
    try:
        return Board(rounds, board.plan())
    except ValueError as error:
        return Board(rounds, problem=f"the driver's plan cannot be read: {error}")


def balance_of(appliance: Appliance, answers: Answers, now: float) -> tuple[BalanceView, ...]:
    """Returns the balancing of all regions that routes lead into."""
    round_ms = int(ROUNDS_KEPT * appliance.balance.round_seconds * 1000)
    return tuple(
        with_current_rounds(
            balance_view(
                status_of(appliance, region, answers, now),
                hosts_of(answers, region, now),
                acts_now(answers, region, now),
            ),
            int(now * 1000) - round_ms,
        )
        for region in _targets(appliance)
    )


def with_current_rounds(view: BalanceView, begin_ms: int) -> BalanceView:
    """Returns the view with each stream's `is_current`: Redis keeps a round for ever.

    Args:
        begin_ms: rounds of a balancer that works are not older.
    """
    return replace(
        view,
        streams=tuple(
            replace(
                stream,
                is_current=view.is_acting is not False
                and (stream.at_ms is None or stream.at_ms >= begin_ms),
            )
            for stream in view.streams
        ),
    )


def acts_now(answers: Answers, region: str, now: float) -> bool | None:
    """Returns True when the region's balancer had a lease as the orders were read.

    None: not known, as when the orders cannot be read any more.
    """
    found = answers.answer(orders_key(region))
    if found.asked_at is None or found.problem is not None:
        return None
    if now - found.asked_at > STALE_CADENCES * ORDERS_SECONDS:
        return None
    order_log: OrderLog = found.value
    return is_acting(order_log.lease(region), int(found.asked_at * 1000))


def status_of(appliance: Appliance, region: str, answers: Answers, now: float) -> BalanceStatus:
    """Returns the status of a region's balancing, by the last answers."""
    orders, board = answers.answer(orders_key(region)), answers.answer(board_key(region))
    told: Board | None = board.value
    problems = (orders.problem, board.problem, told.problem if told else None)
    order_log: OrderLog | None = orders.value
    return BalanceStatus(
        region=region,
        routes=appliance.routes_into(region),
        now_ms=int(now * 1000),
        order_log=order_log,
        rounds=told.rounds if told else None,
        active_plan=told.plan if told else None,
        problems=tuple(text for text in problems if text),
    )


def hosts_of(answers: Answers, region: str, now: float) -> dict[tuple[str, int], str]:
    """Returns the hosts that the carriers of a region have reported lately."""
    reports: RouteReports = answers.value(reports_key(region)) or {}
    return {
        (route, report.carrier): report.host
        for route, found in reports.items()
        for report in found.values()
        if report.host and now - report.at <= REPORT_FRESH_SECONDS
    }


def balance_view(status: BalanceStatus, hosts: Hosts, acts: bool | None) -> BalanceView:
    """Returns a region's balancing as plain values.

    Args:
        acts: see acts_now.
    """
    lease = status.lease
    is_known = status.order_log is not None
    return BalanceView(
        region=status.region,
        streams=tuple(_stream(each, hosts) for each in status.streams()),
        orders=tuple(map(_order, _orders(status))) if is_known else None,
        lease_who=lease.who if lease else None,
        lease_at_ms=lease.at_ms if lease else None,
        is_acting=acts,
        driver_partitions=status.active_plan.plan.partitions if status.active_plan else None,
        problems=status.problems,
    )


def _orders(status: BalanceStatus) -> Iterable[Order]:
    """Yields the orders, and the streams that are paused."""
    yield from status.orders()
    if status.order_log is not None:
        for route in status.routes:
            streams = status.order_log.streams(route.key, status.now_ms)
            yield from (each for each in streams if each.is_paused)


def _order(order: Order) -> OrderView:
    return OrderView(
        kind=KINDS.get(type(order), type(order).__name__.lower()),
        route=route_name(order.route),
        stream=_stream_of(order),
        what=order_text(order),
        who=order.who,
        why=order.why,
        at_ms=order.at_ms,
        until_ms=order.until_ms,
        undo=ending_words(order),
    )


def _stream_of(order: Order) -> str | None:
    """Returns the stream that an order names; None where it names none."""
    match order:
        case Hold() | ByHand():
            return order.stream
        case Stream():
            return order.name
        case _:
            return None


def _stream(stream: StreamStatus, hosts: Hosts) -> StreamView:
    route, status = stream.route.name, stream.status
    carriers = None
    if stream.carriers is not None:
        carriers = tuple(
            CarrierLoad(
                number=each.number,
                partitions=each.partitions,
                load=each.load,
                host=hosts.get((route, each.number)),
            )
            for each in stream.carriers
        )
    view = StreamView(
        route=route,
        stream=stream.stream,
        is_paused=stream.is_paused,
        generation=stream.generation,
        driver_generation=stream.driver_generation,
        partitions=stream.partitions,
        heaviest=stream.heaviest,
        carriers=carriers,
    )
    return _with_round(view, status) if status else view


def _with_round(view: StreamView, status: RoundStatus) -> StreamView:
    """Returns the view with the results of the balancer's last round."""
    return replace(
        view,
        bound=status.bound,
        certificate=status.certificate,
        needed=status.needed,
        at_ms=status.at_ms,
        placed_at_ms=status.placed_at_ms,
        triggers=status.triggers,
        alerts=tuple(BalanceAlert(name=each.name, text=each.text) for each in status.alerts),
        moves=tuple(
            MoveView(
                topic=each.topic,
                partition=each.partition,
                source=each.source,
                target=each.target,
                reason=each.reason,
            )
            for each in status.moves
        ),
        moves_count=status.moves_count,
        held=status.held,
        degraded=status.degraded,
    )
