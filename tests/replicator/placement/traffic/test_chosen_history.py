"""The history is the one that the configuration chooses."""

from typing import Any

import pytest

from replicator.config.topology import Appliance
from replicator.placement.traffic.chosen_history import chosen_history
from replicator.placement.traffic.clickhouse_history import ClickHouseHistory
from replicator.placement.traffic.redis_history import RedisHistory
from replicator.placement.traffic.traffic_history import TrafficHistory


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
