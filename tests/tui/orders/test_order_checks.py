"""Checks of orders, their durations, and the operator who gives them."""

import getpass
import socket

import pytest

from replicator.config.topology import KafkaCluster, Region
from replicator.orders.order_records import Exclusion, Pin
from tests.addresses import refusing
from tests.tui.balance_records import FIELDS, NOW_MS, ROUTE, active_plan, log_of, partitions, placed
from tests.tui.balance_records import stream as stream_of
from tui.orders.durations import BadDuration, milliseconds, until_ms
from tui.orders.operator_events import note_event, operator
from tui.orders.order_checks import OrderRefused, check_pin, exclusion_remarks, void_pins

ORDER_LOG = log_of(placed(), stream_of())


def pin(topic="orders", partition=1, carrier=0) -> Pin:
    return Pin(**FIELDS, topic=topic, partition=partition, carrier=carrier)


def remarks(order_log, carrier, driver=None) -> str:
    return " ".join(exclusion_remarks(order_log, driver, ROUTE.key, carrier, NOW_MS))


def test_a_pin_that_can_be_obeyed_needs_no_remark():
    assert check_pin(ORDER_LOG, active_plan(), pin(), NOW_MS) == []


def test_a_partition_that_the_driver_does_not_carry_cannot_be_pinned():
    with pytest.raises(OrderRefused, match="partitions 0 to 2"):
        check_pin(ORDER_LOG, active_plan(), pin(partition=9), NOW_MS)
    with pytest.raises(OrderRefused, match="nothing"):
        check_pin(ORDER_LOG, active_plan(), pin("gold"), NOW_MS)


def test_a_paused_partition_can_be_pinned():
    paused = active_plan(*partitions("orders", 9))
    assert check_pin(ORDER_LOG, paused, pin(partition=9), NOW_MS) == []


def test_without_an_active_plan_no_pin_is_refused_for_its_partition_but_remarked_on():
    (remark,) = check_pin(ORDER_LOG, None, pin(partition=9), NOW_MS)
    assert "not known" in remark


def test_a_pin_to_a_carrier_of_another_stream_is_refused_since_it_would_never_be_obeyed():
    with pytest.raises(OrderRefused, match="in stream money.*numbered from 1000"):
        check_pin(ORDER_LOG, active_plan(), pin("pay", 0, carrier=0), NOW_MS)
    with pytest.raises(OrderRefused, match="in stream default"):
        check_pin(ORDER_LOG, active_plan(), pin(carrier=1000), NOW_MS)


def test_a_pin_that_has_to_wait_for_its_carrier_is_remarked_on():
    excluded = ORDER_LOG.after([(b"x", Exclusion(**FIELDS, carrier=0, why="hot host"))])
    assert "excluded (hot host)" in check_pin(excluded, active_plan(), pin(), NOW_MS)[0]
    assert "no carrier 5" in check_pin(ORDER_LOG, active_plan(), pin(carrier=5), NOW_MS)[0]


def test_excluding_the_only_carrier_is_remarked_on_and_one_of_several_is_not():
    assert remarks(ORDER_LOG, 0, active_plan()) == ""
    one_left = ORDER_LOG.after([(b"x", Exclusion(**FIELDS, carrier=1))])
    assert "the only one" in remarks(one_left, 0)


def test_excluding_an_unknown_carrier_is_remarked_on():
    assert "no carrier 7" in remarks(ORDER_LOG, 7)
    assert "no stream" in remarks(ORDER_LOG, 2000)
    assert "not known" in remarks(log_of(), 0)


def test_pins_that_a_new_stream_makes_void_are_named():
    pinned = log_of(pin("pay", 0, carrier=1), pin(carrier=1))
    assert list(void_pins(pinned, ROUTE.key, NOW_MS)) == []
    with_stream = pinned.after([(b"s", stream_of())])
    (remark,) = void_pins(with_stream, ROUTE.key, NOW_MS)
    assert remark.startswith("pay-0 is pinned to carrier 1, and in stream money")


@pytest.mark.parametrize(
    ("text", "ms"), [("90s", 90_000), ("30m", 1_800_000), ("2h", 7_200_000), ("7d", 604_800_000)]
)
def test_a_duration_is_a_number_and_its_unit(text, ms):
    assert milliseconds(text) == ms


@pytest.mark.parametrize("text", ["", "2", "h", "-2h", "1.5h", "2h30m", "0s", "2 h", "2w"])
def test_anything_else_is_refused_with_what_it_should_look_like(text):
    with pytest.raises(BadDuration, match="2h"):
        milliseconds(text)


def test_an_order_without_a_duration_has_no_end():
    assert until_ms(None, 5) is None
    assert until_ms("1s", 5) == 1005


@pytest.mark.parametrize("text", ["3651d", "9999999d", "999999999h"])
def test_a_duration_beyond_ten_years_is_refused(text):
    assert milliseconds("3650d") == 3650 * 86_400_000
    with pytest.raises(BadDuration, match="longer than 3650d"):
        milliseconds(text)


def test_an_action_counts_although_its_event_cannot_be_noted():
    region = Region(
        name="east",
        regional=KafkaCluster(bootstrap=("h:1",)),
        aggregate=KafkaCluster(bootstrap=("h:2",)),
        redis=f"redis://{refusing()}",
    )
    note_event(region, "decision", "ann@ops", "primary region east of orders", "recorded")


def test_it_names_user_and_host(monkeypatch):
    monkeypatch.setenv("LOGNAME", "ann")
    assert operator() == f"ann@{socket.gethostname()}"


def test_a_user_without_a_name_is_nobody(monkeypatch):
    def nameless() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert operator().startswith("nobody@")
