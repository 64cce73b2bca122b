"""Scene of two regions: groups that read and are moved, and what faults take hold of."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from balancer.topic_partition import TopicPartition
from replicator.config.names import vectors_group
from replicator.groups.membership.primary_region import joined
from replicator.groups.offset_sync.region_sync import REST_SHARE
from replicator.groups.planning.failover_plan import Plan
from replicator.groups.planning.knowledge import Knowledge, Request
from replicator.groups.planning.offset_planner import plan
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.runtime.store_errors import StoreUnreachable
from tests.world.blocking import in_thread
from tests.world.checks.copies import check_commits, check_runs
from tests.world.checks.decisions import DecisionView, SyncWatch
from tests.world.checks.plans import Truth, check_move
from tests.world.checks.wrong import Wrong
from tests.world.groups.copying import copy_commits, copy_decisions, copy_runs
from tests.world.groups.knowing import NOTHING, Knowing, Lacks
from tests.world.groups.past import Made, Past
from tests.world.groups.reader import Consumer, Group, Kind
from tests.world.groups.syncing import keep_in_step
from tests.world.groups.two_regions import REGIONS, TOPIC, TwoRegions
from tests.world.halting import Halts
from tests.world.kafka.kafka_cluster import INTERNAL_PARTITIONS, KafkaCluster
from tests.world.mirror.redis_keeper import keeper
from tests.world.process import Process
from tests.world.redis_server import RedisServer
from tests.world.virtual_loop import VirtualLoop
from tests.world.world import World

KINDS = (Kind.PLAIN, Kind.TIMED, Kind.RESUMING, Kind.TRACKING)
SESSION_SECONDS = (2.0, 8.0)


@dataclass(slots=True)
class GroupCourse:
    """Course of a history.

    Args:
        seconds: virtual time with load and faults.
        fault_seconds: mean time between two faults.
        move_seconds: mean time between two moves of groups.
        only: names of the faults that are dealt; empty: some of all, by the dice.
        is_contested: True if each group is moved by two operators at the same time.
        kill_share: share of the consumers that are killed, not stopped, before their group moves.
        same_plan_share: share of the moves by two operators in which both apply one plan.
        halt_share: share of the steps of plan writers and offset syncs before which they stand
            still.
        rest_share: how many times its duration a pass of an offset sync pauses.
        early_share: share of the plans while which somebody starts the group in the target.
        early_seconds: choice of times after which that is, once the plan is being applied.
        met_share: share of the groups that somebody starts right before their offsets are written.
    """

    partitions: int = 2
    seconds: float = 32.0
    fault_seconds: float = 2.5
    move_seconds: float = 4.0
    only: tuple[str, ...] = ()
    is_contested: bool = False
    kill_share: float = 0.3
    same_plan_share: float = 0.3
    halt_share: float = 0.0
    rest_share: float = REST_SHARE
    early_share: float = 0.3
    early_seconds: tuple[float, ...] = (0.0, 0.05, 0.2, 0.4)
    met_share: float = 0.0


DECISIONS = GroupCourse(
    seconds=60.0, fault_seconds=6.0, move_seconds=5.0, only=("forget a region's own decisions",)
)
"""Course in which a Redis has the decisions of another region before those of its own."""
CONTESTED = GroupCourse(
    seconds=40.0,
    fault_seconds=10.0,
    move_seconds=1.0,
    only=("new epoch",),
    is_contested=True,
    kill_share=0.05,
    same_plan_share=0.1,
    halt_share=0.8,
    rest_share=0.0,
    early_share=0.05,
    met_share=0.3,
)
"""Course in which two operators move a group at the same time, and stand still before steps."""


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
            for number, kind in enumerate(KINDS)
        ]
        self.groups.append(
            Group("readers-forged", Kind.PLAIN, REGIONS[0], is_forged=True, polls_per_second=0.5)
        )
        self.decisions = {
            name: DecisionView(name, self.regions.aggregate[name], self.regions.redis[name])
            for name in REGIONS
        }
        self.syncs = {
            name: SyncWatch(self.decisions[name], self.truth, self._ever) for name in REGIONS
        }
        self.surveys = {name: self.regions.clients[name].survey(_other(name)) for name in REGIONS}
        for name, past in self.pasts.items():
            past.on_made.append(partial(self._committed, name))
        self.plans = self.exact = self.moved = self.surveyed_plans = self.aged = 0
        self.plan_count = 0
        self.copiers: list[Process] = []
        """Copiers, keepers and offset syncs."""
        self.decision_copiers: dict[str, Process] = {}
        """Copiers of each region's own decisions into its own Redis."""
        self.sync_processes: dict[str, Process] = {}

    def tell(self, text: str) -> None:
        """Adds a line to the log of the history."""
        self.log.append(f"{self.loop.time():10.4f} {text}")

    def any_cluster(self) -> KafkaCluster:
        """Returns a cluster for a fault: aggregates more often, as plans and commits need them."""
        aggregates = [*self.regions.aggregate.values()]
        return self.dice.choice([*aggregates, *self.regions.clusters])

    def any_redis(self) -> RedisServer:
        return self.dice.choice(list(self.regions.redis.values()))

    def running(self) -> list[Process]:
        """Returns the carriers that run and are not stopped."""
        return [it for side in self.regions.sides.values() for it in side.running()]

    @property
    def movable(self) -> list[Group]:
        """Groups that may be moved now."""
        return [it for it in self.groups if not (it.is_moving or it.is_forged)]

    def start_consumer(self, group: Group) -> None:
        """Starts the group's consumer where the group lives; kills the one before."""
        self.stop_consumer(group, is_killed=True)
        dice = random.Random(f"{self.seed} {group.name} {self.loop.time()}")
        consumer = Consumer(group, self.regions, self.truth, self.pasts, dice)
        group.consumer = Process(group.name).start(self._guarded(consumer))

    def pause_consumer(self, group: Group, seconds: float) -> None:
        """Ends the group's consumer for a while, in which nobody moves the group."""
        self.stop_consumer(group, is_killed=False)
        group.is_moving = True

        def start() -> None:
            group.is_moving = False
            self.start_consumer(group)

        self.world.network.outside(self.loop.time() + seconds, start)

    def stop_consumer(self, group: Group, *, is_killed: bool) -> None:
        """Ends the group's consumer; one that is killed stays a member for some time."""
        if group.consumer:
            group.consumer.kill()
            seconds = self.dice.uniform(*SESSION_SECONDS) if is_killed else 0.0
            for members in self.regions.members.values():
                members.end(group.name, seconds)
            group.consumer = None

    def halts(self, name: str) -> Halts:
        """Returns the halts of a process that begins now."""
        dice, course = random.Random(f"{self.seed} {name} {self.loop.time()}"), self.course
        return Halts(dice, course.halt_share, course.seconds)

    async def _guarded(self, consumer: Consumer) -> None:
        try:
            await consumer.run()
        except Wrong as wrong:
            self.loop.fail(wrong)

    def copy(self) -> None:
        """Starts the copiers of each region, its keepers and its offset sync."""
        for copier in self.copiers:
            copier.kill()
        regions, dice = self.regions, random.Random(f"{self.seed} copying {self.loop.time()}")
        self.copiers = []
        for name, past in self.pasts.items():
            url = regions.redis[_other(name)].url
            cluster = regions.aggregate[name]
            self.copiers.append(copy_commits(cluster, name, url, dice))
            for region, server in regions.redis.items():
                self.copiers.append(copy_decisions(cluster, name, server.url, dice))
                if region == name:
                    self.decision_copiers[name] = self.copiers[-1]
            for route in past.runs:
                self.copiers.append(copy_runs(cluster, route, url, dice))
                self.copiers.append(keeper(regions.appliance, route, cluster, dice))
            halts = self.halts(f"offset sync of {name}")
            rest_share = self.course.rest_share
            sync = keep_in_step(regions, name, self.syncs[name], dice, halts, rest_share)
            self.copiers.append(sync)
            self.sync_processes[name] = self.copiers[-1]

    def check_copies(self) -> None:
        """Raises Wrong for copies that are not true."""
        forged = {it.name for it in self.groups if it.is_forged}
        for name, past in self.pasts.items():
            server = self.regions.redis[_other(name)]
            age = check_commits(past, name, server, self.loop.time(), forged)
            self.aged += age is not None
            for route in past.runs:
                check_runs(past, route, server, self.loop.time())

    def _ever(self, group: str) -> Mapping[TopicPartition, set[bytes]]:
        (found,) = (it for it in self.groups if it.name == group)
        return found.ever

    def _committed(self, region: str, made: Made) -> None:
        """Fails the history for a commit of any writer that claims what its group has never read,
        or that has other metadata than its application's."""
        name, topic, partition = made.committed
        place, row = TopicPartition(topic, partition), made.value
        for group in self.groups:
            if vectors_group(group.name) == name:
                row = OffsetAndMetadata(0, row.metadata)
            elif group.name != name or group.is_forged:
                continue
            elif group.kind is Kind.TIMED and row.metadata not in group.metadata:
                self.loop.fail(Wrong(f"{name} has no such metadata, and {region} has {made}"))
            if unread := self.truth.unread(region, place, row, group.ever):
                self.loop.fail(Wrong(f"{name} has not read {unread}, and {region} has {made}"))

    def out_of_step(self, group: Group) -> str:
        """Returns a position that the offset sync has not moved to where the group would go on."""
        now, target = self.loop.time(), _other(group.region)
        logged = [view.logged(group.name, now) for view in self.decisions.values()]
        known = joined(it for it in logged if it).get(group.name)
        if group.is_forged or known is None or known.region != group.region:
            return ""
        numbers = dict.fromkeys(range(INTERNAL_PARTITIONS), now)
        held = self.pasts[target].commits(numbers).get(group.name, {})
        for _, move in self.planned(group, NOTHING, is_complete=True).moves():
            there = held.get(move.topic_partition)
            if move.resume is not None and (there is None or there.offset < move.resume):
                return f"{there} of {group.name} in {target}: {move}"
        return ""

    # -- plans

    async def surveyed(self, group: Group, *, takes_any: bool = True) -> Plan | None:
        """Returns a plan from what the target's servers tell now; None where they do not.

        Args:
            takes_any: False returns None as well for a plan that is not the best one, as long as
                copies and keepers have not mended what Redis lost.
        """
        request = _request(group)
        survey = self.surveys[request.target]
        try:
            known = await in_thread(survey.knowledge, request, int(time.time() * 1000))
        except (AdminError, StoreUnreachable):
            return None
        made = plan(request, known, plan_id="plan", now_ms=0)
        self._check(group, made, known)
        self.surveyed_plans += 1
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
