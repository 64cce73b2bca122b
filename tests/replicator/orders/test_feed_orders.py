"""Orders about a feed say what is frozen, which columns count, and which block is dropped."""

import pytest

from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import Freeze, Hold, RefreshSchema, SkipReplay, key_of

SAID = {"route": "flights", "at_ms": 5, "who": "ann@host", "why": "why"}
WEST = "west regional"
BLOCK = SkipReplay(
    **SAID, cluster=WEST, topic="t", partition=1, table="hits", begin=10, end=20, until_ms=100
)


def orders(*records, now_ms=10):
    order_log = OrderLog().after((key_of(each), each) for each in records)
    return FeedOrders.of(order_log, "flights", now_ms)


def freeze(**fields):
    return Freeze(**{**SAID, **fields})


@pytest.mark.parametrize(
    ("fields", "frozen"),
    [
        ({}, {"a-0", "a-1", "b-0", "east a-0"}),
        ({"cluster": WEST}, {"a-0", "a-1", "b-0"}),
        ({"topic": "a"}, {"a-0", "a-1", "east a-0"}),
        ({"topic": "a", "partition": 0}, {"a-0", "east a-0"}),
        ({"cluster": WEST, "topic": "a", "partition": 0}, {"a-0"}),
        ({"table": "hits"}, set()),
    ],
)
def test_a_freeze_stops_what_it_names_and_nothing_else(fields, frozen):
    partitions = {
        "a-0": (WEST, "a", 0),
        "a-1": (WEST, "a", 1),
        "b-0": (WEST, "b", 0),
        "east a-0": ("east regional", "a", 0),
    }
    found = orders(freeze(**fields))
    assert {
        name for name, partition in partitions.items() if found.frozen(*partition, now_ms=10)
    } == frozen


def test_a_frozen_table_stops_no_other_and_a_frozen_partition_stops_every_table():
    found = orders(freeze(table="hits", topic="a"))
    assert found.frozen(WEST, "a", 0, "hits", now_ms=10)
    assert found.frozen(WEST, "a", 0, "other", now_ms=10) is None
    assert found.frozen(WEST, "b", 0, "hits", now_ms=10) is None
    assert orders(freeze(topic="a")).frozen(WEST, "a", 0, "hits", now_ms=10)


def test_the_oldest_of_several_freezes_is_named():
    first, second = freeze(topic="a", at_ms=3), freeze(at_ms=4)
    assert orders(second, first).frozen(WEST, "a", 0, now_ms=10) == first


def test_a_freeze_ends_at_its_time_also_after_it_was_collected():
    found = orders(freeze(until_ms=100))
    assert found.frozen(WEST, "a", 0, now_ms=99)
    assert found.frozen(WEST, "a", 0, now_ms=100) is None
    assert orders(freeze(until_ms=100), now_ms=100).freezes == ()


def test_columns_fetched_before_the_newest_order_do_not_count():
    found = orders(
        RefreshSchema(**SAID),
        RefreshSchema(**{**SAID, "at_ms": 7}, table="hits"),
        RefreshSchema(**{**SAID, "at_ms": 3}, table="other"),
    )
    assert found.refreshed_at_ms("hits") == 7
    assert found.refreshed_at_ms("other") == 5
    assert orders().refreshed_at_ms("hits") is None


def test_only_the_very_block_that_was_named_is_dropped():
    found = orders(BLOCK)
    assert found.skipped(WEST, "t", 1, "hits", 10, 20) == BLOCK
    for other in (
        ("east regional", "t", 1, "hits", 10, 20),
        (WEST, "t", 2, "hits", 10, 20),
        (WEST, "t", 1, "clicks", 10, 20),
        (WEST, "t", 1, "hits", 10, 21),
        (WEST, "t", 1, "hits", 11, 20),
    ):
        assert found.skipped(*other) is None


def test_a_block_of_a_later_log_is_not_dropped_by_an_order_about_a_former_one():
    block = (WEST, "t", 1, "hits", 10, 20)
    later = BLOCK.model_copy(update={"incarnation": 5})
    assert orders(BLOCK).skipped(*block, 5) is None
    assert orders(later).skipped(*block, 5) == later
    assert orders(later).skipped(*block) is None


def test_orders_about_another_feed_and_about_routes_are_left_out():
    found = orders(Hold(**{**SAID, "route": "west.east"}), freeze(route="other"))
    assert found == FeedOrders(feed="flights")


def test_orders_arrive_at_loaders_as_they_were_sent():
    sent = orders(freeze(table="ü"), RefreshSchema(**SAID), BLOCK)
    assert FeedOrders.model_validate_json(sent.model_dump_json()) == sent
