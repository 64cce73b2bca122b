"""The history of a route's traffic that the configuration asks for."""

from __future__ import annotations

from replicator.config.security import read_secret
from replicator.config.topology import Appliance, Route
from replicator.traffic.redis_history import RedisHistory
from replicator.traffic.traffic_history import TrafficHistory


def chosen_history(appliance: Appliance, route: Route) -> TrafficHistory:
    """Redis of the route's target region, or the one ClickHouse; nothing is asked of it yet."""
    settings = appliance.balance
    if not settings.history_clickhouse:
        return RedisHistory(appliance.region(route.target).redis_url(), route.source)
    # Half a second, for which only those wait who need it.
    from replicator.traffic.clickhouse_history import ClickHouseHistory

    secret = settings.history_clickhouse_password_file
    return ClickHouseHistory(
        settings.history_clickhouse,
        route.name,
        days=settings.history_clickhouse_days,
        password=read_secret(secret) if secret else "",
        ca_file=settings.history_clickhouse_ca_file,
    )
