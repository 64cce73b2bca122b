"""Scene of a feed's history that does not depend on the feed's store: cluster, driver, loaders."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable
from contextvars import Context
from typing import Any, Generic, TypeVar

from aggregator.loader.loader_assembly import MAKERS, Makers
from balancer.topic_partition import TopicPartition
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.process import Process
from tests.world.sinks.loaded_feed import LoadedFeed
from tests.world.sinks.sink_loop import SinkLoop
from tests.world.world import World

F = TypeVar("F", bound=LoadedFeed)
GOES_ON_SHARE = 0.5
"""Share of the seeds whose last epoch goes on when the faults have ended."""
LOADER_NUMBER = re.compile(r".*\.(\d+)(~\d+)?$")


class FeedScene(Generic[F]):
    """Scene of one seed.

    Args:
        course: of the history, with the most loaders of a plan.
        makers: of the loaders' parts.
    """

    feeding: F
    checks: Any = None

    def __init__(self, loop: SinkLoop, seed: int, course: Any, makers: Makers = MAKERS) -> None:
        self.world = World(loop, seed)
        self.loop, self.seed, self.course, self.makers = loop, seed, course, makers
        self.dice = random.Random(seed)
        self.log: list[str] = []
        self.senders: list[Any] = []
        self._planning: asyncio.Task[None] | None = None
        self.is_mended = False
        """True once no loader is struck any more."""
        self._planned: list[Process] = []
        """Loaders of the last plan."""
        self.lock = asyncio.Lock()

    def tell(self, text: str) -> None:
        """Adds a line to the log of the history."""
        self.log.append(f"{self.loop.time():10.4f} {text}")

    async def plan(self) -> None:
        """Begins a new epoch: partitions are shared out anew, among loaders that start now."""
        async with self.lock:
            await self._plan()

    async def _plan(self) -> None:
        await self.feeding.plan()
        places = list(self.places)
        self.dice.shuffle(places)
        # A loader that starts under an old number fences its predecessor; another one need not.
        count = self.dice.randint(1, self.course.loaders)
        self.tell(f"plan {self.feeding.plan_version}: {[f'{t}-{n}' for t, n in places]}")
        self._planned = [
            self.feeding.loader(number, places[number::count], self.makers)
            for number in range(count)
        ]

    async def plan_one(self, transactional_id: str, places: list[TopicPartition]) -> None:
        """Begins a new epoch, in which only the loader of an id has partitions."""
        async with self.lock:
            await self.feeding.plan()
            names = [f"{topic}-{number}" for topic, number in places]
            self.tell(f"plan {self.feeding.plan_version}: {names} for {transactional_id}")
            number = int(LOADER_NUMBER.sub(r"\1", transactional_id))
            self._planned = [self.feeding.loader(number, places, self.makers)]

    async def end_faults(self) -> None:
        """Begins a last epoch. In half of the seeds the one before goes on, if all its loaders are
        alive: whatever has happened to them, they have to load the rest without a new plan."""
        self.checks.armed, self.is_mended = None, True
        goes_on = random.Random(f"{self.seed} end").random() < GOES_ON_SHARE
        async with self.lock:
            if goes_on and not any(it.is_dead or it.has_ended for it in self._planned):
                self.tell(f"plan {self.feeding.plan_version} goes on")
            else:
                await self._plan()

    async def store_wakes(self) -> None:
        """Does what the store does when a driver asks it for the first time after a rest."""

    def plan_soon(self) -> None:
        """Begins a new epoch, without waiting for it."""
        self._planning = Context().run(self.loop.in_background, self.plan())

    def holder_of(self, transactional_id: str) -> Process | None:
        """Returns the running loader that has an id; None if it has ended."""
        number = LOADER_NUMBER.sub(r"\1", transactional_id)
        mine = [it for it in self.running() if it.name.startswith(f"loader {number} of")]
        return mine[-1] if mine else None

    def running(self) -> list[Process]:
        """Returns the loaders that run and are not stopped."""
        return [
            it
            for it in self.feeding.loaders
            if not it.is_dead and not it.is_stopped and not it.has_ended
        ]

    @property
    def places(self) -> list[TopicPartition]:
        """Partitions that are loaded."""
        return self.feeding.places

    def any_cluster(self) -> KafkaCluster:
        return self.feeding.cluster


async def until(is_so: Callable[[], bool], every_seconds: float) -> None:
    """Waits until something is so, looking again and again."""
    while True:
        if is_so():
            return
        await asyncio.sleep(every_seconds)
