"""Scene of a history: a route that is mirrored, its load, and what faults may take hold of."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from balancer.topic_partition import TopicPartition
from replicator.mirror.carrier.carrier_assembly import MAKERS, Makers
from replicator.orders.order_records import DEFAULT_STREAM
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.mirror.acceptances import Acceptances
from tests.world.mirror.compactions import Compactions
from tests.world.mirror.config_changes import ConfigChanges, KeptLog
from tests.world.mirror.driving import DrivenMirroring
from tests.world.mirror.hasty_expiry import CHECK_SECONDS, EXPIRY_SECONDS, hastened, renewing
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.parts import PARTS, Parts
from tests.world.mirror.redis_keeper import keeper
from tests.world.mirror.rewinds import Rewinds
from tests.world.mirror.source_load import Sender
from tests.world.process import Process
from tests.world.redis_server import RedisServer
from tests.world.virtual_loop import VirtualLoop
from tests.world.world import World

HASTY_SHARE = 0.3
"""Share of the seeds in which a target forgets producers within seconds."""


@dataclass(frozen=True, slots=True)
class Course:
    """Course of a history.

    Args:
        seconds: virtual time with load and faults.
        fault_seconds: mean time between two faults.
        loses: with faults that lose records; partitions may then stop.
        accepts: with an operator who accepts these losses.
        only: names of the faults that are dealt; empty: some of all, by the dice.
        forgets: True lets the target forget producers within seconds; None: in some seeds.
        old_shares: shares of batches with old records, of which each source partition has one.
        old_seconds: age of these records.
        epoch_seconds: length of an epoch.
        clock_seconds: most by which the clock of a process is ahead or behind.
        keyless_share: share of the records that have no key.
        has_gaps: False lets the source have neither transactions nor compaction: no record waits
            for an entry that covers a gap.
        topics: of the route, each with as many partitions.
        has_streams: with operators who divide the topics among streams.
        has_balancers: with balancers, which place the partitions.
        has_configs: with a second source of the topic, whose configs change there and at the
            target, and with retention.
    """

    topics: tuple[str, ...] = ("orders",)
    partitions: int = 3
    carriers: int = 2
    brokers: int = 3
    seconds: float = 60.0
    fault_seconds: float = 2.0
    loses: bool = False
    accepts: bool = False
    only: tuple[str, ...] = ()
    forgets: bool | None = None
    old_shares: tuple[float, ...] = (0.0, 0.0, 0.3)
    old_seconds: float = 2 * 24 * 3600.0
    epoch_seconds: float = 600.0
    clock_seconds: float = 0.0
    has_gaps: bool = True
    keyless_share: float = 0.0
    has_streams: bool = False
    has_balancers: bool = False
    has_configs: bool = False


class Scene:
    """Scene of one seed.

    Args:
        makers: of the carriers' parts.
        parts: of drivers, balancers and commands.
    """

    def __init__(
        self,
        loop: VirtualLoop,
        seed: int,
        course: Course,
        makers: Makers = MAKERS,
        parts: Parts = PARTS,
    ) -> None:
        self.world = World(loop, seed)
        is_hasty = random.Random(f"{seed} expiry").random() < HASTY_SHARE
        expires_soon = is_hasty if course.forgets is None else course.forgets
        makers = hastened(makers) if expires_soon else makers
        makers = renewing(makers) if course.has_configs else makers
        self.loop, self.seed, self.course, self.makers = loop, seed, course, makers
        self.parts = parts
        self.dice = random.Random(seed)
        self.log: list[str] = []
        self.loads: dict[int, tuple[TopicPartition, ...]] = {}
        """Partitions of each carrier under the last placement."""
        self.mirroring = self._mirroring()
        if course.clock_seconds:
            clocks = random.Random(f"{seed} clocks")
            most = course.clock_seconds
            self.mirroring.make_clock = lambda: clocks.uniform(-most, most)
        if expires_soon:
            target = self.mirroring.target
            target.producer_expiry_seconds = EXPIRY_SECONDS
            loop.in_background(target.keep_forgetting(CHECK_SECONDS))
        self.configs: ConfigChanges | None = None
        """Configs that change; None: they stay as they are."""
        if course.has_configs:
            self.configs = self._config_changes()
        self.compactions = Compactions()
        self.rewinds = Rewinds(self.mirroring.target)
        self.acceptances: Acceptances | None = None
        """Losses that an operator has accepted; None: nobody accepts any."""
        self.is_rewinding = False
        """True while an operator rewinds a partition."""
        self.senders = [
            Sender(
                self.mirroring.source,
                place,
                random.Random(self.dice.random()),
                old_share=self.dice.choice(course.old_shares),
                old_ms=int(course.old_seconds * 1000),
                sparse_share=self.dice.choice([0.0, 0.0, 0.3]) if course.has_gaps else 0.0,
                transactional_share=0.3 if course.has_gaps else 0.0,
                keyless_share=course.keyless_share,
            )
            for place in self.places
        ]
        self.world.redis_of(ROUTE.target)
        self._keeper: Process | None = None
        self._keeper_dice = random.Random(f"{seed} keeper")
        self.keep_maps()

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

    def _mirroring(self) -> DrivenMirroring:
        return DrivenMirroring(
            self.world,
            self.course.topics,
            self.course.partitions,
            self.course.brokers,
            makers=self.makers,
            parts=self.parts,
            tell=self.tell,
            dice=random.Random(f"{self.seed} driving"),
            has_balancers=self.course.has_balancers,
            topic_settings=_topic_settings(self.course) if self.course.has_configs else None,
            carriers_per_route=self.course.carriers,
            ledger_seconds=1.0,
            epoch_seconds=self.course.epoch_seconds,
            request_timeout_ms=5000,
        )

    def _config_changes(self) -> ConfigChanges:
        mirroring = self.mirroring
        (topic,) = self.course.topics
        made = ConfigChanges(topic, mirroring.source, mirroring.other_source, mirroring.target)
        mirroring.make_written = lambda: KeptLog(made.kept)
        return made

    async def plan(self, dice: random.Random | None = None) -> None:
        """Places all partitions anew; where other carriers get some, a new epoch begins.

        Args:
            dice: of a fault that goes on while others are dealt; None: those of the deal.
        """
        dice = dice or self.dice
        standing, count = self.mirroring.standing(), self.course.carriers
        loads: dict[int, list[TopicPartition]] = {}
        for stream in (DEFAULT_STREAM, *standing.streams):
            places = [it for it in self.places if standing.stream_of(it.topic) == stream]
            dice.shuffle(places)
            first = standing.first_carrier(stream)
            numbers = dice.sample(range(first, first + count + 1), count)
            loads |= {number: places[at::count] for at, number in enumerate(numbers)}
        await self.place(loads)

    async def place(self, loads: Mapping[int, Sequence[TopicPartition]]) -> None:
        """Gives carriers these partitions, by their numbers; balancers do that themselves."""
        if self.course.has_balancers:
            return
        self.loads = {number: tuple(some) for number, some in loads.items()}
        told = {
            number: [f"{it.topic}-{it.partition}" for it in some]
            for number, some in self.loads.items()
        }
        self.tell(f"place {told}")
        await self.mirroring.place(self.loads, self.makers)

    def running(self) -> list[Process]:
        """Returns the carriers that run and are not stopped."""
        return [
            it
            for it in self.mirroring.carriers
            if not it.is_dead and not it.is_stopped and not it.has_ended
        ]

    def any_cluster(self) -> KafkaCluster:
        return self.dice.choice(self.clusters)

    def any_redis(self) -> RedisServer:
        return self.dice.choice(list(self.world.redis.values()))

    def keep_maps(self) -> None:
        """Starts the keeper of the offset maps; kills the one before."""
        if self._keeper:
            self._keeper.kill()
        mirroring = self.mirroring
        self._keeper = keeper(mirroring.appliance, ROUTE, mirroring.target, self._keeper_dice)


def _topic_settings(course: Course) -> Mapping[str, Any]:
    return {"refresh_seconds": 1.0, "compact_many_sources": list(course.topics)}
