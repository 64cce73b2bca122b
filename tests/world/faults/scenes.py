"""Scenes as faults see them that histories of several kinds have."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

from balancer.topic_partition import TopicPartition
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.redis_server import RedisServer
from tests.world.virtual_loop import VirtualLoop
from tests.world.world import World


class Paced(Protocol):
    """Course of a history."""

    @property
    def fault_seconds(self) -> float:
        """Mean time between two faults."""


class DealtScene(Protocol):
    """Scene that faults are dealt at."""

    dice: random.Random

    @property
    def course(self) -> Paced: ...

    def tell(self, text: str) -> None:
        """Adds a line to the log of the history."""


class ClusterScene(Protocol):
    """Scene with clusters whose brokers fail."""

    dice: random.Random

    def tell(self, text: str) -> None: ...

    def any_cluster(self) -> KafkaCluster: ...


class LogScene(ClusterScene, Protocol):
    """Scene whose logs lose records."""

    @property
    def places(self) -> Sequence[TopicPartition]: ...


class RedisScene(Protocol):
    """Scene with servers of Redis."""

    dice: random.Random
    loop: VirtualLoop
    world: World

    def tell(self, text: str) -> None: ...

    def any_redis(self) -> RedisServer: ...
