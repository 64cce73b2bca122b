"""Orders of a region, as an action reads and changes them."""

from replicator.config.topology import Route
from replicator.orders.order_records import Hold, Pin, key_of
from replicator.runtime.store_errors import StoreUnreachable
from tests.tui.balance_records import FIELDS, NOW_MS, ROUTE, active_plan, lease, placed
from tests.tui.recording_client import RecordingClient, orders_of
from tui.orders.region_orders import OrderChange, Terms

PIN = Pin(**FIELDS, topic="orders", partition=1, carrier=0)
EXPIRED = Pin(**FIELDS, topic="orders", partition=2, carrier=0, until_ms=NOW_MS - 1)
HOLD = Hold(**FIELDS)
OTHER_ROUTE = Route("east", "east")


def test_an_order_has_operator_reason_and_end():
    orders = orders_of(RecordingClient())
    assert orders.fields(OTHER_ROUTE, Terms("why", "1s")) == {
        "route": "east.east",
        "at_ms": NOW_MS,
        "who": "ann@ops",
        "why": "why",
        "until_ms": NOW_MS + 1000,
    }
    assert orders.fields(ROUTE, Terms())["until_ms"] is None


def test_active_orders_are_those_of_the_routes_that_have_not_expired():
    orders = orders_of(RecordingClient(PIN, EXPIRED, HOLD, placed()))
    assert orders.active(Pin, [ROUTE]) == [PIN]
    assert orders.active(Pin, [OTHER_ROUTE]) == []


def test_new_and_deleted_records_are_written_at_once_and_the_orders_among_them_returned():
    client = RecordingClient()
    # A placement is removed along with its stream, but it is no order.
    change = orders_of(client).publish([HOLD], deleted=[PIN, placed()])
    assert (client.written, client.deleted) == ([HOLD], [key_of(PIN), key_of(placed())])
    assert change == OrderChange("east", (HOLD,), (PIN,))
    assert client.writes == 1
    told = [(each.text.partition(":")[0], each.result, each.who) for each in client.events]
    assert told == [
        (key_of(HOLD).decode(), "recorded", "ann@ops"),
        (key_of(PIN).decode(), "taken back", "ann@ops"),
    ]


def test_without_records_the_cluster_is_not_contacted():
    client = RecordingClient()
    assert orders_of(client).publish() == OrderChange("east")
    assert (client.writes, client.events) == (0, [])


def test_a_plan_that_cannot_be_read_is_unknown_and_the_reason_is_a_warning():
    warnings: list[str] = []
    assert orders_of(RecordingClient(plan=active_plan()), warnings).active_plan() == active_plan()
    assert warnings == []
    assert orders_of(RecordingClient(), warnings).active_plan() is None
    away = RecordingClient(plan=StoreUnreachable("Redis is away"))
    assert orders_of(away, warnings).active_plan() is None
    assert warnings == ["no driver shows what it carries into east", "Redis is away"]


def test_a_balancer_whose_lease_is_old_is_warned_of():
    warnings: list[str] = []
    orders_of(RecordingClient(lease()), warnings).warn_unless_acting("start it")
    assert warnings == []
    orders_of(RecordingClient(lease(40)), warnings).warn_unless_acting("start it")
    assert warnings == ["no balancer acts: start it"]


def test_a_balancer_whose_clock_is_ahead_is_told_as_its_orders_end_earlier():
    warnings: list[str] = []
    for seconds_ahead in (1, 62):
        ahead = RecordingClient(lease(-seconds_ahead))
        orders_of(ahead, warnings).warn_unless_acting("start it")
    assert warnings == [
        "the balancer's clock is at least 62 s ahead of this machine's: an order with --for ends "
        "so much earlier there"
    ]
