"""Redis of a world: real clients, blocking and not, over virtual time, and what it loses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf

import pytest
import redis
import redis.asyncio

from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.runtime import expiring_values
from tests.world import blocking
from tests.world.contracts import redis_commands
from tests.world.redis_server import RedisServer
from tests.world.virtual_loop import VirtualLoop, run
from tests.world.world import World


def play(part: Callable[[RedisServer, VirtualLoop], Awaitable[object]]) -> None:
    async def main(loop: VirtualLoop) -> None:
        await part(World(loop, 1).redis_of("east"), loop)

    run(main)


def client_of(server: RedisServer) -> redis.asyncio.Redis:
    return redis.asyncio.Redis.from_url(server.url, socket_timeout=2, retry=None)


def test_scripts_and_pipelines_are_carried_out_and_values_expire_in_virtual_time() -> None:
    async def part(server: RedisServer, loop: VirtualLoop) -> None:
        async with client_of(server) as client, client.pipeline(transaction=False) as pipeline:
            expiring_values.put(pipeline, "index", "member", "value", 5000)
            pipeline.zadd("set", {b"\x00\r\n": 2}, gt=True)
            await pipeline.execute()

        def read() -> tuple[object, object]:
            with redis.Redis.from_url(server.url) as other:
                before = expiring_values.read(other, ["index"])
                blocking.pause(6.0)
                assert other.zrange("set", 0, -1, withscores=True) == [(b"\x00\r\n", 2.0)]
                return before, expiring_values.read(other, ["index"])

        assert await blocking.in_thread(read) == ([{"member": b"value"}], [{}])
        assert 6.0 < loop.time() < 7.0

    play(part)


def test_it_answers_as_the_contract_says() -> None:
    async def part(server: RedisServer, _: VirtualLoop) -> None:
        (await blocking.in_thread(redis_commands.play, server.url)).assert_none()

    play(part)


@pytest.mark.parametrize(("lost_seconds", "left"), [(0.0, b"2"), (5.0, b"1"), (inf, None)])
def test_a_restart_loses_the_last_writes_and_has_another_run_id(
    lost_seconds: float, left: bytes | None
) -> None:
    async def part(server: RedisServer, _: VirtualLoop) -> None:
        run_id = server.run_id
        async with client_of(server) as client:
            await client.set("key", 1)
            await blocking.in_thread(blocking.pause, 10.0)
            await client.set("key", 2)
            server.kill()
            with pytest.raises(redis.RedisError):
                await client.get("key")
        server.restart(lost_seconds=lost_seconds)
        async with client_of(server) as client:
            assert await client.get("key") == left
            assert (await client.info("server"))["run_id"] != run_id

    play(part)


def test_a_blocking_client_waits_for_a_stopped_server_and_gives_up() -> None:
    async def part(server: RedisServer, loop: VirtualLoop) -> None:
        def ask() -> None:
            with OffsetStore(server.url, "west.east", timeout_seconds=3.0) as store:
                assert store.rebuild(iter([])) and store.incomplete_reason() is None
                server.network.silence(server.address)
                store.incomplete_reason()

        with pytest.raises(Exception, match="Timeout"):
            await blocking.in_thread(ask)
        assert loop.time() >= 3.0

    play(part)
