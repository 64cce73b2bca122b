"""Scene of a feed's history: its cluster, its shard, its loaders, and its load."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from aggregator.loader.loader_assembly import MAKERS, Makers
from balancer.topic_partition import TopicPartition
from tests.replicator.batches.source_batches import Record
from tests.world.sinks.accepting import Accepting
from tests.world.sinks.feed_load import FeedSender, wanted
from tests.world.sinks.feed_scene import FeedScene, until
from tests.world.sinks.feeding import Feeding
from tests.world.sinks.letters import KINDS as REFUSING
from tests.world.sinks.letters import Letters, LetterSender
from tests.world.sinks.loaded_feed import Driving
from tests.world.sinks.loader_faults import WINDOW_SECONDS, later
from tests.world.sinks.log_checks import LogChecks
from tests.world.sinks.poison import Defect, PoisonSender
from tests.world.sinks.resting import KINDS as RESTING
from tests.world.sinks.server import Server
from tests.world.sinks.sink_loop import SinkLoop
from tests.world.sinks.step_checks import PARKED_SECONDS, StepChecks

SHARDS = ((3, 2), (3, 2), (2, 2), (2, 0))
"""Numbers of replicas, and quorums."""


@dataclass(frozen=True, slots=True)
class Course:
    """Course of a history.

    Args:
        loaders: most loaders of one plan.
        seconds: virtual time with load and faults.
        fault_seconds: mean time between two faults.
        only: names of the faults that are dealt; empty: some of all, by the dice.
        shard: numbers of replicas and of the quorum; None: by the dice.
        tables: of the feed, with their shares of the records; None: the usual ones.
        stalls: tables that take no inserts while there is load; then nothing else fails, unless
            they return.
        returns_seconds: time after which these take inserts again, and then no more; 0: none.
        block_mib: size of blocks, None: that of the product. Small ones soon fill a partition.
        block_seconds: age at which blocks are sealed; None: soon.
        filling: characters by which each row is longer.
        bound_seconds: time within which each record of the other tables is stored.
        letters: records become dead letters of every shape, and their topic does not take all.
        poison: loaders fail at some records.
        poison_share: share of records that become dead letters so, and none at which loaders fail.
        driving: driver that looks for partitions again and again; None: the first look is the only
            one.
        clocks: loaders and drivers have wall clocks of their own.
        accepting: acceptance of what logs lose, by an operator; None: they lose nothing.
        fetch_bytes: most of an answer to a fetch, None: as Kafka has it. Small ones make reading
            again take long.
    """

    topics: tuple[str, ...] = ("orders", "clicks")
    partitions: int = 2
    loaders: int = 3
    brokers: int = 3
    seconds: float = 60.0
    fault_seconds: float = 2.5
    only: tuple[str, ...] = ()
    shard: tuple[int, int] | None = None
    tables: Mapping[str, int] | None = None
    stalls: tuple[str, ...] = ()
    returns_seconds: float = 0.0
    block_mib: float | None = None
    block_seconds: float | None = None
    filling: int = 0
    bound_seconds: float = math.inf
    letters: bool = False
    poison: bool = False
    poison_share: float | None = None
    driving: Driving | None = None
    clocks: bool = False
    accepting: Accepting | None = None
    fetch_bytes: int | None = None

    @property
    def wait_seconds(self) -> float:
        """Longest wait of a record that is allowed while there is load; 0: that is not checked."""
        if self.poison and not self.accepting:
            return PARKED_SECONDS
        return self.bound_seconds if self.stalls and self.bound_seconds < math.inf else 0.0


KILLS = Course(
    fault_seconds=0.7,
    only=(
        "strike a loader after some turns",
        "strike a loader at its request",
        "kill a server",
        "lose answers",
    ),
)
"""Course of loaders that are killed and stopped between any two steps."""
RESTS = Course(
    partitions=2,
    topics=("orders",),
    seconds=400.0,
    fault_seconds=5.0,
    only=(*RESTING, "rebuild a server"),
    driving=Driving(),
)
"""Course of loaders and drivers that are away for longer than progress is kept."""
LETTERS = Course(
    topics=("orders",),
    partitions=3,
    loaders=2,
    seconds=30.0,
    fault_seconds=1.5,
    only=REFUSING,
    letters=True,
)
"""Course of dead letters that their topic refuses, or does not take as a whole."""


def is_dead(_: TopicPartition, record: Record) -> bool:
    """Returns True if a record has to become a dead letter."""
    return wanted(record).is_dead


class Scene(FeedScene[Feeding]):
    """Scene of one seed.

    Args:
        makers: of the loaders' parts.
    """

    def __init__(self, loop: SinkLoop, seed: int, course: Course, makers: Makers = MAKERS) -> None:
        super().__init__(loop, seed, course, makers)
        drawn = self.dice.choice(SHARDS)
        replicas, quorum = course.shard or drawn
        options: dict[str, Any] = {"block_mib": course.block_mib}
        options |= {"block_seconds": course.block_seconds, "tables": course.tables}
        self.feeding = Feeding(
            self.world,
            course.topics,
            course.partitions,
            course.brokers,
            replicas,
            quorum,
            WINDOW_SECONDS,
            course.accepting is not None,
            **{name: value for name, value in options.items() if value is not None},
        )
        if course.fetch_bytes:
            self.feeding.cluster.fetch_bytes_max = course.fetch_bytes
        make_sender = LetterSender if course.letters else FeedSender
        if course.poison:
            make_sender, self.feeding.defect = PoisonSender, Defect()
            if (share := course.poison_share) is not None:
                make_sender = partial(PoisonSender, poison_share=share, fatal_share=0.0)
        self.senders = [
            make_sender(self.feeding.cluster, place, random.Random(self.dice.random()))
            for place in self.feeding.places
        ]
        for sender in self.senders:
            sender.weights, sender.filling = course.tables or sender.weights, course.filling
        self.checks: StepChecks | None = None
        if course.clocks:
            self.feeding.clock_dice = random.Random(f"{seed} clocks")
        self.letters = Letters(self.feeding, is_dead) if course.letters else None
        if course.driving:
            self.feeding.drive(course.driving, self.plan_soon)
        loop.at_end.append(self.feeding.kill_all)
        self.tell(f"{replicas} replicas, quorum {quorum}")

    async def begin(self) -> None:
        """Adopts the partitions, and begins to check."""
        await self.feeding.begin()
        make_checks = LogChecks if self.course.accepting else StepChecks
        self.checks = make_checks(self.loop, self.feeding)
        if self.letters:
            self.letters.begin()

    async def store_wakes(self) -> None:
        """In half of the rests, has one server tell a part of the rows, as it was rebuilt just
        now, while the others are silent."""
        tables = [it.name for it in self.feeding.keeper.tables.values() if it.log]
        server, seconds = self.any_server(), self.dice.uniform(8.0, 20.0)
        if self.dice.random() < 0.5 or not tables or not server.rebuild():
            return
        server.create_tables()
        await until(lambda: all(server.parts[name] for name in tables), 0.001)
        self.tell(f"{server.name} has few rows, and the others are away for {seconds:.0f} s")
        for other in self.feeding.servers.values():
            if other is not server:
                other.kill()
                later(self, seconds, other.start)

    def any_server(self) -> Server:
        return self.dice.choice(list(self.feeding.servers.values()))
