"""Output of `sluice balance show`; test_balance_commands.py has the tests with real servers."""

from replicator.orders.order_records import Pin
from tests.tui.balance_records import NOW_MS, ROUTE, SAID, book_of, in_force, lease, placed, status
from tui.cli.views.balance_view import as_text, as_values, remarks_on
from tui.state.balance_status import BalanceStatus

PIN = Pin(**SAID, topic="orders", partition=1, carrier=1, why="near")
BOOK = book_of(placed(), lease(), PIN)
ROUNDS = (status(),)


def sight(book=BOOK, rounds=ROUNDS, driver=None, problems=()) -> BalanceStatus:
    return BalanceStatus("east", (ROUTE,), NOW_MS, book, rounds, driver or in_force(), problems)


def test_values_say_everything_a_program_needs():
    found = as_values(sight())
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


def test_what_is_not_known_is_null():
    found = as_values(BalanceStatus("east", (ROUTE,), NOW_MS, None, None, None, ("away",)))
    assert (found["balancer"], found["orders"], found["problems"]) == (None, None, ["away"])
    (stream,) = found["streams"]
    unknown = ("generation", "is_paused", "partitions", "carriers", "heaviest", "moves")
    assert [stream[each] for each in unknown] == [None] * len(unknown)
    assert found["driver"] is None
    row = as_text(BalanceStatus("east", (ROUTE,), NOW_MS, None, None, None)).splitlines()[4]
    assert set(row.split()) == {"west>east", "?"}


def test_people_see_the_balancer_the_streams_what_is_held_the_alerts_and_the_orders():
    lines = as_text(sight()).splitlines()
    assert lines[0].startswith("balancer  bob@ops pid 7 acts; in office since 2027-01-15T07:00:00Z")
    assert lines[1] == "driver    carries 4 partitions, 4 task slots"
    text = "\n".join(lines)
    assert "west>east: nothing moves that need not: moves are paused" in text
    assert "hot partition  orders-0 is hot" in text
    assert "pin orders-1 to carrier 1" in text
    assert "12 s ago" in text


def test_of_many_carriers_the_heaviest_are_shown_unless_all_are_asked_for():
    numbers = range(100)
    many = placed().model_copy(update={"carriers": tuple(numbers), "topics": {}})
    loads = status(loads={n: n / 100 for n in numbers})
    few = as_text(sight(book_of(many, lease()), (loads,)))
    assert "40 of 100 carriers" in few and "0.990" in few and "0.010" not in few
    whole = as_text(sight(book_of(many, lease()), (loads,)), all_carriers=True)
    assert "0.010" in whole


def test_that_no_balancer_acts_is_said_and_how_to_start_one():
    (said,) = remarks_on(sight(book_of(placed(), lease(40))))
    assert said == "no balancer acts: start `sluice balance --region east`"
    assert list(remarks_on(sight())) == []
    assert "DOES NOT ACT" in as_text(sight(book_of(placed(), lease(40))))


def test_loads_that_are_not_known_are_said_once():
    why = "west regional: away"
    both = status(held=f"loads are not known: {why}", degraded=why)
    assert as_text(sight(rounds=(both,))).count(why) == 1
