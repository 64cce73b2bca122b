"""History of two regions by seed: groups read, are moved by plans, and skip nothing.

While it lasts, plans are made from whatever a planner may have heard, and compared with the truth.
At the end everything is known, and every plan has to be the best one.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection
from dataclasses import dataclass

from tests.world.checks.wrong import Wrong
from tests.world.faults import groups as group_faults
from tests.world.faults.dealer import BURSTS, Dealer, OwnDice
from tests.world.groups.knowing import NOTHING, Lacks
from tests.world.groups.moving import Move, set_primary
from tests.world.groups.reader import Group
from tests.world.groups.scene import GroupCourse, GroupScene
from tests.world.groups.two_regions import REGIONS
from tests.world.replay import WHOLE, Replay, replayed
from tests.world.virtual_loop import VirtualLoop

QUIET_SECONDS = 180.0
FOLLOW_SECONDS = 10.0
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
class GroupOutcome:
    """Result of a history, as numbers."""

    seed: int
    records: int
    plans: int
    exact: int
    moved: int
    surveys: int
    aged: int
    synced: int
    skipped: int
    steps: int
    seconds: float
    log: list[str]


class GroupHistory:
    """History of one scene.

    Args:
        left_out: numbers of the deals that are left out.
    """

    def __init__(self, scene: GroupScene, left_out: Collection[int] = ()) -> None:
        self.scene = scene
        kinds = group_faults.kinds_of(scene.course, random.Random(f"{scene.seed} kinds"))
        self.dealer = Dealer(kinds, OwnDice(scene.seed), left_out, BURSTS)
        self.is_loaded = True

    async def run(self) -> GroupOutcome:
        scene, loop = self.scene, self.scene.loop
        self.dealer.tell(scene)
        for side in scene.regions.sides.values():
            await side.begin()
        load = [
            asyncio.create_task(it.keep_sending(lambda: self.is_loaded, 6, 1.5))
            for it in scene.regions.senders
        ]
        scene.copy()
        for group in scene.groups:
            scene.start_consumer(group)
        probing = loop.in_background(self._probe())
        moving = asyncio.create_task(self._move())
        while loop.time() < scene.course.seconds:
            await self.dealer.deal(scene)
        self.is_loaded = False
        scene.tell("all is mended")
        group_faults.mend(scene)
        await asyncio.gather(*load, moving)
        await self._settle()
        probing.cancel()
        await self._close()
        return GroupOutcome(
            scene.seed,
            sum(len(it.acknowledged) for it in scene.regions.senders),
            scene.plans,
            scene.exact,
            scene.moved,
            scene.surveyed_plans,
            scene.aged,
            sum(it.written for it in scene.syncs.values()),
            sum(it.skipped for it in scene.groups),
            loop.steps,
            loop.time(),
            scene.log,
        )

    async def _move(self) -> None:
        """Lets operators move groups, again and again; some groups are recorded at first."""
        scene = self.scene
        dice = random.Random(f"{scene.seed} operators")
        tasks = [
            asyncio.create_task(set_primary(scene, group))
            for group in scene.groups
            if group.is_forged or dice.random() < 0.5
        ]
        while self.is_loaded:
            await asyncio.sleep(dice.expovariate(1 / scene.course.move_seconds))
            if scene.movable:
                move = Move(scene, dice.choice(scene.movable), random.Random(dice.random()))
                tasks.append(asyncio.create_task(move.run()))
        await asyncio.gather(*tasks)

    async def _probe(self) -> None:
        """Makes plans from what may be known, again and again; raises Wrong for a bad one."""
        dice = random.Random(f"{self.scene.seed} probe")
        while True:
            await asyncio.sleep(dice.uniform(0.5, 1.5))
            self.scene.check_copies()
            for group in dice.sample(self.scene.groups, 2):
                self.scene.planned(group, dice.choice(LACKS))
            movable = self.scene.movable
            if movable and dice.random() < 0.3:
                await self.scene.surveyed(dice.choice(movable))

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
            if not group.is_forged:
                await self._survey(group, give_up_at)
        await self._follow()

    async def _follow(self) -> None:
        """Waits until the offset syncs have moved all groups' positions to the best ones."""
        scene = self.scene
        begun_at, is_anew = scene.loop.time(), False
        while late := "".join(map(scene.out_of_step, scene.groups)):
            seconds = scene.loop.time() - begun_at
            if seconds > QUIET_SECONDS:
                raise Wrong(f"the offset sync does not follow: {late}")
            # Maps that Redis lost may be there only after the last plan for a group that stands
            # still: it is planned again after ten minutes, or by a new daemon.
            if seconds > FOLLOW_SECONDS and not is_anew:
                scene.tell("the offset syncs start anew")
                scene.copy()
                is_anew = True
            await asyncio.sleep(2.0)

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


def play_groups(
    seed: int, course: GroupCourse | None = None, replay: Replay = WHOLE
) -> GroupOutcome:
    """Plays the history of a seed; raises Wrong with the history's log."""

    def make(loop: VirtualLoop) -> GroupHistory:
        return GroupHistory(GroupScene(loop, seed, course or GroupCourse()), replay.left_out)

    return replayed(seed, make, replay)
