"""Coincidences: a fault at the very moment that a rule is about.

By chance they happen too seldom to show that the rule is missing. Courses that name them deal them
(`mirror/courses.py`).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from replicator.config.names import driver_id
from replicator.mirror.ledger.entry import Custody
from tests.world.faults.carriers import cut_off, kill_some, some_of, stop_for
from tests.world.faults.fault import Fault
from tests.world.faults.logs import entries
from tests.world.faults.losses import delete_tail_of
from tests.world.faults.moments import PATIENCE_SECONDS, NextAppend, appended, has_records
from tests.world.kafka.coordinator_log import move_coordinators
from tests.world.kafka.in_sync import shrink_to_leader
from tests.world.kafka.kafka_cluster import TRANSACTIONS
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.transaction_log import State, Transaction
from tests.world.kafka.transactional_ids import forget_ids
from tests.world.mirror.driving import REGION
from tests.world.mirror.hasty_expiry import EXPIRY_SECONDS
from tests.world.mirror.played_spark import SILENT_SECONDS
from tests.world.mirror.scene import Scene
from tests.world.process import Process

TAKEOVER_SECONDS = 0.02
"""Time between the last look at an entry and the commit of the next one."""
SETTLED_SECONDS = 0.05
FLICKERS = 400
"""Moments within a second at which an in-sync set shrinks to its leader."""
LOAD_SECONDS = (1.0, 4.0)


async def wake_while_coordinators_load(scene: Scene) -> None:
    """Stops carriers until their fences are forgotten. As they wake, neither the driver's command
    can be read nor an entry be committed: only leaders of logs answer."""
    target, seconds = scene.mirroring.target, SILENT_SECONDS + EXPIRY_SECONDS + 10.0
    _stop_some(scene, seconds)
    if scene.dice.random() < 0.5:
        target.later(scene.dice.uniform(0.0, seconds), cut_off, target)
    await scene.plan()


async def forget_ids_of_stopped(scene: Scene) -> None:
    """Stops carriers until their transactional ids have expired, and lets others take over."""
    target = scene.mirroring.target
    _stop_some(scene, SILENT_SECONDS + 8.0)
    await asyncio.sleep(SILENT_SECONDS / 2)
    # A driver renews its command every hour, so its id is not idle for a week.
    for name in await forget_ids(target, SILENT_SECONDS / 3, kept=[driver_id(REGION)]):
        scene.tell(f"{target.name} forgets {name}")
    await scene.plan()


async def exchange_amid_takeover(scene: Scene) -> None:
    """Stops a carrier between its look at entries and its commit, and exchanges the partitions."""
    await scene.plan()
    if await _looked_at(scene):
        await asyncio.sleep(scene.dice.uniform(0.0, TAKEOVER_SECONDS))
        seconds = scene.dice.uniform(6.0, SILENT_SECONDS - 1.0)
        running = scene.running()
        for victim in scene.dice.sample(running, min(1, len(running))):
            stop_for(scene, victim, seconds)
        numbers, exchanged = [*scene.loads], [*reversed(scene.loads.values())]
        await scene.place(dict(zip(numbers, exchanged, strict=True)))
        # A further plan would end the epoch, and the takeovers with it.
        await asyncio.sleep(seconds)


async def _looked_at(scene: Scene) -> bool:
    """Awaits a takeover that looks at a released entry; returns False if there is none in time."""

    def is_look(batch: Batch) -> bool:
        # A takeover proves its coordinator by an aborted transaction of the entry's id, then looks.
        found = batch.value
        if not isinstance(found, Transaction) or found.state is not State.ABORTED:
            return False
        return any(
            it.custody is Custody.RELEASED and it.transactional_id == found.transactional_id
            for it in entries(scene).values()
        )

    return await appended(scene.mirroring.target.topics[TRANSACTIONS].partitions, is_look)


async def flicker_as_carriers_begin(scene: Scene) -> None:
    """Shrinks in-sync sets of the target again and again while new carriers send first batches."""
    target = scene.mirroring.target
    if await _begun(scene):
        scene.tell(f"in-sync sets of {target.name} flicker")
        for place in scene.places:
            for _ in range(FLICKERS):
                target.later(scene.dice.uniform(0.0, 1.0), shrink_to_leader, target, place)


async def _begun(scene: Scene) -> list[Process]:
    """Lets a new epoch begin; returns its carriers as soon as one is there."""
    known = {*scene.mirroring.carriers}
    await scene.plan()
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                begun = [it for it in scene.running() if it not in known]
                if begun:
                    return begun
                await asyncio.sleep(0.005)
    return []


async def forget_what_is_not_answered(scene: Scene) -> None:
    """Loses the answer to the next records, and lets the target look for idle producers."""
    target, place = scene.mirroring.target, scene.dice.choice(scene.places)
    partition = target.partition(*place)
    assert partition is not None
    scene.tell(f"the next answer for {place.topic}-{place.partition} gets lost")
    forgotten_after = scene.dice.uniform(0.0, 0.2)

    def lose(node: int) -> None:
        target.network.part([target.brokers[node].address], lambda: 0.0)
        target.later(forgotten_after, target.forget_producers)

    NextAppend([partition], has_records, lose)


async def kill_after_election(scene: Scene) -> None:
    """Lets the source have other leaders, and kills carriers as they carry what these append."""
    source, target = scene.clusters
    scene.tell(f"{source.name} has other leaders")
    for place in scene.places:
        partition = source.partition(*place)
        assert partition is not None
        source.elect_another(partition)
    await asyncio.sleep(scene.dice.uniform(0.0, 0.5))
    carried = target.partition(*scene.dice.choice(scene.places))
    assert carried is not None
    await appended([carried], has_records)
    await asyncio.sleep(scene.dice.uniform(0.0, 0.2))
    kill_some(scene)
    await scene.plan()


async def kill_as_markers_are_left_out(scene: Scene) -> None:
    """Lets the target leave markers of entries out, and kills carriers that rely on these."""
    target = scene.mirroring.target
    target.left_out_share = 0.8
    await asyncio.sleep(scene.dice.uniform(1.0, 3.0))
    kill_some(scene)
    target.left_out_share = 0.0
    await scene.plan()


async def delete_tails_as_carriers_die(scene: Scene) -> None:
    """Kills carriers, and deletes what they landed behind their entries: only the leaders remember
    how much it was. In some of the takeovers others lead, between the question and the marker."""
    target, place = scene.mirroring.target, scene.dice.choice(scene.places)
    partition = target.partition(*place)
    assert partition is not None
    await appended([partition], has_records)
    await asyncio.sleep(scene.dice.uniform(0.0, 0.2))
    kill_some(scene)
    # What was sent arrives, and is in all logs that are in sync.
    await asyncio.sleep(SETTLED_SECONDS)
    delete_tail_of(scene, place)
    await scene.plan()

    def is_fence(batch: Batch) -> bool:
        # A carrier's own transactions are about entries; a fence alone has records' partitions.
        found = batch.value
        is_open = isinstance(found, Transaction) and found.state is State.ONGOING
        return is_open and tuple(place) in found.partitions

    transactions = target.topics[TRANSACTIONS].partitions
    if scene.dice.random() < 0.5 and await appended(transactions, is_fence):
        scene.tell(f"{target.name} has another leader of {place.topic}-{place.partition}")
        target.elect_another(partition)


def _stop_some(scene: Scene, seconds: float) -> None:
    """Stops some carriers. When they wake, the target's coordinators load for a while."""
    target, load_seconds = scene.mirroring.target, scene.dice.uniform(*LOAD_SECONDS)
    for victim in some_of(scene):
        stop_for(scene, victim, seconds)
    scene.tell(f"then the coordinators of {target.name} load for {load_seconds:.1f} s")
    begin = seconds - scene.dice.uniform(0.0, 0.3)
    target.later(begin, move_coordinators, target, load_seconds)


COINCIDENCES = (
    Fault("wake carriers while coordinators load", wake_while_coordinators_load),
    Fault("forget the ids of stopped carriers", forget_ids_of_stopped),
    Fault("exchange partitions amid a takeover", exchange_amid_takeover),
    Fault("in-sync sets flicker as carriers begin", flicker_as_carriers_begin),
    Fault("forget producers that are not answered", forget_what_is_not_answered),
    Fault("kill carriers after an election", kill_after_election),
    Fault("kill carriers as markers are left out", kill_as_markers_are_left_out),
    Fault("delete tails as carriers die", delete_tails_as_carriers_die),
)
