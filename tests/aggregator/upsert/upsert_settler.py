"""Settlers of the world for upsert tables: generators that stop before each effect."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from aggregator.upsert.settling import OpenRows
from aggregator.upsert.tick import tick_of
from aggregator.upsert.visibility import ReplicaCount
from tests.aggregator.upsert.upsert_store import QUORUM, Entry, Server
from tests.aggregator.upsert.upsert_visible import is_behind

if TYPE_CHECKING:
    from tests.aggregator.upsert.upsert_world import World

Steps = Generator[None, int, None]
"""Work that stops before each effect. It is sent a number that chooses among servers."""


def insert(world: World, entry: Entry) -> Steps:
    """Inserts with a quorum: any server, then any other one."""
    pick = yield
    first = world.present(pick)[0]
    world.store.put(entry, first)
    pick = yield
    world.store.put(entry, next(each for each in world.present(pick) if each != first))


def settler(world: World) -> Steps:
    """Settles up to the newest claimed tick, and publishes it with the servers that have it."""
    rules, store = world.rules, world.store
    point = store.claimed
    yield
    counts: dict[str, ReplicaCount] = {}
    ready: list[str] = []
    while len(ready) < QUORUM:
        pick = yield
        order = world.present(pick)
        numbers = {name: store.servers[name].number for name in order}
        after = {name: world.settled(name) for name in order}
        if min(after.values()) >= point:
            return
        counting = [name for name in order if rules.can_count(after[name], store.horizon)]
        for name in counting:
            _mutate(world, name, min(after[each] for each in counting), point)
            yield
        counts = {}
        for name in counting:
            server = store.servers[name]
            ended = server.ended(after[name], point, is_behind)
            still = [it for it in server.rows if it.until > point and it.version.row_id in ended]
            is_same = server.number == numbers[name]
            has_ends = rules.can_count(after[name], store.horizon)
            level = world.mark_of(name) if is_same and has_ends else 0
            counts[name] = ReplicaCount(level, len(still))
            yield
        ready = rules.settled_servers(point, counts)
        for name in [each for each in order if each not in counting and ready]:
            both = (name, ready[0])
            is_same = all(store.servers[each].number == numbers[each] for each in both)
            if is_same and world.mark_of(name) >= point:
                wanted = open_rows(store.servers[ready[0]], point)
                counts[name] = rules.compared(point, open_rows(store.servers[name], point), wanted)
            yield
        ready = rules.settled_servers(point, counts)
    yield from insert(
        world, Entry("settled", point, tuple((name, numbers[name]) for name in ready))
    )


def open_rows(server: Server, point: int) -> OpenRows:
    """Returns the rows of a server that are open at a settle point."""
    ids = [
        each.version.row_id
        for each in server.rows
        if each.until > point and tick_of(each.version.row_id) <= point
    ]
    return OpenRows(len(ids), hash(tuple(sorted(ids))))


def _mutate(world: World, name: str, former: int, point: int) -> None:
    """Runs the mutation on a server, which looks for the ended rows itself."""
    server, rules = world.store.servers[name], world.rules
    ended = server.ended(former, point, is_behind)
    for each in server.rows:
        if each.version.row_id in ended and rules.is_settled_by(each.until, point):
            each.until = rules.settled_until(each.until, point)
