"""Past traffic: the balancer's windows as records per second by minute."""

import numpy as np
import pytest

from balancer.demand.window_columns import WindowColumns
from balancer.topic_partition import TopicPartition
from replicator.config.topology import Appliance
from tests.tui.facts.watch.told import appliance
from tui.facts.watch.traffic_questions import rates_by_minute, traffic_key, traffic_questions

PLACES = (TopicPartition("orders", 0), TopicPartition("orders", 1))


def look(end_ms: int, seconds: tuple[int, int], records: tuple[int, int]) -> WindowColumns:
    ends = np.array([end_ms, end_ms])
    lengths = np.array(seconds) * 1000
    return WindowColumns(PLACES, ends - lengths, ends, np.array([0, 0]), np.array(records))


def test_rates_of_partitions_add_up_although_their_windows_differ() -> None:
    assert rates_by_minute([look(120_500, (10, 60), (100, 60))]) == {2: 11.0}


def test_several_looks_in_a_minute_have_their_mean() -> None:
    looks = [look(120_500, (10, 10), (100, 0)), look(130_500, (10, 10), (200, 0))]
    assert rates_by_minute([*looks, look(240_000, (10, 10), (0, 0))]) == {2: 15.0, 4: 0.0}


def test_nothing_known_is_no_rate() -> None:
    empty = np.array([], dtype=np.int64)
    assert rates_by_minute([WindowColumns((), empty, empty, empty, empty)]) == {}


def test_each_route_has_a_question_to_its_targets_redis() -> None:
    found = appliance("east", "west")
    asked = traffic_questions(found, found.routes, 3.0)
    assert {each.key for each in asked} == {traffic_key(route) for route in found.routes}
    assert {each.key.server for each in asked} == {"east Redis", "west Redis"}
    # A Redis that is away at first is asked again soon, and then never.
    assert {(each.is_once, each.cadence_seconds) for each in asked} == {(True, 10.0)}


@pytest.fixture
def with_clickhouse() -> Appliance:
    found = appliance("west")
    balance = found.balance.model_copy(update={"history": "clickhouse"})
    return found.model_copy(update={"balance": balance})


def test_a_past_that_clickhouse_keeps_is_not_asked_for(with_clickhouse: Appliance) -> None:
    assert traffic_questions(with_clickhouse, with_clickhouse.routes, 3.0) == []
