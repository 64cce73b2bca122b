"""Checks of orders: refusals and remarks."""

import pytest

from replicator.orders.order_records import Exclusion, Pin
from tests.tui.balance_records import NOW_MS, ROUTE, SAID, book_of, in_force, partitions, placed
from tests.tui.balance_records import stream as stream_of
from tui.actions.order_checks import (
    OrderRefused,
    UnknownStream,
    carriers_of,
    check_pin,
    known_stream,
    remarks_on_exclusion,
    stranded_pins,
    topics_without,
)

BOOK = book_of(placed(), stream_of())


def pin(topic="orders", partition=1, carrier=0) -> Pin:
    return Pin(**SAID, topic=topic, partition=partition, carrier=carrier)


def remarks(book, carrier, driver=None) -> str:
    return " ".join(remarks_on_exclusion(book, driver, ROUTE.key, carrier, NOW_MS))


def test_an_unknown_stream_is_refused_with_the_names_there_are():
    assert known_stream(BOOK, ROUTE.key, "default", NOW_MS) is None
    assert known_stream(BOOK, ROUTE.key, "money", NOW_MS) == stream_of()
    with pytest.raises(UnknownStream, match="no stream 'gold' on route west>east.*default, money"):
        known_stream(BOOK, ROUTE.key, "gold", NOW_MS)


def test_a_pin_that_can_be_obeyed_needs_no_remark():
    assert check_pin(BOOK, in_force(), pin(), NOW_MS) == []


def test_a_partition_that_the_driver_does_not_carry_cannot_be_pinned():
    with pytest.raises(OrderRefused, match="partitions 0 to 2"):
        check_pin(BOOK, in_force(), pin(partition=9), NOW_MS)
    with pytest.raises(OrderRefused, match="nothing"):
        check_pin(BOOK, in_force(), pin("gold"), NOW_MS)


def test_one_that_is_paused_can_be():
    paused = in_force(*partitions("orders", 9))
    assert check_pin(BOOK, paused, pin(partition=9), NOW_MS) == []


def test_where_the_driver_is_not_seen_nothing_is_refused_for_it_and_that_is_said():
    (said,) = check_pin(BOOK, None, pin(partition=9), NOW_MS)
    assert "not known" in said


def test_a_pin_to_a_carrier_of_another_stream_is_refused_since_it_would_never_be_obeyed():
    with pytest.raises(OrderRefused, match="in stream money.*numbered from 1000"):
        check_pin(BOOK, in_force(), pin("pay", 0, carrier=0), NOW_MS)
    with pytest.raises(OrderRefused, match="in stream default"):
        check_pin(BOOK, in_force(), pin(carrier=1000), NOW_MS)


def test_a_pin_that_has_to_wait_for_its_carrier_is_remarked_on():
    excluded = BOOK.after([(b"x", Exclusion(**SAID, carrier=0, why="hot host"))])
    assert "excluded (hot host)" in check_pin(excluded, in_force(), pin(), NOW_MS)[0]
    assert "no carrier 5" in check_pin(BOOK, in_force(), pin(carrier=5), NOW_MS)[0]


def test_excluding_the_only_carrier_is_remarked_on_and_one_of_several_is_not():
    assert remarks(BOOK, 0, in_force()) == ""
    one_left = BOOK.after([(b"x", Exclusion(**SAID, carrier=1))])
    assert "the only one" in remarks(one_left, 0)


def test_excluding_what_is_not_there_is_remarked_on():
    assert "no carrier 7" in remarks(BOOK, 7)
    assert "no stream" in remarks(BOOK, 2000)
    assert "not known" in remarks(book_of(), 0)


def test_without_a_placement_the_carriers_are_those_of_the_driver():
    assert carriers_of(book_of(), in_force(), ROUTE.key, "default", NOW_MS) == (0, 1)
    assert carriers_of(book_of(), None, ROUTE.key, "default", NOW_MS) == ()
    assert carriers_of(BOOK, in_force(), ROUTE.key, "money", NOW_MS) == ()


def test_a_stream_that_has_expired_is_unknown_even_while_its_placement_is_there():
    book = book_of(stream_of(until_ms=NOW_MS), placed(1, "money", 1000))
    assert carriers_of(book, in_force(), ROUTE.key, "money", NOW_MS - 1) == (1000, 1001)
    for there in (book, book_of(stream_of(until_ms=NOW_MS))):
        with pytest.raises(UnknownStream):
            carriers_of(there, in_force(), ROUTE.key, "money", NOW_MS)


def test_pins_that_a_new_stream_makes_void_are_named():
    pinned = book_of(pin("pay", 0, carrier=1), pin(carrier=1))
    assert list(stranded_pins(pinned, ROUTE.key, NOW_MS)) == []
    with_stream = pinned.after([(b"s", stream_of())])
    (said,) = stranded_pins(with_stream, ROUTE.key, NOW_MS)
    assert said.startswith("pay-0 is pinned to carrier 1, and in stream money")


def test_topics_that_nobody_carries_are_found_where_the_driver_is_seen():
    assert topics_without(["orders", "gold"], in_force(), ROUTE.key) == ["gold"]
    assert topics_without(["orders", "gold"], None, ROUTE.key) == []
