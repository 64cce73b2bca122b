"""Messages of a call count as handled once the application asks for more."""

from dataclasses import dataclass

import pytest

from replicator.groups.resume.deliveries import Deliveries


@dataclass(eq=False)
class From:
    position: int | None = None


@pytest.fixture
def deliveries() -> Deliveries[From, str]:
    return Deliveries()


def put(deliveries, source, *items):
    for position, item in enumerate(items, start=1):
        deliveries.put(source, position, item)


def test_positions_move_with_what_is_handed_out_and_with_what_is_skipped(deliveries):
    source = From()
    put(deliveries, source, None, "b", None)
    assert deliveries.next() == "b"
    assert source.position == 2
    assert deliveries.next() is None
    assert source.position == 3


def test_an_error_keeps_its_order_and_moves_no_position(deliveries):
    source = From()
    put(deliveries, source, "a")
    deliveries.put(source, None, "error")
    deliveries.put(None, None, "another")
    assert [deliveries.next() for _ in range(4)] == ["a", "error", "another", None]
    assert source.position == 1


def test_the_whole_call_is_taken_back_and_nothing_before_it(deliveries):
    one, other = From(), From()
    put(deliveries, one, "a", "b", None, "d")
    put(deliveries, other, "x", "y")
    assert deliveries.next() == "a"
    deliveries.begin_call()
    assert [deliveries.next() for _ in range(4)] == ["b", "d", "x", "y"]
    deliveries.take_back()
    assert (one.position, other.position) == (1, None)


def test_a_call_that_hands_out_nothing_takes_nothing_back(deliveries):
    source = From()
    put(deliveries, source, "a")
    deliveries.next()
    deliveries.begin_call()
    assert deliveries.next() is None
    deliveries.take_back()
    assert source.position == 1


def test_a_commit_by_the_application_is_not_taken_back(deliveries):
    source = From()
    put(deliveries, source, "a", "b", "c")
    assert [deliveries.next() for _ in range(3)] == ["a", "b", "c"]
    deliveries.settle(source, 2)
    deliveries.settle(source, 1)
    deliveries.take_back()
    assert source.position == 2


def test_another_members_messages_are_not_handed_out(deliveries):
    gone, kept = From(), From()
    put(deliveries, gone, "a", "b")
    put(deliveries, kept, "x")
    deliveries.put(None, None, "error")
    deliveries.next()
    deliveries.drop([gone])
    assert [deliveries.next() for _ in range(3)] == ["x", "error", None]
    deliveries.take_back()
    assert (gone.position, kept.position) == (1, None)
