"""Histories of traffic: in memory, in Redis, and the one that is chosen."""

from typing import Any
from uuid import UUID

import pytest

from balancer.demand.look_back import LookBack
from balancer.demand.window import Rate, Window
from balancer.demand.window_columns import WindowColumns, summed
from balancer.topic_partition import TopicPartition
from replicator.config.topology import Appliance
from replicator.placement.traffic.chosen_history import chosen_history
from replicator.placement.traffic.clickhouse_history import ClickHouseHistory
from replicator.placement.traffic.log_snapshot import LogState
from replicator.placement.traffic.redis_history import RedisHistory
from replicator.placement.traffic.traffic_history import TrafficHistory

# -- Any TrafficHistory fills a look-back: here one in memory; in Redis, RedisHistory.

NOON = 1_700_000_000_000 // 3_600_000 * 3_600_000
A = TopicPartition("t", 0)


class Remembered:
    """TrafficHistory in the memory of this process."""

    def __init__(self):
        self.looks = []
        self.is_closed = False

    def close(self):
        self.is_closed = True

    def write(self, windows):
        self.looks.append(WindowColumns.of(windows))

    def fine(self, begin_ms, end_ms):
        yield from (look.ending(begin_ms, end_ms) for look in self.looks)

    def coarse(self, begin_ms, end_ms):
        yield summed(look.ending(begin_ms, end_ms) for look in self.looks)


def test_a_look_back_is_filled_from_any_history():
    history: TrafficHistory = Remembered()
    for at in range(10):
        begin = NOON + at * 60_000
        history.write({A: Window(begin, begin + 60_000, 600, 60)})
    back = LookBack()
    now_ms = NOON + 10 * 60_000
    for look in history.coarse(now_ms - 25 * 3_600_000, now_ms):
        back.add_coarse(look)
    for look in history.fine(now_ms - 3_600_000, now_ms):
        back.add(look)
    assert back.rates(now_ms) == {A: Rate(10.0, 1.0)}
    assert back.rates(now_ms + 2 * 3_600_000) == {A: Rate(10.0, 1.0)}


def test_the_store_in_redis_is_one():
    history: TrafficHistory = RedisHistory("redis://localhost:1/0", "west")
    assert history


# -- The history is the one that the configuration chooses.


@pytest.mark.parametrize(
    ("balance", "chosen"),
    [
        ({}, RedisHistory),
        (
            {"history": "clickhouse", "history_clickhouse": "clickhouse://localhost"},
            ClickHouseHistory,
        ),
    ],
)
def test_it_is_in_redis_unless_configured_otherwise_and_does_not_connect_yet(
    balance: dict[str, Any], chosen: type
) -> None:
    region = {
        "regional": {"bootstrap": ["localhost:1"]},
        "aggregate": {"bootstrap": ["localhost:2"]},
        "redis": "redis://localhost:3",
    }
    appliance = Appliance.model_validate({"regions": {"west": region}, "balance": balance})
    history: TrafficHistory = chosen_history(appliance, appliance.route("west>west"))
    assert isinstance(history, chosen)


ID = UUID(int=1)


@pytest.mark.parametrize(
    ("start", "end", "size_bytes", "density"),
    [(10, 30, 4000, 200.0), (0, 30, None, None), (30, 30, 500, None), (0, 30, 0, None)],
)
def test_a_log_says_how_dense_it_is_where_it_has_both_records_and_a_size(
    start, end, size_bytes, density
):
    assert LogState(ID, 1, start, end, size_bytes).density == density
