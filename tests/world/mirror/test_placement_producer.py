"""The balancer's publisher in a world: coordinators fence it, and readers see what it commits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from replicator.kafka.client.cluster import Cluster
from replicator.orders.balance_log import Publisher, Superseded
from replicator.orders.order_records import Lease, key_of
from tests.world.blocking import in_thread, pause
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.placement_producer import PlacementProducer
from tests.world.mirror.scene import Course, Scene
from tests.world.virtual_loop import VirtualLoop, run


def lease(who: str) -> Lease:
    return Lease(route=ROUTE.target, at_ms=0, who=who, since_ms=0)


def played(
    act: Callable[[Callable[[], Publisher], Callable[[], list[bytes | None]]], None],
) -> None:
    """Runs `act` in a thread of a world, with a maker of publishers and a reader of values."""

    async def main(loop: VirtualLoop) -> None:
        mirroring = Scene(loop, 1, Course()).mirroring
        settings = mirroring.appliance.target_of(ROUTE)
        clients: list[Cluster] = []

        def publisher() -> Publisher:
            clients.append(Cluster("east aggregate", settings))
            opened: Any = partial(PlacementProducer, clients[-1])
            return Publisher("east aggregate", settings, ROUTE.target, opened)

        def values() -> list[bytes | None]:
            pause(1.0)  # EndTxn is answered before its markers are written
            return [it.value for it in mirroring.orders.read_whole() or ()]

        await in_thread(act, publisher, values)
        for client in clients:
            await client.close()
        await mirroring.close()

    run(main)


def test_a_newer_publisher_fences_the_older_one() -> None:
    def act(publisher: Callable[[], Publisher], values: Callable[[], list[bytes | None]]) -> None:
        older = publisher()
        older.open()
        older.publish([lease("older")])
        newer = publisher()
        newer.open()
        with pytest.raises(Superseded):
            older.publish([lease("older again")])
        newer.publish([lease("newer")], [key_of(lease("newer"))])
        first, second, tombstone = values()
        assert b"older" in (first or b"") and b"newer" in (second or b"")
        assert tombstone is None

    played(act)
