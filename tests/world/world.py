"""World: clusters in memory on one network, on one loop, decided by one seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.world.kafka import (
    coordinator_log,
    fetch_requests,
    group_requests,
    log_requests,
    transaction_markers,
    transaction_requests,
    transactional_ids,
)
from tests.world.kafka.broker import Handler
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.network import Network
from tests.world.redis_server import RedisServer
from tests.world.virtual_loop import VirtualLoop

HANDLERS: dict[int, Handler] = {
    **log_requests.HANDLERS,
    **fetch_requests.HANDLERS,
    **coordinator_log.HANDLERS,
    **group_requests.HANDLERS,
    **transaction_requests.HANDLERS,
    **transactional_ids.HANDLERS,
}


@dataclass(slots=True)
class World:
    """World of one seed."""

    loop: VirtualLoop
    seed: int
    dice: random.Random = field(init=False)
    network: Network = field(init=False)
    clusters: dict[str, KafkaCluster] = field(default_factory=dict)
    redis: dict[str, RedisServer] = field(default_factory=dict)
    """Redis of each region; a region without one is not reached."""

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.network = Network(self.loop, random.Random(self.dice.random()))
        self.loop.dialer = self.network

    def cluster(self, name: str, brokers: int = 3) -> KafkaCluster:
        """Makes a cluster."""
        made = KafkaCluster(
            name, self.network, random.Random(self.dice.random()), HANDLERS, brokers=brokers
        )
        made.on_leader.append(coordinator_log.load_soon)
        made.on_loaded.append(transaction_markers.go_on)
        made.on_deleted.append(group_requests.forget_topic)
        made.create_internal()
        self.loop.in_background(transaction_requests.abort_late(made))
        self.clusters[name] = made
        return made

    def redis_of(self, region: str) -> RedisServer:
        """Makes the Redis of a region; routes into it find it at its name."""
        dice = random.Random(f"{self.seed} redis {region}")
        made = self.redis[region] = RedisServer(f"{region}-redis", self.network, dice)
        return made
