"""History of one seed: a route that mirrors while processes, brokers and connections fail.

At the end the faults are mended, and both ends have to be the same within a bound of virtual time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection

from replicator.mirror.carrier.carrier_assembly import MAKERS, Makers
from tests.world.checks import ends, losses
from tests.world.checks.entry_view import EntryView
from tests.world.checks.followed_configs import ConfigChecks, sources_are_followed
from tests.world.checks.maps import Maps
from tests.world.checks.pauses import paused_stream_rests
from tests.world.checks.placements import PlacementChecks
from tests.world.checks.postings import PostingChecks
from tests.world.checks.sequences import Sequences
from tests.world.checks.steps import StepChecks
from tests.world.checks.writers import Writers
from tests.world.checks.wrong import Wrong
from tests.world.faults import redis as redis_faults
from tests.world.faults.acceptances import accept_losses
from tests.world.faults.dealer import BURSTS, Dealer, OwnDice, some_of
from tests.world.faults.route_faults import faults_of
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.mirror.config_changes import Known
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.parts import PARTS, Parts
from tests.world.mirror.scene import Course, Scene
from tests.world.outcome import Outcome
from tests.world.replay import WHOLE, Replay, replayed
from tests.world.virtual_loop import VirtualLoop

LOAD_SECONDS = 60.0
"""Bound of virtual time for the load to end once nothing fails any more."""
QUIET_SECONDS = 180.0
"""Bound for the end: virtual time within which everything has to be carried without faults."""
HOPELESS_LOOKS = 5
"""Looks at what stays wrong until nobody waits any more."""


class History:
    """History of one scene.

    Args:
        left_out: numbers of the deals that are left out.
    """

    def __init__(self, scene: Scene, left_out: Collection[int] = ()) -> None:
        self.scene = scene
        kinds = some_of(faults_of(scene.course), random.Random(f"{scene.seed} kinds"))
        self.dealer = Dealer(kinds, OwnDice(scene.seed), left_out, BURSTS)
        self.is_loaded = True

    async def run(self) -> Outcome:
        scene, loop = self.scene, self.scene.loop
        self.dealer.tell(scene)
        maps = None if scene.course.loses else Maps(scene)
        watching = None
        Writers(scene)
        if maps:
            StepChecks(scene)
            Sequences(scene)
            watching = loop.in_background(maps.watch())
        if scene.course.has_streams or scene.course.has_balancers:
            PostingChecks(scene)
        placements = PlacementChecks(scene) if scene.course.has_balancers else None
        if scene.configs:
            ConfigChecks(scene)
            loop.in_background(scene.configs.keep_deleting(_carried(scene)))
        await scene.mirroring.begin()
        await scene.plan()
        if scene.course.accepts:
            accept_losses(scene)
        load = [
            asyncio.create_task(sender.keep_sending(lambda: self.is_loaded, 8, 3.0))
            for sender in scene.senders
        ]
        while loop.time() < scene.course.seconds:
            await self.dealer.deal(scene)
        self.is_loaded = False
        self._mend()
        async with asyncio.timeout(LOAD_SECONDS):
            await asyncio.gather(*load)
        if scene.course.has_streams:
            await paused_stream_rests(scene)
        await self._settle()
        if scene.configs:
            await sources_are_followed(scene)
        if placements and not placements.count:
            raise Wrong("no balancer has placed anything")
        if maps and watching:
            await maps.settle()
            watching.cancel()
        await scene.mirroring.close()
        records = sum(len(it.acknowledged) for it in scene.senders)
        return Outcome(scene.seed, records, loop.time(), loop.steps, scene.log)

    def _mend(self) -> None:
        self.scene.tell("all is mended")
        redis_faults.mend(self.scene)
        for cluster in self.scene.clusters:
            cluster.mend()
        self.scene.mirroring.mend()

    async def _settle(self) -> None:
        """Waits until both ends are the same; raises Wrong if they do not become so."""
        scene = self.scene
        await scene.plan()
        give_up_at = scene.loop.time() + QUIET_SECONDS
        if _is_noticed_late(scene.mirroring.target):
            give_up_at += scene.mirroring.appliance.replicator.epoch_seconds
        differences = (losses if scene.course.loses else ends).differences
        hopeless = 0
        while differing := differences(scene):
            is_hopeless = ends.has_surplus(scene) or losses.is_wrong_for_good(scene)
            hopeless = hopeless + 1 if is_hopeless else 0
            if scene.loop.time() > give_up_at or hopeless > HOPELESS_LOOKS:
                entries = await scene.mirroring.entries()
                differing += [f"{place}: {it.parked}" for place, it in entries.items() if it.parked]
                raise Wrong("; ".join(differing))
            await asyncio.sleep(1.0)


def _carried(scene: Scene) -> Callable[[], tuple[Known, Known]]:
    """Returns a look at the offsets of both ends before which all is carried, by partition."""
    routes = scene.mirroring.appliance.routes_into(ROUTE.target)
    views = {it: EntryView(scene.mirroring.target, it, lambda *_: None) for it in routes}

    def look() -> tuple[Known, Known]:
        sources: Known = {place: it.source_offset for place, it in views[ROUTE].entries.items()}
        # A takeover reads what each route has landed behind its entry.
        ends: Known = {
            place: min(
                each.entries[place].target_offset if place in each.entries else 0
                for each in views.values()
            )
            for place in scene.places
        }
        return sources, ends

    return look


def _is_noticed_late(target: KafkaCluster) -> bool:
    """Returns True if the target has lost what only the next takeover misses, such as the end of a
    log behind which no record follows."""
    commits = target.expired_commits or target.restored_commits
    return bool(target.lost or target.forgotten_ids or commits)


def play(
    seed: int,
    course: Course | None = None,
    makers: Makers = MAKERS,
    parts: Parts = PARTS,
    replay: Replay = WHOLE,
) -> Outcome:
    """Plays the history of a seed; raises Wrong with the history's log.

    Args:
        makers: of the carriers' parts; a mutation has others.
        parts: of drivers, balancers and commands, likewise.
    """

    def make(loop: VirtualLoop) -> History:
        return History(Scene(loop, seed, course or Course(), makers, parts), replay.left_out)

    return replayed(seed, make, replay)
