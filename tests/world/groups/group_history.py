"""History of two regions by seed: groups read, are moved by plans, and skip nothing.

While it lasts, plans are made from whatever a planner may have heard, and compared with the truth.
At the end everything is known, and every plan has to be the best one.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from replicator.groups.failover.outcome import planned
from replicator.groups.planning.knowledge import Knowledge, Request
from replicator.groups.planning.plan import GroupPlan, Plan
from replicator.groups.planning.planner import plan
from replicator.kafka.client.cluster import Cluster
from replicator.runtime.store_errors import StoreUnreachable
from tests.world.checks.copies import check_commits, check_runs
from tests.world.checks.plans import Truth, check_move
from tests.world.checks.wrong import Wrong, shown
from tests.world.faults import groups as group_faults
from tests.world.faults.dealer import Dealer
from tests.world.groups.copying import copy_commits, copy_runs
from tests.world.groups.knowing import NOTHING, Knowing, Lacks
from tests.world.groups.past import Past
from tests.world.groups.reader import Consumer, Group, Kind, commit
from tests.world.groups.surveying import surveyed
from tests.world.groups.two_regions import REGIONS, TOPIC, TwoRegions
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.mirror.redis_keeper import keeper
from tests.world.process import Process
from tests.world.redis_server import RedisServer
from tests.world.virtual_loop import VirtualLoop, run
from tests.world.world import World

QUIET_SECONDS = 180.0
LACKS = (
    NOTHING,
    Lacks(seconds=2.0),
    Lacks(seconds=10.0),
    Lacks(pieces=0.3),
    Lacks(seconds=5.0, pieces=0.5, entries=0.3),
    Lacks(seconds=5.0, pieces=1.0),
    Lacks(seconds=30.0, pieces=0.1, entries=1.0),
    Lacks(seconds=10.0, is_cut_off=True),
    Lacks(seconds=10.0, pieces=1.0, is_cut_off=True),
)


@dataclass(slots=True)
class GroupCourse:
    """Course of a history.

    Args:
        seconds: virtual time with load and faults.
        fault_seconds: mean time between two faults.
    """

    partitions: int = 2
    seconds: float = 40.0
    fault_seconds: float = 2.5


@dataclass(slots=True)
class GroupOutcome:
    """Result of a history, as numbers."""

    seed: int
    records: int
    plans: int
    exact: int
    moved: int
    surveys: int
    aged: int
    skipped: int
    steps: int
    seconds: float
    log: list[str]


class GroupScene:
    """Scene of one seed, with what faults take hold of."""

    def __init__(self, loop: VirtualLoop, seed: int, course: GroupCourse) -> None:
        self.world = World(loop, seed)
        self.loop, self.seed, self.course = loop, seed, course
        self.dice = random.Random(seed)
        self.log: list[str] = []
        self.regions = TwoRegions(self.world, course.partitions)
        self.truth = Truth.of(self.regions)
        self.pasts = {
            name: Past(
                self.regions.aggregate[name],
                self.regions.appliance.routes_into(name),
                TOPIC,
                loop.time,
            )
            for name in REGIONS
        }
        self.knowing = Knowing(self.regions, self.pasts, random.Random(f"{seed} knowing"))
        self.groups = [
            Group(f"readers-{kind.value}-{number}", kind, REGIONS[number % 2])
            for number, kind in enumerate([Kind.PLAIN, Kind.PLAIN, Kind.RESUMING, Kind.TRACKING])
        ]
        self.plans = self.exact = self.moved = self.surveys = self.aged = 0
        self.copiers: list[Process] = []
        self.operators = {
            name: Cluster(f"operator in {name}", self.regions.appliance.region(name).aggregate)
            for name in REGIONS
        }

    def tell(self, text: str) -> None:
        """Adds a line to the log of the history."""
        self.log.append(f"{self.loop.time():10.4f} {text}")

    def any_cluster(self) -> KafkaCluster:
        return self.dice.choice(list(self.regions.aggregate.values()))

    def any_redis(self) -> RedisServer:
        return self.dice.choice(list(self.regions.redis.values()))

    def running(self) -> list[Process]:
        """Returns the carriers that run and are not stopped."""
        return [it for side in self.regions.sides.values() for it in side.running()]

    def start_consumer(self, group: Group) -> None:
        """Starts the group's consumer where the group lives; kills the one before."""
        if group.consumer:
            group.consumer.kill()
        dice = random.Random(f"{self.seed} {group.name} {self.loop.time()}")
        consumer = Consumer(group, self.regions, self.truth, self.pasts, dice)
        group.consumer = Process(group.name).start(self._guarded(consumer))

    async def _guarded(self, consumer: Consumer) -> None:
        try:
            await consumer.run()
        except Wrong as wrong:
            self.loop.fail(wrong)

    def copy(self) -> None:
        """Starts the copiers of each region into the Redis of the other one, and its keepers."""
        for copier in self.copiers:
            copier.kill()
        regions, dice = self.regions, random.Random(f"{self.seed} copying {self.loop.time()}")
        self.copiers = []
        for name, past in self.pasts.items():
            url = regions.redis[_other(name)].url
            cluster = regions.aggregate[name]
            self.copiers.append(copy_commits(cluster, name, url, dice))
            for route in past.runs:
                self.copiers.append(copy_runs(cluster, route, url, dice))
                self.copiers.append(keeper(regions.appliance, route, cluster, dice))

    def check_copies(self) -> None:
        """Raises Wrong for copies that are not true."""
        for name, past in self.pasts.items():
            server = self.regions.redis[_other(name)]
            age = check_commits(past, name, server, self.loop.time())
            self.aged += age is not None
            for route in past.runs:
                check_runs(past, route, server, self.loop.time())

    # -- plans

    async def surveyed(self, group: Group, *, takes_any: bool = True) -> Plan | None:
        """Returns a plan from what the target's servers tell now; None where they do not.

        Args:
            takes_any: False returns None as well for a plan that is not the best one, as long as
                copies and keepers have not mended what Redis lost.
        """
        request = _request(group)
        client = self.operators[request.target]
        try:
            known = await surveyed(self.regions, self.pasts, client, request)
        except StoreUnreachable:
            return None
        made = plan(request, known, plan_id="plan", now_ms=0)
        self._check(group, made, known)
        self.surveys += 1
        if not takes_any:
            try:
                self._check(group, made, known, is_of_one_moment=True, is_complete=True)
            except Wrong as wrong:
                self.tell(f"not the best yet: {wrong}")
                return None
        return made

    def planned(self, group: Group, lacks: Lacks, *, is_complete: bool = False) -> Plan:
        """Returns a plan to move a group to the other region, compared with the truth."""
        request = _request(group)
        known = self.knowing.knowledge(request.source, request.target, [group.name], lacks)
        made = plan(request, known, plan_id="plan", now_ms=0)
        self._check(group, made, known, is_of_one_moment=not lacks.seconds, is_complete=is_complete)
        return made

    def _check(
        self,
        group: Group,
        made: Plan,
        known: Knowledge,
        *,
        is_of_one_moment: bool = False,
        is_complete: bool = False,
    ) -> None:
        for _, move in made.moves():
            progress = known.commits[group.name].get(move.topic_partition)
            if progress is None:
                continue
            check_move(
                self.truth,
                move,
                progress,
                made.source,
                made.target,
                known.partitions[move.topic_partition].there.log_end or 0,
                is_of_one_moment=is_of_one_moment,
                is_complete=is_complete,
            )
            self.plans += 1
            self.exact += move.basis == "exact"

    async def move(self, group: Group, lacks: Lacks) -> None:
        """Moves a group by a plan that was made from what is known; its consumer starts anew."""
        if group.consumer:
            group.consumer.kill()
        is_real = self.dice.random() < 0.5
        made = await self.surveyed(group) if is_real else self.planned(group, lacks)
        if made is not None:
            await self._apply(group, made)
        self.start_consumer(group)

    async def _apply(self, group: Group, made: Plan) -> None:
        (found,) = made.groups
        if made.completeness.mapped == made.completeness.asked and found.moves:
            await self._write(group, found, made.target)

    async def _write(self, group: Group, found: GroupPlan, target: str) -> None:
        rows = planned(found)
        self.tell(f"move {group.name} to {target}: {rows}")
        await commit(self.operators[target], group.name, rows)
        group.region = target
        self.moved += 1


