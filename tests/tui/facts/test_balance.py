"""Balancing: streams, what was read of them, and the result of a placement by hand."""

import pytest

from balancer.decision.placement import Scope
from balancer.topic_partition import TopicPartition
from replicator.orders.order_records import ByHand, Hold
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
from tests.tui.balance_records import stream as stream_of
from tui.facts.balance_readings import BalanceReadings, is_acting
from tui.facts.balancing import Cost, reasons
from tui.facts.manual_placement_result import CarrierChange, ManualPlacement, Result
from tui.facts.streams import (
    UnknownStream,
    carriers_of,
    find_stream,
    matching_topics,
    topics_not_carried,
)

# --- Streams of a route, with the carriers and partitions that they have now.

ORDER_LOG = log_of(placed(), stream_of())


def test_an_unknown_stream_is_refused_with_the_names_there_are():
    assert find_stream(ORDER_LOG, ROUTE.key, "default", NOW_MS) is None
    assert find_stream(ORDER_LOG, ROUTE.key, "money", NOW_MS) == stream_of()
    with pytest.raises(UnknownStream, match="no stream 'gold' on route west>east.*default, money"):
        find_stream(ORDER_LOG, ROUTE.key, "gold", NOW_MS)


def test_without_a_placement_the_carriers_are_those_of_the_driver():
    assert carriers_of(log_of(), active_plan(), ROUTE.key, "default", NOW_MS) == (0, 1)
    assert carriers_of(log_of(), None, ROUTE.key, "default", NOW_MS) == ()
    assert carriers_of(ORDER_LOG, active_plan(), ROUTE.key, "money", NOW_MS) == ()


def test_a_stream_that_has_expired_is_unknown_even_while_its_placement_is_there():
    order_log = log_of(stream_of(until_ms=NOW_MS), placed(1, "money", 1000))
    assert carriers_of(order_log, active_plan(), ROUTE.key, "money", NOW_MS - 1) == (1000, 1001)
    for there in (order_log, log_of(stream_of(until_ms=NOW_MS))):
        with pytest.raises(UnknownStream):
            carriers_of(there, active_plan(), ROUTE.key, "money", NOW_MS)


def test_topics_that_are_not_carried_are_found_if_there_is_an_active_plan():
    assert topics_not_carried(["orders", "gold"], active_plan(), ROUTE.key) == ["gold"]
    assert topics_not_carried(["orders", "gold"], None, ROUTE.key) == []


def test_topics_are_counted_by_the_stream_that_they_match_paused_ones_too():
    plan = active_plan(TopicPartition("pay", 7))
    found = matching_topics(ORDER_LOG, plan, ROUTE.key, NOW_MS)
    assert found == {"default": {"orders": 3}, "money": {"pay": 2}}


# --- View from order log, Redis and driver, some of which may be unavailable.


def read(order_log=None, rounds=None, driver=None) -> BalanceReadings:
    return BalanceReadings("east", (ROUTE,), NOW_MS, order_log, rounds, driver)


def balance(*what):
    readings = read(*what)
    return readings.view(60.0, acts=readings.is_acting)


def loads(stream):
    """Returns number, partitions and load of each carrier."""
    return [(each.number, each.partitions, each.load) for each in stream.carriers]


def only_stream(*what):
    (found,) = balance(*what).streams
    return found


def test_a_balancer_that_has_not_renewed_its_lease_for_half_a_minute_does_not_act():
    assert is_acting(lease(30), NOW_MS)
    assert not is_acting(lease(30.001), NOW_MS)
    assert not is_acting(None, NOW_MS)


def test_carriers_have_their_partitions_from_the_log_and_their_loads_from_the_last_round():
    found = only_stream(log_of(placed()), (status(),), active_plan())
    assert loads(found) == [(0, 1, 0.9), (1, 2, 0.4)]
    assert (found.generation, found.driver_generation) == (3, 3)


def test_a_carrier_with_one_partition_above_the_bound_is_not_the_heaviest():
    assert only_stream(log_of(placed()), (status(),)).heaviest == 0.4


def test_loads_of_another_placement_are_not_shown_as_those_of_this_one():
    found = only_stream(log_of(placed(generation=4)), (status(),))
    assert loads(found) == [(0, 1, None), (1, 2, None)]
    assert found.heaviest is None


