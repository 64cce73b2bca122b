"""A stream's own setting overrides its route's, and that overrides the general one."""

from typing import Any

from balancer.demand.carrier_memory import partitions_within
from balancer.demand.window import Rate
from replicator.config.balance_settings import MEMORY_MIB_MIN, BalanceSettings
from replicator.config.topology import Route
from replicator.orders.order_records import Stream
from replicator.placement.rounds.route_settings import settings_of

ROUTE = Route("west", "east")


def of(table: dict[str, Any], stream: Stream | None = None, partitions: int = 2):
    settings = BalanceSettings(**table)
    return settings_of(settings, ROUTE, stream, slots=4, partitions=partitions)


def stream(**own: Any) -> Stream:
    order: Any = {"route": "west.east", "at_ms": 1, "who": "ann", "name": "s", "topics": ("a",)}
    return Stream(**order, first_carrier=1000, **own)


def test_a_streams_setting_overrides_its_routes_and_that_the_general_one():
    table = {"threshold": 0.5, "routes": {"west>east": {"threshold": 0.6}}}
    assert of({"threshold": 0.5}).limits.threshold == 0.5
    assert of(table).limits.threshold == 0.6
    assert of(table, stream()).limits.threshold == 0.6
    assert of(table, stream(threshold=0.7)).limits.threshold == 0.7
    assert of({"routes": {"west>east": {"lag_seconds_max": 5.0}}}).rules.lag_seconds_max == 5


def test_without_a_limit_there_are_as_many_carriers_as_task_slots():
    assert of({}).limits.carriers_max == 4
    assert of({"carriers_max": 3}).limits.carriers_max == 3
    assert of({"carriers_min": 6}).limits.carriers_max == 6


def test_memory_limits_the_number_of_partitions():
    room = partitions_within(1 << 30)
    assert 1000 < room < 100_000
    found = of({"memory_mib": 1024, "partitions_max": 1_000_000}).limits
    assert (found.partitions_max, found.room_setting) == (room, "memory_mib")
    found = of({"memory_mib": 1024, "partitions_max": 10}).limits
    assert (found.partitions_max, found.room_setting) == (10, "partitions_max")
    assert of({"memory_mib": 0}).limits.partitions_max == 10_000


def test_a_stream_may_have_another_cap_on_memory_or_none():
    table = {"memory_mib": 1024, "partitions_max": 1_000_000}
    assert of(table, stream(memory_mib=800)).limits.partitions_max == partitions_within(800 << 20)
    assert of(table, stream(memory_mib=0)).limits.partitions_max == 1_000_000


def test_the_least_memory_that_may_be_configured_is_enough_for_some_partitions():
    assert of({"memory_mib": MEMORY_MIB_MIN}).limits.partitions_max >= 100


def test_a_capacity_counts_bytes_alone():
    model = of({"routes": {"west>east": {"capacity_mib_per_second": 10.0}}}).model
    rate = Rate(7 * 1024 * 1024, 1_000_000)
    assert abs(model.share(rate) - 0.7) < 1e-12
    assert model.share(rate, opened_part=1.0) == model.share(rate)


def test_without_a_capacity_records_that_have_to_be_opened_cost_more():
    model = of({}).model
    rate = Rate(1_000_000, 100_000)
    assert model.share(rate, opened_part=1.0) > 20 * model.share(rate)


def test_in_a_large_stream_more_may_move_at_once():
    assert of({}).rules.moves_max == 100
    assert of({}, partitions=5000).rules.moves_max == 500
    assert of({"moves_max": 3}, partitions=5000).rules.moves_max == 3
