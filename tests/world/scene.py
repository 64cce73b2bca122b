"""Scene of a history: a route that is mirrored, its load, and what faults may take hold of."""

from __future__ import annotations

import random
from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.mirror.carrier.assembly import MAKERS, Makers
from tests.world.kafka_cluster import KafkaCluster
from tests.world.mirroring import Mirroring
from tests.world.process import Process
from tests.world.source_load import Sender
from tests.world.virtual_loop import VirtualLoop
from tests.world.world import World


@dataclass(slots=True)
class Course:
    """Course of a history.

    Args:
        seconds: virtual time with load and faults.
        fault_seconds: mean time between two faults.
    """

    partitions: int = 3
    carriers: int = 2
    brokers: int = 3
    seconds: float = 60.0
    fault_seconds: float = 2.0


class Scene:
    """Scene of one seed.

    Args:
        makers: of the carriers' parts.
    """

    def __init__(
        self, loop: VirtualLoop, seed: int, course: Course, makers: Makers = MAKERS
    ) -> None:
        self.world = World(loop, seed)
        self.loop, self.seed, self.course, self.makers = loop, seed, course, makers
        self.dice = random.Random(seed)
        self.log: list[str] = []
        self.mirroring = Mirroring(
            self.world,
            ["orders"],
            course.partitions,
            course.brokers,
            ledger_seconds=1.0,
            request_timeout_ms=5000,
        )
        self.senders = [
            Sender(
                self.mirroring.source,
                place,
                random.Random(self.dice.random()),
                old_share=self.dice.choice([0.0, 0.0, 0.3]),
            )
            for place in self.places
        ]

    @property
    def places(self) -> list[TopicPartition]:
        """Partitions that are mirrored."""
        return self.mirroring.places

    @property
    def clusters(self) -> tuple[KafkaCluster, KafkaCluster]:
        """Both clusters of the route: source and target."""
        return self.mirroring.source, self.mirroring.target

    def tell(self, text: str) -> None:
        """Adds a line to the log of the history."""
        self.log.append(f"{self.loop.time():10.4f} {text}")

    async def plan(self) -> None:
        """Begins a new epoch: partitions are shared out anew, among carriers that start now."""
        await self.mirroring.plan()
        places = list(self.places)
        self.dice.shuffle(places)
        count = self.course.carriers
        self.tell(f"plan {self.mirroring.plan_version}: {[p.partition for p in places]}")
        for number in range(count):
            self.mirroring.carrier(number, places[number::count], self.makers)

    def running(self) -> list[Process]:
        """Returns the carriers that run and are not stopped."""
        return [
            it
            for it in self.mirroring.carriers
            if not it.is_dead and not it.is_stopped and not it.has_ended
        ]

    def any_cluster(self) -> KafkaCluster:
        return self.dice.choice(self.clusters)