def test_without_redis_the_log_says_what_is_placed():
    found = only_stream(log_of(placed()))
    assert loads(found) == [(0, 1, None), (1, 2, None)]
    assert found.driver_generation is None and found.at_ms is None


def test_without_the_log_the_last_round_says_what_is_placed():
    found = only_stream(None, (status(),))
    assert loads(found) == [(0, 1, 0.9), (1, 2, 0.4)]
    assert found.generation == 3
    assert only_stream(None, ()).generation is None


def test_without_a_placement_carriers_have_their_partitions_from_the_active_plan():
    found = only_stream(log_of(), (), active_plan())
    assert [(it.number, it.partitions) for it in found.carriers] == [(0, 1), (1, 3)]
    assert found.generation == 0


def test_a_stream_that_was_deleted_is_no_longer_shown():
    rounds = (status(), status(stream="money"))
    assert [it.stream for it in balance(log_of(placed()), rounds).streams] == ["default"]
    assert [it.stream for it in balance(None, rounds).streams] == ["default", "money"]


def test_orders_are_neither_streams_nor_expired():
    order_log = log_of(stream_of(), Hold(**FIELDS), Hold(**FIELDS, stream="money", until_ms=NOW_MS))
    assert [each.what for each in balance(order_log).orders] == ["hold stream default"]
    assert balance().orders is None


def test_costs_and_the_part_that_was_measured_are_those_of_the_last_round():
    found = only_stream(log_of(placed()), (status(),))
    assert (found.at_least, found.measured_part) == (2, 1.0)
    assert found.cost_seconds.opened == Cost(per_byte=1e-9, per_record=2e-6)
    assert only_stream(log_of(placed()), (status(opened=None),)).cost_seconds is None


def test_that_no_driver_shows_a_plan_is_known_only_of_a_redis_that_answers():
    assert balance(log_of(), (), active_plan()).has_driver is True
    assert balance(log_of(), ()).has_driver is False
    assert balance(log_of()).has_driver is None


def test_each_stream_has_the_topics_that_match_it_and_the_default_stream_the_others():
    order_log = log_of(stream_of(threshold=0.5), placed(), placed(stream="money", first=1000))
    for plan, topics in ((active_plan(), [{"orders": 3}, {"pay": 1}]), (None, [None, None])):
        readings = read(order_log, None, plan)
        default, money = readings.with_matching(readings.view(60.0, acts=None).streams)
        assert [default.matching, money.matching] == topics
        assert [each.number for each in money.carriers] == [1000, 1001]
        assert (default.topics, money.topics) == (None, ("pay.*",))
        assert (money.limits, money.first_carrier) == ({"threshold": 0.5}, 1000)
        assert (money.who, money.why, money.ordered_at_ms) == ("ann@ops", "w", NOW_MS - 60_000)


def test_unknown_loads_are_named_once():
    why = "west regional: away"
    held = f"loads are not known: {why}"
    assert list(reasons(held, why)) == [f"nothing moves that need not: {held}"]
    assert list(reasons("paused", why)) == [
        "nothing moves that need not: paused",
        f"loads are not known: {why}",
    ]


# --- Result of a manual placement order, with the moves that it made.

ORDER = ByHand(**FIELDS, id="one", scope=Scope.STICKY, generation=3)
MOVED = placed(4).model_copy(
    update={"topics": {0: (("orders", (0, 1)),), 1: (("orders", (2,)),)}},
)


def test_moves_are_the_partitions_that_have_another_carrier_than_before():
    found = ManualPlacement(ORDER, None, placed(3), MOVED, None, NOW_MS)
    assert found.moves == [CarrierChange(TopicPartition("orders", 1), 1, 0)]
    first = ManualPlacement(ORDER, None, None, placed(1), None, NOW_MS)
    assert [each.source for each in first.moves] == [None] * 3


def test_without_an_answer_an_order_that_was_written_is_unknown_and_another_stale():
    written = ManualPlacement(ORDER, None, placed(3), None, None, NOW_MS)
    assert (written.result, written.newest_generation) == (Result.UNKNOWN, 3)
    stale = ManualPlacement(ORDER, None, None, None, None, NOW_MS, is_written=False)
    assert (stale.result, stale.newest_generation) == (Result.STALE, 0)
