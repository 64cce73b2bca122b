"""Operators who move groups by plans: they plan, apply, are killed, and repeat each other's work.

Each command is a process that runs the product's planner or plan writer in the target region.
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING

from balancer.topic_partition import TopicPartition
from replicator.groups.failover.outcome import Outcome
from replicator.groups.failover.plan_writer import PlanWriter, Target
from replicator.groups.membership.decisions import RegionDecisions
from replicator.groups.membership.primary_region import decided
from replicator.groups.planning.failover_plan import Plan, decode, encode
from replicator.groups.planning.knowledge import Request
from replicator.groups.planning.recheck import PlanStale, Refused
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.runtime.store_errors import StoreUnreachable
from tests.world.blocking import in_thread, wait
from tests.world.checks.decisions import PlanWatch
from tests.world.checks.wrong import Wrong
from tests.world.groups.group_offsets import Offsets, OnWrite
from tests.world.groups.reader import Group, Kind
from tests.world.groups.two_regions import REGIONS
from tests.world.kafka.kafka_cluster import INTERNAL_PARTITIONS
from tests.world.process import Process

if TYPE_CHECKING:
    from tests.world.groups.scene import GroupScene

ATTEMPTS_MAX = 5
LOOK_SECONDS = 0.02
LOOKS_MAX = 250
BACK_MAX = 60
"""Most offsets that a rewind goes back."""
UNREACHABLE = (AdminError, LogUnreadable, StoreUnreachable)


class Move:
    """Move of one group from the region where it is to the other one.

    Args:
        dice: decides what becomes of each command.
    """

    def __init__(self, scene: GroupScene, group: Group, dice: random.Random) -> None:
        self._scene, self._group, self._dice = scene, group, dice
        self._source = group.region
        (self._target,) = set(REGIONS) - {group.region}
        self._clients = scene.regions.clients[self._target]

    async def run(self) -> None:
        """Stops the group, moves it by a plan, and starts it where it is then."""
        scene, group, dice = self._scene, self._group, self._dice
        group.is_moving = True
        try:
            if dice.random() < 0.7:
                scene.stop_consumer(group, is_killed=dice.random() < scene.course.kill_share)
            operators = 2 if scene.course.is_contested else dice.choice([1, 1, 2])
            plans = [plan for _ in range(operators) if (plan := await self._planned())]
            if operators == 2 and dice.random() < scene.course.same_plan_share:
                plans = plans[:1] * 2
            await asyncio.sleep(dice.choice([0.0, 0.3, 3.0]))
            scene.stop_consumer(group, is_killed=dice.random() < scene.course.kill_share)
            if dice.random() < 0.2 and group.kind is not Kind.TIMED:
                await self._rewind()
            done = await asyncio.gather(
                *(self._moved(it, number, len(plans) > 1) for number, it in enumerate(plans))
            )
            group.region = self._target if any(done) else self._source
            scene.moved += any(done)
            scene.start_consumer(group)
        except Wrong as wrong:
            scene.loop.fail(wrong)
        finally:
            group.is_moving = False

    async def _planned(self) -> Plan | None:
        """Returns a plan; None without an answer, or if it is blocked for good."""
        scene, group = self._scene, self._group
        scene.plan_count += 1
        plan_id = f"plan-{scene.plan_count}"
        may_go_back = self._dice.random() < 0.6
        request = Request(
            source=self._source,
            target=self._target,
            reason="drill",
            groups=frozenset({group.name}),
            may_go_back=frozenset({group.name} if may_go_back else ()),
        )

        def made() -> Plan:
            now_ms = int(time.time() * 1000)
            found, _ = self._clients.plans().plan(request, plan_id=plan_id, now_ms=now_ms)
            return found

        process = Process(f"planning {plan_id}").start(in_thread(made))
        assert process.main is not None
        try:
            found: Plan = await process.main
        except UNREACHABLE as error:
            scene.tell(f"{plan_id} of {group.name}: {error}")
            return None
        blocks = "; ".join(f"{it.name}: {it.text}" for it in found.blocks) or "can be applied"
        scene.tell(f"{plan_id} of {group.name} to {self._target}: {blocks}")
        return decode(encode(found))

    async def _rewind(self) -> None:
        """Sets the group back in its region, as an operator does who wants records read again."""
        scene, group, dice = self._scene, self._group, self._dice
        past, now = scene.pasts[self._source], scene.loop.time()
        held = past.commits(dict.fromkeys(range(INTERNAL_PARTITIONS), now)).get(group.name, {})
        rows = {
            place: OffsetAndMetadata(max(0, row.offset - dice.randint(1, BACK_MAX)), "")
            for place, row in held.items()
        }
        groups = scene.regions.clients[self._source].groups()
        process = Process(f"rewind of {group.name}").start(
            in_thread(groups.write, group.name, rows)
        )
        assert process.main is not None
        try:
            await process.main
        except AdminError as error:
            scene.tell(f"{process.name}: {error}")
            return
        scene.tell(f"{process.name} in {self._source} to {rows}")
        group.rewound_at = scene.loop.time()
        for place, row in rows.items():
            group.read[place] = set(scene.truth.claimed(self._source, place, row))
        await asyncio.sleep(dice.choice([0.0, 0.3, 3.0]))

    async def _moved(self, plan: Plan, number: int, is_contested: bool) -> bool:
        """Applies a plan, again and again until it ends; returns True if the group has moved.

        Args:
            is_contested: True if another operator applies a plan for the group at the same time.
        """
        scene, dice = self._scene, random.Random(f"{self._dice.random()} {number}")
        begins_early = dice.random() < scene.course.early_share
        await asyncio.sleep(dice.choice([0.0, 0.05, 1.0]))
        if dice.random() < 0.3:
            await self._sync_passes()
        for _ in range(ATTEMPTS_MAX):
            if begins_early:
                self._begin_early(dice.choice(scene.course.early_seconds))
            stop_share = 0.5 if begins_early or is_contested else 0.15
            found = await self._attempt(plan, number, dice, stop_share)
            scene.tell(f"apply {plan.id}: {_shown(found)}")
            if isinstance(found, Outcome) and not found.not_done:
                return True
            if isinstance(found, Outcome) and found.overtaken:
                return False
            if isinstance(found, PlanStale):
                return False
            await asyncio.sleep(dice.uniform(0.1, 3.0))
            scene.stop_consumer(self._group, is_killed=False)
            begins_early = dice.random() < 0.1
            if isinstance(found, Refused) and dice.random() < 0.5:
                return False
        return False

    async def _sync_passes(self) -> None:
        """Waits for some time until the target's offset sync has read where groups live."""
        watch = self._scene.syncs[self._target]
        passes = watch.passes
        for _ in range(LOOKS_MAX):
            if watch.passes != passes:
                return
            await asyncio.sleep(LOOK_SECONDS)

    def _begin_early(self, seconds: float) -> None:
        """Lets somebody start the group in the target, though it may not have moved yet."""
        scene, group = self._scene, self._group

        def start() -> None:
            if group.is_moving and group.consumer is None:
                group.region = self._target
                scene.start_consumer(group)

        scene.world.network.outside(scene.loop.time() + seconds, start)

    def _meeting(self, write: OnWrite) -> OnWrite:
        """Returns the write of offsets, which sometimes finds that the group was just started."""
        dice = random.Random(f"{self._scene.seed} {self._scene.loop.time()}")

        def writing(group: str, offsets: Offsets) -> None:
            if dice.random() < self._scene.course.met_share:
                wait(self._starts)
            write(group, offsets)

        return writing

    async def _starts(self) -> None:
        self._begin_early(0.0)

    async def _attempt(
        self, plan: Plan, number: int, dice: random.Random, stop_share: float
    ) -> Outcome | Exception | None:
        """Returns how one command ended; None: it was killed."""
        group, truth = self._group, self._scene.truth
        watch = PlanWatch(
            plan,
            self._scene.decisions[self._target],
            lambda place, row: truth.unread(self._target, place, row, group.read),
            group.rewound_at,
        )
        halts = self._scene.halts(f"{plan.id} of operator {number}")
        groups = self._clients.groups(self._meeting(halts.before(watch.writing)))
        target = Target(
            self._clients.store(halts.before(watch.asking)),
            self._clients.log(halts.before(watch.recording)),
            groups,
            self._clients.admin(),
        )

        begun: set[str] = set()

        def apply() -> Outcome:
            now_ms = int(time.time() * 1000)
            steps = PlanWriter(plan, target).steps(
                self._clients.plans(watch.planned), who="operator", now_ms=now_ms
            )
            while True:
                try:
                    next(steps)
                except StopIteration as end:
                    outcome: Outcome = end.value
                    return outcome
                except (PlanStale, Refused):
                    begun.update(watch.begun())
                    raise

        process = Process(f"apply {plan.id}").start(in_thread(apply))
        assert process.main is not None
        await self._disturb(process, dice, stop_share)
        await asyncio.wait({process.main})
        if process.is_dead:
            return None
        try:
            outcome = await process.main
        except (PlanStale, Refused) as error:
            if self._group.name in begun:
                raise Wrong(f"{plan.id} was begun, and is not finished: {error}") from None
            return error
        except UNREACHABLE as error:
            return error
        watch.ended(outcome, groups.refused, self._was_made)
        return outcome

    async def _disturb(self, process: Process, dice: random.Random, stop_share: float) -> None:
        """Stops or kills some commands on their way."""
        assert process.main is not None
        is_stopped, is_killed = dice.random() < stop_share, dice.random() < 0.3
        if not (is_stopped or is_killed):
            return
        await asyncio.wait({process.main}, timeout=dice.uniform(0.0, 0.4))
        if process.has_ended:
            return
        if is_stopped:
            process.stop()
            try:
                await asyncio.sleep(dice.uniform(0.5, 8.0))
            finally:
                process.resume()
        else:
            process.kill()

    def _was_made(self, group: str, place: TopicPartition, offset: int) -> bool:
        return any(
            it.committed == (group, *place) and it.value.offset == offset
            for it in self._scene.pasts[self._target].made
        )


def _shown(found: Outcome | Exception | None) -> str:
    if found is None:
        return "killed"
    if isinstance(found, Exception):
        return f"{type(found).__name__}: {found}"
    return ", ".join(f"{it.state} {it.why}" for it in found.groups)


async def set_primary(scene: GroupScene, group: Group) -> None:
    """Records that a group lives where it is, as `sluice groups set-primary` does."""
    clients = scene.regions.clients[group.region]

    def record() -> None:
        decisions = RegionDecisions(clients.store(), clients.log())
        now_ms = int(time.time() * 1000)
        before = decisions.all().get(group.name)
        new = decided(
            before, group.name, group.region, at_ms=now_ms, who="operator", why="it lives there"
        )
        decisions.record([new])

    group.is_moving = True
    while True:
        process = Process(f"set-primary of {group.name}").start(in_thread(record))
        assert process.main is not None
        try:
            await process.main
        except UNREACHABLE as error:
            scene.tell(f"{process.name}: {error}")
            await asyncio.sleep(2.0)
        else:
            break
    group.is_moving = False
