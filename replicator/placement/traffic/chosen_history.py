"""Traffic history of a route, as chosen in the configuration."""

from __future__ import annotations

from replicator.clickhouse.errors import ClientSetup
from replicator.config.security import read_secret
from replicator.config.topology import Appliance, Route
from replicator.placement.traffic.redis_history import RedisHistory
from replicator.placement.traffic.traffic_history import MEANWHILE, TrafficHistory

HISTORY_SETUP = ClientSetup(
    "balance.history_clickhouse",
    "balance.history_clickhouse_password_file",
    rights="SELECT, INSERT, CREATE TABLE and ALTER DELETE",
)


def chosen_history(appliance: Appliance, route: Route) -> TrafficHistory:
    """Returns a history in the Redis of the route's target region, or in ClickHouse; does not
    connect yet."""
    settings = appliance.balance
    if not settings.history_clickhouse:
        return RedisHistory(appliance.region(route.target).redis_url(), route.source)
    # The import takes half a second, so it is made only if ClickHouse is used.
    from replicator.clickhouse.server import ClickHouse
    from replicator.placement.traffic.clickhouse_history import ClickHouseHistory

    secret = settings.history_clickhouse_password_file
    server = ClickHouse(
        settings.history_clickhouse,
        HISTORY_SETUP,
        MEANWHILE,
        password=read_secret(secret) if secret else "",
        ca_file=settings.history_clickhouse_ca_file,
    )
    return ClickHouseHistory(server, route.name, days=settings.history_clickhouse_days)
