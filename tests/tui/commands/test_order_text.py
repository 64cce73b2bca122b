"""Text and values of orders."""

import pytest

from balancer.decision.placement import Scope
from replicator.orders.order_records import (
    ByHand,
    Freeze,
    Hold,
    Pin,
    SkipReplay,
)
from tests.tui.balance_records import FIELDS, stream
from tui.commands.order_text import (
    changes_text,
    changes_values,
    order_values,
    orders_text,
)

PIN = Pin(**FIELDS, topic="orders", partition=3, carrier=2, why="near", until_ms=1_800_000_000_000)

OF_FEED = {**FIELDS, "route": "flights"}
FREEZE = Freeze(**OF_FEED, topic="t", partition=0, cluster="west regional", table="hits", why="w")
SKIP = SkipReplay(
    **OF_FEED, cluster="west regional", topic="t", partition=1, table="hits", begin=3, end=9
)


def test_values_have_the_route_as_commands_take_it_and_times_as_people_read_them():
    assert order_values(PIN) == {
        "kind": "pin",
        "route": "west>east",
        "topic": "orders",
        "partition": 3,
        "carrier": 2,
        "who": "ann@ops",
        "why": "near",
        "at": "2027-01-15T07:59:00Z",
        "until": "2027-01-15T08:00:00Z",
    }


def test_an_order_about_a_feed_names_the_feed_and_no_route(assert_snapshot):
    values = order_values(FREEZE)
    assert (values["kind"], values["feed"]) == ("freeze", "flights")
    assert "route" not in values
    assert_snapshot(orders_text([FREEZE, SKIP]), "feed_orders")


@pytest.mark.parametrize(
    ("order", "end"),
    [
        (Hold(**FIELDS), "by balance resume"),
        (FREEZE, "by aggregate resume"),
        (stream(), "by stream delete"),
        (stream(is_paused=True), "by stream resume"),
        (PIN.model_copy(update={"until_ms": None}), "by balance unpin"),
        (PIN, "2027-01-15T08:00:00Z"),
        (ByHand(**FIELDS, id="one", scope=Scope.FULL, generation=3), "-"),
        (SKIP, "-"),
    ],
)
def test_an_order_without_an_end_names_what_ends_it(order, end):
    assert orders_text([order]).splitlines()[1].endswith(f"  {end}")
    assert order_values(Hold(**FIELDS))["until"] is None


def test_changes_are_listed_and_so_is_a_change_of_nothing(assert_snapshot):
    hold = Hold(**FIELDS)
    assert_snapshot(changes_text([PIN], [hold], "nothing"), "order_changes")
    assert changes_text([], [], "nothing") == "nothing"
    assert changes_values("east", [], [hold]) == {
        "schema_version": 1,
        "region": "east",
        "written": [],
        "taken_back": [order_values(hold)],
    }
