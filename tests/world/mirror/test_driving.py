"""Driver, reassignment and operator's orders in a world without other faults."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from replicator.mirror.ledger.entry import Custody
from replicator.orders.order_records import Pause, key_of
from tests.world.mirror.driving import DrivenMirroring
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.scene import Course, Scene
from tests.world.virtual_loop import VirtualLoop, run

PATIENCE_SECONDS = 40.0


def played(act: Callable[[Scene, DrivenMirroring], Awaitable[None]]) -> None:
    """Runs `act` in a scene whose first plan is carried."""
    random.seed(1)

    async def main(loop: VirtualLoop) -> None:
        scene = Scene(loop, 1, Course())
        mirroring = scene.mirroring
        await mirroring.begin()
        for sender in scene.senders:
            await sender.send(3)
        try:
            await act(scene, mirroring)
        finally:
            await mirroring.close()

    run(main)


async def becomes(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.1)


async def _custodies(mirroring: DrivenMirroring) -> list[Custody]:
    return [entry.custody for entry in (await mirroring.entries()).values()]


def test_a_killed_driver_is_replaced_and_its_carriers_end() -> None:
    async def act(scene: Scene, mirroring: DrivenMirroring) -> None:
        mirroring.drivers()[0].process.kill()
        await becomes(lambda: _is_replaced(mirroring))

    async def _is_replaced(mirroring: DrivenMirroring) -> bool:
        is_new = any(" of term 1" in it.name for it in mirroring.carriers)
        return is_new and not mirroring.outdated()

    played(act)


def test_a_driver_that_was_replaced_ends_and_is_not_started_again() -> None:
    async def act(scene: Scene, mirroring: DrivenMirroring) -> None:
        older = mirroring.drivers()[0]
        newer = mirroring.start_driver()
        await becomes(lambda: _has_ended(older.process))
        assert older.is_fenced
        await asyncio.sleep(10.0)
        assert mirroring.drivers() == [newer]

    async def _has_ended(process: object) -> bool:
        return bool(getattr(process, "has_ended", False))

    played(act)


def test_partitions_move_within_the_epoch() -> None:
    async def act(scene: Scene, mirroring: DrivenMirroring) -> None:
        first, second, third = scene.places
        await scene.place({0: [first, second], 1: [third]})
        await asyncio.sleep(5.0)
        began = len(mirroring.carriers)
        await scene.place({0: [first], 1: [second, third]})
        await becomes(lambda: _is_with(mirroring, "sluice.west.east.1"))
        assert len(mirroring.carriers) == began

    async def _is_with(mirroring: DrivenMirroring, carrier: str) -> bool:
        entry = (await mirroring.entries())[mirroring.places[1]]
        return entry.custody is Custody.HELD and entry.transactional_id == carrier

    played(act)


def test_a_paused_topic_is_released_and_a_resumed_one_carried() -> None:
    async def act(scene: Scene, mirroring: DrivenMirroring) -> None:
        pause = Pause(route=ROUTE.key, at_ms=0, who="operator", topic=scene.places[0].topic)
        await becomes(lambda: _are(mirroring, Custody.HELD))
        await mirroring.order([pause])
        await becomes(lambda: _are(mirroring, Custody.RELEASED))
        await mirroring.order(tombstones=[key_of(pause)])
        await becomes(lambda: _are(mirroring, Custody.HELD))

    async def _are(mirroring: DrivenMirroring, custody: Custody) -> bool:
        found = await _custodies(mirroring)
        return found == [custody] * len(mirroring.places)

    played(act)
