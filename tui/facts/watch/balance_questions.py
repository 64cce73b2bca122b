"""Questions about the balancing of all target regions, and the views that their answers make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.round_status import RoundStatus
from replicator.orders.status_board import StatusBoard
from tui.facts.balance_readings import BalanceReadings, is_acting
from tui.facts.balancing import BalanceView
from tui.facts.part import BALANCE, ORDERS, REPORT_FRESH_SECONDS, STALE_CADENCES
from tui.facts.watch.admins import Admins
from tui.facts.watch.kept_client import kept_question
from tui.facts.watch.notice_questions import redis_name
from tui.facts.watch.order_watch import OrderWatch
from tui.facts.watch.question import Answers, Key, Question
from tui.facts.watch.route_questions import RouteReports, reports_key

REDIS_SECONDS = 2.0
ORDERS_SECONDS = 10.0


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


def balance_questions(admins: Admins) -> list[Question]:
    """Returns the questions about all regions that routes lead into; nothing is asked yet."""
    return [
        question for region in _targets(admins.appliance) for question in _of_region(admins, region)
    ]


def balance_fields(appliance: Appliance) -> Callable[[Answers, float], dict[str, object]]:
    """Returns the builder of the snapshot's field `balance`."""
    return lambda answers, now: {"balance": balance_of(appliance, answers, now)}


def _targets(appliance: Appliance) -> list[str]:
    return sorted({route.target for route in appliance.routes})


def _of_region(admins: Admins, region: str) -> list[Question]:
    redis = admins.appliance.region(region).redis_url
    return [
        order_question(admins, region),
        kept_question(
            board_key(region),
            REDIS_SECONDS,
            lambda: StatusBoard(redis(), region, admins.timeout_seconds),
            read_board,
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
    return tuple(
        readings_of(appliance, region, answers, now).view(
            appliance.balance.round_seconds,
            acts=acts_now(answers, region, now),
            hosts=hosts_of(answers, region, now),
        )
        for region in _targets(appliance)
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


def readings_of(appliance: Appliance, region: str, answers: Answers, now: float) -> BalanceReadings:
    """Returns the readings of a region's balancing, by the last answers."""
    orders, board = answers.answer(orders_key(region)), answers.answer(board_key(region))
    told: Board | None = board.value
    problems = (orders.problem, board.problem, told.problem if told else None)
    order_log: OrderLog | None = orders.value
    return BalanceReadings(
        region=region,
        routes=appliance.routes_into(region),
        now_ms=int(now * 1000),
        order_log=order_log,
        rounds=told.rounds if told else None,
        active_plan=told.plan if told else None,
        problems=tuple(text for text in problems if text),
        is_plan_read=told is not None and told.problem is None,
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
