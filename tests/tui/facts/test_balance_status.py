"""Status from order log, Redis and driver, some of which may be unavailable."""

from replicator.orders.order_records import Hold
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
from tui.facts.balance_status import BalanceStatus, CarrierStatus, is_acting


def balance(order_log=None, rounds=None, driver=None) -> BalanceStatus:
    return BalanceStatus("east", (ROUTE,), NOW_MS, order_log, rounds, driver)


def only_stream(*what):
    (found,) = balance(*what).streams()
    return found


def test_a_balancer_that_has_not_renewed_its_lease_for_half_a_minute_does_not_act():
    assert is_acting(lease(30), NOW_MS)
    assert not is_acting(lease(30.001), NOW_MS)
    assert not is_acting(None, NOW_MS)


def test_carriers_have_their_partitions_from_the_log_and_their_loads_from_the_last_round():
    found = only_stream(log_of(placed()), (status(),), active_plan())
    assert found.carriers == (CarrierStatus(0, 1, 0.9), CarrierStatus(1, 2, 0.4))
    assert (found.generation, found.driver_generation) == (3, 3)


def test_a_carrier_with_one_partition_above_the_bound_is_not_the_heaviest():
    assert only_stream(log_of(placed()), (status(),)).heaviest == 0.4


def test_loads_of_another_placement_are_not_shown_as_those_of_this_one():
    found = only_stream(log_of(placed(generation=4)), (status(),))
    assert found.carriers == (CarrierStatus(0, 1, None), CarrierStatus(1, 2, None))
    assert found.heaviest is None


def test_without_redis_the_log_says_what_is_placed():
    found = only_stream(log_of(placed()))
    assert found.carriers == (CarrierStatus(0, 1, None), CarrierStatus(1, 2, None))
    assert found.driver_generation is None and found.status is None


def test_without_the_log_the_last_round_says_what_is_placed():
    found = only_stream(None, (status(),))
    assert found.carriers == (CarrierStatus(0, 1, 0.9), CarrierStatus(1, 2, 0.4))
    assert found.generation == 3
    assert only_stream(None, ()).generation is None


def test_without_a_placement_carriers_have_their_partitions_from_the_active_plan():
    found = only_stream(log_of(), (), active_plan())
    assert [(it.number, it.partitions) for it in found.carriers] == [(0, 1), (1, 3)]
    assert found.generation == 0


def test_a_stream_that_was_deleted_is_no_longer_shown():
    rounds = (status(), status(stream="money"))
    assert [it.stream for it in balance(log_of(placed()), rounds).streams()] == ["default"]
    assert [it.stream for it in balance(None, rounds).streams()] == ["default", "money"]


def test_orders_are_neither_streams_nor_expired():
    order_log = log_of(stream_of(), Hold(**FIELDS), Hold(**FIELDS, stream="money", until_ms=NOW_MS))
    assert balance(order_log).orders() == [Hold(**FIELDS)]
    assert balance().orders() == []
