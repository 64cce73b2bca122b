"""Regions under unique names, so that a test has its own ledgers, ids and runs topics."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from replicator.config.topology import Appliance, Route

TARGET = "home"


class Regions:
    """Several source regions, each with a route into one target.

    Args:
        sources: clusters, by the region names that the test uses.
    """

    def __init__(
        self, sources: Mapping[str, KafkaCluster], target: KafkaCluster, redis: RedisServer
    ) -> None:
        mark = uuid.uuid4().hex[:8]
        self.sources, self.target, self.redis = dict(sources), target, redis
        self.home = f"{TARGET}-{mark}"
        self.routes = {name: Route(f"{name}-{mark}", self.home) for name in sources}

    @property
    def uses_tls(self) -> bool:
        ends = (self.target, *self.sources.values())
        return any(end.credentials.uses_tls for end in ends)

    def appliance(self, start: str | int, replicator: Mapping[str, object]) -> Appliance:
        """Returns the configuration; clusters that no route uses get unreachable addresses."""
        nowhere = (f"127.0.0.1:{port}" for port in range(1, 1000))
        tables = {
            self.routes[name].source: {
                "regional": cluster.topology_table(),
                "aggregate": {"bootstrap": [next(nowhere)]},
                "redis": self.redis.url,
            }
            for name, cluster in self.sources.items()
        }
        tables[self.home] = {
            "regional": {"bootstrap": [next(nowhere)]},
            "aggregate": self.target.topology_table(),
            "redis": self.redis.url,
        }
        return Appliance.model_validate(
            {
                "regions": tables,
                "routes": [route.name for route in self.routes.values()],
                # Of no driver here. Carriers reckon from it how long a limit may still be raised.
                "topics": {"start": start, "refresh_seconds": 1.0},
                "replicator": dict(replicator),
            }
        )