def _other(region: str) -> str:
    (other,) = set(REGIONS) - {region}
    return other


def _request(group: Group) -> Request:
    return Request(
        source=group.region,
        target=_other(group.region),
        reason="",
        groups=frozenset({group.name}),
    )


class GroupHistory:
    """History of one scene."""

    def __init__(self, scene: GroupScene) -> None:
        self.scene = scene
        self.dealer = Dealer(scene.seed, group_faults.FAULTS)
        self.is_loaded = True

    async def run(self) -> GroupOutcome:
        scene, loop = self.scene, self.scene.loop
        for side in scene.regions.sides.values():
            await side.begin()
        for operator in scene.operators.values():
            await operator.open({TOPIC})
        load = [
            asyncio.create_task(it.keep_sending(lambda: self.is_loaded, 6, 1.5))
            for it in scene.regions.senders
        ]
        scene.copy()
        for group in scene.groups:
            scene.start_consumer(group)
        probing = asyncio.create_task(self._probe())
        while loop.time() < scene.course.seconds:
            await self.dealer.deal(cast(Any, scene))
        self.is_loaded = False
        scene.tell("all is mended")
        group_faults.mend(scene)
        await asyncio.gather(*load)
        await self._settle()
        probing.cancel()
        await self._close()
        return GroupOutcome(
            scene.seed,
            sum(len(it.acknowledged) for it in scene.regions.senders),
            scene.plans,
            scene.exact,
            scene.moved,
            scene.surveys,
            scene.aged,
            sum(it.skipped for it in scene.groups),
            loop.steps,
            loop.time(),
            scene.log,
        )

    async def _probe(self) -> None:
        """Makes plans from what may be known, again and again."""
        dice = random.Random(f"{self.scene.seed} probe")
        while True:
            await asyncio.sleep(dice.uniform(0.5, 1.5))
            try:
                self.scene.check_copies()
                for group in self.scene.groups:
                    self.scene.planned(group, dice.choice(LACKS))
                if dice.random() < 0.3:
                    await self.scene.surveyed(dice.choice(self.scene.groups))
            except Wrong as wrong:
                self.scene.loop.fail(wrong)

    async def _settle(self) -> None:
        """Waits until all records are everywhere and read; then every plan has to be the best."""
        scene = self.scene
        for side in scene.regions.sides.values():
            await side.plan()
        give_up_at = scene.loop.time() + QUIET_SECONDS
        while missing := self._missing():
            if scene.loop.time() > give_up_at:
                raise Wrong(missing)
            await asyncio.sleep(1.0)
        # Entries and runs of the last records follow within a moment.
        await asyncio.sleep(5.0)
        for group in scene.groups:
            scene.planned(group, NOTHING, is_complete=True)
            await self._survey(group, give_up_at)

    async def _survey(self, group: Group, give_up_at: float) -> None:
        """Waits until what Redis lost is mended: then the same holds by the survey's answers."""
        scene = self.scene
        while await scene.surveyed(group, takes_any=False) is None:
            if scene.loop.time() > give_up_at:
                raise Wrong(f"the plan for {group.name} does not become the best one")
            await asyncio.sleep(1.0)

    def _missing(self) -> str:
        truth = self.scene.truth
        for place in self.scene.regions.places:
            sent = {value for name in REGIONS for value in truth.regional[name][place].values}
            for name in REGIONS:
                if left := sent - set(truth.aggregate[name][place].values):
                    return f"{len(left)} records of {place} are missing in {name}"
            for group in self.scene.groups:
                if left := sent - group.read.get(place, set()):
                    return f"{group.name} in {group.region} misses {len(left)} records of {place}"
        return ""

    async def _close(self) -> None:
        scene = self.scene
        for group in scene.groups:
            if group.consumer:
                group.consumer.kill()
        for copier in scene.copiers:
            copier.kill()
        for side in scene.regions.sides.values():
            await side.close()
        for operator in scene.operators.values():
            await operator.close()


def play_groups(seed: int, course: GroupCourse | None = None) -> GroupOutcome:
    """Plays the history of a seed; raises Wrong with the history's log."""
    random.seed(seed)
    scenes: list[GroupScene] = []

    async def main(loop: VirtualLoop) -> GroupOutcome:
        scenes.append(GroupScene(loop, seed, course or GroupCourse()))
        return await GroupHistory(scenes[0]).run()

    try:
        found: GroupOutcome = run(main)
    except Exception as wrong:
        log: Sequence[str] = scenes[0].log if scenes else []
        raise Wrong(f"seed {seed}: {shown(wrong)}", log) from wrong
    return found
