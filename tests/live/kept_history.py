"""Traffic histories in a Redis or ClickHouse server, as configured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis import Redis

from deploy.lab.clickhouse import PASSWORD, ClickHouseServer
from deploy.lab.redis import RedisServer
from replicator.config.topology import Appliance, Route
from replicator.placement.traffic.chosen_history import chosen_history
from replicator.placement.traffic.traffic_history import TrafficHistory

TABLES = "sluice_traffic_fine", "sluice_traffic_coarse"


@dataclass(frozen=True, slots=True)
class KeptHistory:
    """A history server, and the configuration of a balancer that uses it."""

    server: RedisServer | ClickHouseServer
    appliance: Appliance

    def of(self, source: str = "west") -> TrafficHistory:
        """Returns a new client of the history, as another process would have."""
        return chosen_history(self.appliance, Route(source, "east"))

    def lose(self) -> None:
        """Deletes everything from the server."""
        if isinstance(self.server, RedisServer):
            with Redis.from_url(self.server.url) as client:
                client.flushall()
        else:
            address = self.appliance.balance.history_clickhouse
            assert address
            with self.server.client(address.database) as client:
                for table in TABLES:
                    client.execute(f"DROP TABLE IF EXISTS {table}")


def in_redis(server: RedisServer) -> KeptHistory:
    return KeptHistory(server, _appliance(server.url, {}))


def in_clickhouse(server: ClickHouseServer, database: str, directory: Path) -> KeptHistory:
    """Histories in an existing database; the password is written to a file in the directory."""
    password_file = directory / "clickhouse-password"
    password_file.write_text(PASSWORD)
    balance = {
        "history": "clickhouse",
        "history_clickhouse": server.address(database),
        "history_clickhouse_password_file": password_file,
    }
    return KeptHistory(server, _appliance("redis://127.0.0.1:1", balance))


def _appliance(redis_url: str, balance: dict[str, Any]) -> Appliance:
    """Returns a configuration whose clusters have unreachable addresses."""
    regions = {
        name: {
            "regional": {"bootstrap": [f"127.0.0.1:{port}"]},
            "aggregate": {"bootstrap": [f"127.0.0.1:{port + 1}"]},
            "redis": redis_url,
        }
        for name, port in (("west", 1), ("east", 3))
    }
    return Appliance.model_validate({"regions": regions, "balance": balance})
