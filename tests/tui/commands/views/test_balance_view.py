"""Output of `sluice balance show`; test_balance_commands.py has the tests with real servers."""

from replicator.orders.order_records import Pin
from tests.tui.balance_records import (
    FIELDS,
    NOW_MS,
    ROUTE,
    active_plan,
    lease,
    log_of,
    placed,
    status,
)
from tui.commands.views.balance_view import as_text, as_values, remarks
from tui.facts.balance_status import BalanceStatus

PIN = Pin(**FIELDS, topic="orders", partition=1, carrier=1, why="near")
ORDER_LOG = log_of(placed(), lease(), PIN)
ROUNDS = (status(),)


def balance(order_log=ORDER_LOG, rounds=ROUNDS, driver=None, problems=()) -> BalanceStatus:
    return BalanceStatus(
        "east", (ROUTE,), NOW_MS, order_log, rounds, driver or active_plan(), problems
    )


def test_values_say_everything_a_program_needs():
    found = as_values(balance())
    (stream,) = found["streams"]
    assert found["schema_version"] == 1
    assert found["balancer"] == {
        "acts": True,
        "who": "bob@ops pid 7",
        "since": "2027-01-15T07:00:00Z",
        "age_seconds": 3.0,
    }
    assert (stream["route"], stream["stream"], stream["generation"]) == ("west>east", "default", 3)
    assert stream["carriers"][1] == {"carrier": 1, "partitions": 2, "load": 0.4}
    assert (stream["heaviest"], stream["bound"], stream["heaviest_over_bound"]) == (0.4, 0.4, 1.0)
    assert (stream["certificate"], stream["carriers_needed"], stream["held"]) == (
        0,
        2,
        "moves are paused",
    )
    assert stream["alerts"][0]["name"] == "hot partition"
    assert stream["round_age_seconds"] == 12.0
    assert [each["kind"] for each in found["orders"]] == ["pin"]
    assert found["driver"] == {"partitions": 4, "slots": 4}
    assert stream["cost_seconds"]["opened"] == {"per_byte": 1e-9, "per_record": 2e-6}


def test_what_is_not_known_is_null(assert_snapshot):
    found = as_values(BalanceStatus("east", (ROUTE,), NOW_MS, None, None, None, ("away",)))
    assert (found["balancer"], found["orders"], found["problems"]) == (None, None, ["away"])
    (stream,) = found["streams"]
    unknown = ("generation", "is_paused", "partitions", "carriers", "heaviest", "moves")
    assert [stream[each] for each in unknown] == [None] * len(unknown)
    assert found["driver"] is None
    unknown = BalanceStatus("east", (ROUTE,), NOW_MS, None, None, None)
    assert_snapshot(as_text(unknown), "balance_unknown")


def test_people_see_the_balancer_the_streams_what_is_held_the_alerts_and_the_orders(
    assert_snapshot,
):
    assert_snapshot(as_text(balance()), "balance")


def test_the_heaviest_of_many_carriers_are_shown_unless_all_are_asked_for():
    numbers = range(100)
    many = placed().model_copy(update={"carriers": tuple(numbers), "topics": {}})
    loads = status(loads={n: n / 100 for n in numbers})
    few = as_text(balance(log_of(many, lease()), (loads,)))
    assert "40 of 100 carriers" in few and "0.990" in few and "0.010" not in few
    whole = as_text(balance(log_of(many, lease()), (loads,)), all_carriers=True)
    assert "0.010" in whole


def test_a_missing_balancer_is_named_with_the_command_that_starts_one():
    (remark,) = remarks(balance(log_of(placed(), lease(40))))
    assert remark == "no balancer acts: start `sluice balance --region east`"
    assert list(remarks(balance())) == []
    assert "DOES NOT ACT" in as_text(balance(log_of(placed(), lease(40))))


def test_unknown_loads_are_named_once():
    why = "west regional: away"
    both = status(held=f"loads are not known: {why}", degraded=why)
    assert as_text(balance(rounds=(both,))).count(why) == 1
