"""Balancing of the target regions, from order logs and Redis servers that may be missing."""

from types import SimpleNamespace

import pytest

from replicator.orders.order_records import Exclusion, Hold, Pin
from tests.tui.balance_records import FIELDS, NOW_MS, active_plan, lease, log_of, placed, status
from tests.tui.balance_records import stream as stream_of
from tests.tui.facts.watch.told import NOW, answered, appliance
from tui.facts.balance_readings import ROUNDS_KEPT
from tui.facts.balancing import BalanceAlert, CarrierLoad, MoveView, OrderView
from tui.facts.watch.admins import Admins
from tui.facts.watch.balance_questions import (
    Board,
    balance_fields,
    balance_of,
    balance_questions,
    board_key,
    orders_key,
    read_board,
)
from tui.facts.watch.question import Answer, Answers
from tui.facts.watch.route_questions import reports_key

BOTH = appliance("east", "west")


def east(values):
    return next(it for it in balance_of(BOTH, answered(values), NOW) if it.region == "east")


def stream_in(values, name="default"):
    streams = east(values).streams
    return next(it for it in streams if (it.route, it.stream) == ("west>east", name))


def facts(*orders, **more):
    log = log_of(placed(), lease(), *orders)
    board = Board((status(**more),), active_plan())
    return {orders_key("east"): log, board_key("east"): board}


def test_a_stream_has_its_carriers_loads_bound_alerts_and_moves():
    found = stream_in(facts())
    assert (found.generation, found.driver_generation, found.partitions) == (3, 3, 3)
    assert (found.heaviest, found.bound, found.ratio) == (0.4, 0.4, 1.0)
    assert (found.certificate, found.needed, found.held) == (0, 2, "moves are paused")
    assert found.alerts == (
        BalanceAlert(name="hot partition", text="orders-0 is hot", evidence={"0": 0.9}),
    )
    assert found.moves == (
        MoveView(topic="orders", partition=0, source=None, target=0, reason="new"),
    )
    assert found.carriers == (
        CarrierLoad(number=0, partitions=1, load=0.9),
        CarrierLoad(number=1, partitions=2, load=0.4),
    )


def reported(carrier, host, at=NOW - 1.0):
    return SimpleNamespace(carrier=carrier, host=host, at=at)


def test_carriers_have_the_hosts_that_they_reported_lately():
    reports = {
        "west>east": {
            ("orders", 0): reported(0, "repl-a"),
            ("orders", 1): reported(1, None),
        }
    }
    found = stream_in(facts() | {reports_key("east"): reports})
    assert [each.host for each in found.carriers] == ["repl-a", None]
    reports["west>east"]["orders", 0] = reported(0, "repl-a", NOW - 16.0)
    found = stream_in(facts() | {reports_key("east"): reports})
    assert [each.host for each in found.carriers] == [None, None]


def test_a_round_of_a_balancer_that_stopped_is_not_current():
    assert stream_in(facts()).is_current
    old = NOW_MS - int((ROUNDS_KEPT * 60 + 1) * 1000)
    found = stream_in(facts(at_ms=old))
    assert not found.is_current
    assert found.alerts and found.current_alerts == ()
    assert not stream_in(facts(lease(31.5))).is_current


def test_an_order_has_the_words_of_the_command_that_ends_it():
    found = east(facts(Hold(**FIELDS, why="w", until_ms=NOW_MS + 1000))).orders
    assert found == (
        OrderView(
            kind="hold",
            route="west>east",
            stream="default",
            what="hold stream default",
            who="ann@ops",
            why="w",
            at_ms=NOW_MS - 60_000,
            until_ms=NOW_MS + 1000,
            undo=("balance", "resume", "--route", "west>east", "--stream", "default"),
        ),
    )


def test_paused_streams_are_among_the_orders_and_other_streams_are_not():
    found = east(facts(stream_of(), stream_of(name="slow", first_carrier=2000, is_paused=True)))
    assert [(each.kind, each.stream) for each in found.orders] == [("paused stream", "slow")]
    assert [each.stream for each in found.streams if each.route == "west>east"] == [
        "default",
        "money",
        "slow",
    ]


def test_every_kind_of_order_has_a_short_name():
    pin = Pin(**FIELDS, topic="orders", partition=0, carrier=1)
    kinds = {each.kind for each in east(facts(pin, Exclusion(**FIELDS, carrier=1))).orders}
    assert kinds == {"pin", "exclude"}


def test_a_balancer_that_renews_its_lease_is_acting():
    assert east(facts()).is_acting and east(facts()).lease_who == "bob@ops pid 7"
    assert not east(facts(lease(31.5))).is_acting


@pytest.mark.parametrize(
    "answer",
    [
        {"asked_at": NOW - 31.0},
        {"asked_at": NOW - 1.0, "problem": "east aggregate: no answer"},
    ],
)
def test_nobody_says_that_a_balancer_does_not_act_when_the_orders_cannot_be_read(answer):
    log = facts(lease(60))[orders_key("east")]
    told = Answers({orders_key("east"): Answer(log, **answer)})
    found = next(it for it in balance_of(BOTH, told, NOW) if it.region == "east")
    assert found.is_acting is None
    assert found.lease_who == "bob@ops pid 7"


def test_before_any_answer_every_value_is_unknown():
    found = balance_of(BOTH, Answers({}), NOW)
    assert [each.region for each in found] == ["east", "west"]
    assert found[0].orders is None and found[0].is_acting is None
    assert (found[0].streams[0].generation, found[0].streams[0].carriers) == (None, None)
    assert balance_fields(BOTH)(Answers({}), NOW) == {"balance": found}


def test_without_redis_the_order_log_is_shown_with_the_problem():
    values = facts()
    told = {
        orders_key("east"): Answer(values[orders_key("east")], NOW),
        board_key("east"): Answer(problem="Redis at x: refused"),
    }
    found = next(it for it in balance_of(BOTH, Answers(told), NOW) if it.region == "east")
    assert found.problems == ("Redis at x: refused",)
    assert found.streams[1].carriers is not None and found.driver_partitions is None


def test_a_plan_of_another_version_leaves_the_rounds_readable():
    def plan():
        raise ValueError("an active plan of another format")

    board = read_board(SimpleNamespace(rounds=lambda: [status()], plan=plan))
    assert board.rounds == (status(),) and board.plan is None
    found = east({board_key("east"): board})
    assert "another format" in found.problems[0]
    assert (found.has_driver, east({board_key("east"): Board(())}).has_driver) == (None, False)


@pytest.mark.parametrize("region", ["east", "west"])
def test_orders_are_read_rarely_and_redis_often(region):
    by_key = {each.key: each for each in balance_questions(Admins(BOTH, 5.0))}
    assert by_key[orders_key(region)].cadence_seconds == 10.0
    assert by_key[board_key(region)].cadence_seconds == 2.0
