"""Output of orders."""

import pytest

from balancer.decision.placing import Scope
from replicator.orders.order_records import ByHand, Exclusion, Hold, Pause, Pin
from tests.tui.balance_records import SAID, stream
from tui.cli.views.order_view import changes_text, changes_values, order_values, orders_text, words

PIN = Pin(**SAID, topic="orders", partition=3, carrier=2, why="near", until_ms=1_800_000_000_000)


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (PIN, "pin orders-3 to carrier 2"),
        (Exclusion(**SAID, carrier=1), "exclude carrier 1"),
        (Hold(**SAID), "hold stream default"),
        (Pause(**SAID, topic="orders"), "pause topic orders"),
        (Pause(**SAID, topic="orders", partition=0), "pause orders-0"),
        (stream(is_paused=True), "stream money (paused): pay.*"),
        (stream(threshold=0.5, carriers_max=2), "stream money: pay.* threshold=0.5 carriers_max=2"),
        (
            ByHand(**SAID, id="x", scope=Scope.FULL, generation=4),
            "place stream default (full) upon generation 4",
        ),
    ],
)
def test_every_kind_of_order_is_said_in_words(order, said):
    assert words(order) == said


def test_values_name_the_route_as_commands_take_it_and_times_as_people_read_them():
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


def test_an_order_without_an_end_holds_until_it_is_taken_back():
    assert orders_text([Hold(**SAID)]).splitlines()[1].endswith("taken back")
    assert order_values(Hold(**SAID))["until"] is None


def test_what_was_changed_is_told_and_so_is_that_nothing_was():
    hold = Hold(**SAID)
    text = changes_text([PIN], [hold], "nothing")
    assert text.index("ordered:") < text.index("taken back:") < text.index("hold stream")
    assert changes_text([], [], "nothing") == "nothing"
    assert changes_values("east", [], [hold]) == {
        "schema_version": 1,
        "region": "east",
        "written": [],
        "taken_back": [order_values(hold)],
    }
