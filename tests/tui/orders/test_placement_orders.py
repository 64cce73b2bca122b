"""Orders to balancer and driver, with a client that records what is written."""

import pytest

from replicator.config.topology import Route
from replicator.orders.order_records import Exclusion, Hold, Pause, Pin, key_of
from tests.tui.balance_records import FIELDS, ROUTE, active_plan, lease, placed, stream
from tests.tui.recording_client import RecordingClient, orders_of
from tui.facts.streams import UnknownStream
from tui.orders.order_checks import OrderRefused
from tui.orders.placement_orders import (
    exclude,
    hold,
    include,
    pause_topic,
    pin,
    release,
    resume_topic,
    unpin,
)
from tui.orders.region_orders import Terms

TERMS = Terms("hot host")
ROUTES = (ROUTE, Route("east", "east"))


def test_a_hold_is_for_every_stream_of_every_route_unless_one_is_named():
    client = RecordingClient(stream())
    hold(orders_of(client), ROUTES, None, TERMS)
    assert [(each.route, each.stream) for each in client.written] == [
        *(("west.east", "default"), ("west.east", "money"), ("east.east", "default"))
    ]
    change = hold(orders_of(client), ROUTES, "money", TERMS)
    assert [(each.route, each.stream, each.why) for each in change.written] == [
        ("west.east", "money", "hot host")
    ]


@pytest.mark.parametrize("action", [lambda *given: hold(*given, TERMS), release])
def test_a_stream_that_no_route_has_is_refused(action):
    client = RecordingClient(stream())
    with pytest.raises(UnknownStream, match="no stream 'gold'; known: default, money"):
        action(orders_of(client), ROUTES, "gold")
    assert client.writes == 0


def test_a_release_deletes_the_holds_of_the_named_stream():
    both = (Hold(**FIELDS), Hold(**FIELDS, stream="money"))
    client = RecordingClient(stream(), *both)
    assert release(orders_of(client), ROUTES, "money").taken_back == (both[1],)
    assert set(release(orders_of(client), ROUTES, None).taken_back) == set(both)


def test_a_pin_is_checked_written_and_taken_back():
    warnings: list[str] = []
    client = RecordingClient(placed(), lease(), plan=active_plan())
    (order,) = pin(orders_of(client, warnings), ROUTE, "orders", 1, 0, TERMS).written
    assert client.written == [order] and warnings == []
    pinned = RecordingClient(order, lease())
    assert unpin(orders_of(pinned), ROUTE, "orders", 1).taken_back == (order,)
    assert unpin(orders_of(pinned), ROUTE, "orders", 2).taken_back == ()
    with pytest.raises(OrderRefused):
        pin(orders_of(client), ROUTE, "orders", 9, 0, TERMS)
    assert client.written == [order]


def test_without_a_balancer_an_order_is_written_with_a_warning():
    warnings: list[str] = []
    client = RecordingClient(placed(), plan=active_plan())
    exclude(orders_of(client, warnings), ROUTE, 7, TERMS)
    assert isinstance(client.written[0], Exclusion)
    assert warnings == [
        "there is no carrier 7 on west>east now",
        "no balancer acts: it is followed once `sluice balance --region east` runs",
    ]


def test_an_exclusion_is_taken_back_by_the_number_of_its_carrier():
    exclusion = Exclusion(**FIELDS, carrier=1)
    client = RecordingClient(exclusion)
    assert include(orders_of(client), ROUTE, 1).taken_back == (exclusion,)
    assert client.deleted == [key_of(exclusion)]
    assert include(orders_of(client), ROUTE, 2).taken_back == ()


def test_a_topic_that_is_not_carried_is_paused_with_a_warning():
    warnings: list[str] = []
    client = RecordingClient(plan=active_plan())
    pause_topic(orders_of(client, warnings), ROUTE, "orders", None, TERMS)
    assert warnings == []
    pause_topic(orders_of(client, warnings), ROUTE, "gold", 3, TERMS)
    assert warnings == ["the driver carries no topic gold on route west>east"]
    assert [(each.topic, each.partition) for each in client.written] == [
        ("orders", None),
        ("gold", 3),
    ]


def test_a_topic_is_resumed_as_a_whole_or_by_partition_but_no_part_of_a_paused_topic():
    one, other = (Pause(**FIELDS, topic="orders", partition=number) for number in (1, 2))
    client = RecordingClient(one, other, Pause(**FIELDS, topic="clicks"))
    assert resume_topic(orders_of(client), ROUTE, "orders", 1).taken_back == (one,)
    assert resume_topic(orders_of(client), ROUTE, "orders", None).taken_back == (one, other)
    assert resume_topic(orders_of(client), ROUTE, "gold", None).taken_back == ()
    with pytest.raises(OrderRefused, match="all of topic clicks is paused"):
        resume_topic(orders_of(client), ROUTE, "clicks", 0)


def test_a_pin_of_unknown_partitions_is_written_while_no_driver_is_seen():
    warnings: list[str] = []
    client = RecordingClient(placed(), lease())
    pin(orders_of(client, warnings), ROUTE, "orders", 9, 0, TERMS)
    assert isinstance(client.written[0], Pin)
    assert "nobody checked whether that partition is carried" in warnings[1]
