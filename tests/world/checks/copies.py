"""Copies of commits and runs in another region's Redis, against the logs that they were made of.

- Everything below a stored position is there, or something newer.
- Every commit that is there was made, and nothing else was.
- Everything that is older than the told age is there.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import lru_cache
from typing import Any

from fakeredis import FakeRedis

from replicator.config.topology import Route
from replicator.kafka.tail.stored_positions import Positions
from replicator.mirror.offset_map.offset_store import joined, runs_name
from tests.world.checks.wrong import Wrong
from tests.world.groups.past import Past
from tests.world.redis_server import RedisServer
from tests.world.virtual_loop import EPOCH


def check_commits(
    past: Past, region: str, server: RedisServer, now: float, forged: Collection[str] = ()
) -> int | None:
    """Raises Wrong for a copy of a region's commits that is not true; returns its age in ms.

    Args:
        forged: groups whose copies somebody else has written as well.
    """
    client = _looking(server)
    read = Positions(client, server.name, f"commits:{region}")
    positions, age = read.get(), read.age(int((EPOCH + now) * 1000))
    held: dict[tuple[str, str], list[object]] = {}
    for made in past.made:
        group, topic, partition = made.committed
        if group in forged:
            continue
        key = (
            f"sluice:commits:{region}:{group}",
            json.dumps([topic, partition], separators=(",", ":")),
        )
        if key not in held:
            text = client.hget(*key)
            held[key] = json.loads(text) if text else [0, -1]
        at = held[key][1]
        assert isinstance(at, int)
        position = positions.get(made.number)
        is_below = position is not None and made.log_offset < position.offset
        is_old = age is not None and made.time <= now - age / 1000 - 1e-3
        if at < made.log_offset and (is_below or is_old):
            raise Wrong(
                f"{server.name}: the copy of {region}'s commits has {key} of offset {at}, and not "
                f"{made}; it was read to {position}, {age} ms ago"
            )
        if at == made.log_offset and tuple(held[key][2:4]) != tuple(made.value):
            raise Wrong(f"{server.name}: the copy of {region} has {held[key]} in place of {made}")
    return age


def check_runs(past: Past, route: Route, server: RedisServer, now: float) -> None:
    """Raises Wrong for a copy of a route's runs that lacks what it should have."""
    client = _looking(server)
    read = Positions(client, server.name, f"runs:{route.key}")
    age = read.age(int((EPOCH + now) * 1000))
    if age is None:
        return
    for key, moments in past.runs[route].items():
        members: Any = client.zrange(runs_name(route.key, key), 0, -1, withscores=True)
        found = joined({piece: int(losses) for piece, losses in members})
        for piece in moments.until(now - age / 1000 - 1e-3):
            begin, end = _sources(piece)
            if begin < end and not found.knows(begin, end):
                raise Wrong(
                    f"{server.name}: the copy of {route.name} lacks runs of {key} that are older "
                    f"than {age} ms: those of {begin} to {end}"
                )


@lru_cache(maxsize=100_000)
def _sources(piece: bytes) -> tuple[int, int]:
    """Returns the first source offset of a packed piece, and the one behind its last; 0 and 0 for a
    piece without runs."""
    there = joined({piece: 0})
    known = there.piece().known[0]
    return (int(known[0]), there.source_end) if len(known) else (0, 0)


def _looking(server: RedisServer) -> FakeRedis:
    # Looks at the store itself: no bytes on the network, and no time passes.
    return FakeRedis(server=server.store, protocol=2)
