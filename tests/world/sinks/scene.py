"""Scene of a feed's history: its cluster, its shard, its loaders, and its load."""

from __future__ import annotations

import asyncio
import math
import random
import re
from contextvars import Context
from dataclasses import dataclass

from aggregator.intents.intent import Intent
from aggregator.loader.assembly import MAKERS, Makers
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.process import Process
from tests.world.sinks.feed_load import FeedSender
from tests.world.sinks.feeding import Feeding
from tests.world.sinks.server import Server
from tests.world.sinks.sink_loop import SinkLoop
from tests.world.sinks.step_checks import StepChecks
from tests.world.world import World

SHARDS = ((3, 2), (3, 2), (2, 2), (2, 0))
"""Numbers of replicas, and quorums."""
WINDOW_SECONDS = 30.0
"""Time for which hashes of blocks are kept. Longer than any server is stopped: operators have to
choose it so (docs/aggregate.md)."""


@dataclass(frozen=True, slots=True)
class Course:
    """Course of a history.

    Args:
        loaders: most loaders of one plan.
        seconds: virtual time with load and faults.
        fault_seconds: mean time between two faults.
        only: names of the faults that are dealt; empty: some of all, by the dice.
        shard: numbers of replicas and of the quorum; None: by the dice.
        stalls: table that takes no inserts while there is load; then nothing else fails.
        bound_seconds: time within which each record of the other tables is stored.
    """

    topics: tuple[str, ...] = ("orders", "clicks")
    partitions: int = 2
    loaders: int = 3
    brokers: int = 3
    seconds: float = 60.0
    fault_seconds: float = 2.5
    only: tuple[str, ...] = ()
    shard: tuple[int, int] | None = None
    stalls: str = ""
    bound_seconds: float = math.inf


class Scene:
    """Scene of one seed.

    Args:
        makers: of the loaders' parts.
    """

    def __init__(self, loop: SinkLoop, seed: int, course: Course, makers: Makers = MAKERS) -> None:
        self.world = World(loop, seed)
        self.loop, self.seed, self.course, self.makers = loop, seed, course, makers
        self.dice = random.Random(seed)
        self.log: list[str] = []
        drawn = self.dice.choice(SHARDS)
        replicas, quorum = course.shard or drawn
        self.feeding = Feeding(
            self.world,
            course.topics,
            course.partitions,
            course.brokers,
            replicas,
            quorum,
            WINDOW_SECONDS,
        )
        self.senders = [
            FeedSender(self.feeding.cluster, place, random.Random(self.dice.random()))
            for place in self.feeding.places
        ]
        self.checks: StepChecks | None = None
        self._planning: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        loop.at_end.append(self.feeding.kill_all)
        self.tell(f"{replicas} replicas, quorum {quorum}")

    def tell(self, text: str) -> None:
        """Adds a line to the log of the history."""
        self.log.append(f"{self.loop.time():10.4f} {text}")

    async def begin(self) -> None:
        """Adopts the partitions, and begins to check."""
        await self.feeding.begin()
        self.checks = StepChecks(self.loop, self.feeding)

    async def plan(self) -> None:
        """Begins a new epoch: partitions are shared out anew, among loaders that start now."""
        async with self._lock:
            await self._plan()

    async def _plan(self) -> None:
        await self.feeding.plan()
        places = list(self.feeding.places)
        self.dice.shuffle(places)
        # A loader that starts under an old number fences its predecessor; another one need not.
        count = self.dice.randint(1, self.course.loaders)
        self.tell(f"plan {self.feeding.plan_version}: {[f'{t}-{n}' for t, n in places]}")
        for number in range(count):
            self.feeding.loader(number, places[number::count], self.makers)

    def plan_soon(self) -> None:
        """Begins a new epoch, without waiting for it."""
        self._planning = self.loop.create_task(self.plan(), context=Context())

    def holder_of(self, intent: Intent) -> Process | None:
        """Returns the running loader that holds a partition; None if it has ended."""
        number = re.sub(r".*\.(\d+)(~\d+)?$", r"\1", intent.transactional_id)
        mine = [it for it in self.running() if it.name.startswith(f"loader {number} of")]
        return mine[-1] if mine else None

    def running(self) -> list[Process]:
        """Returns the loaders that run and are not stopped."""
        return [
            it
            for it in self.feeding.loaders
            if not it.is_dead and not it.is_stopped and not it.has_ended
        ]

    def any_cluster(self) -> KafkaCluster:
        return self.feeding.cluster

    def any_server(self) -> Server:
        return self.dice.choice(list(self.feeding.servers.values()))
