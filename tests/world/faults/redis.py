"""Faults of Redis: away, restarted with and without its data, emptied, slow, stopped, cut off."""

from __future__ import annotations

from math import inf

from tests.world.faults.fault import Fault
from tests.world.faults.scenes import RedisScene
from tests.world.mirror.scene import Scene
from tests.world.redis_server import RedisServer


async def kill_redis(scene: RedisScene) -> None:
    """Restarts Redis some time later, with all, most or nothing of what it had."""
    server = scene.any_redis()
    if not server.is_up:
        return
    seconds, lost = scene.dice.uniform(0.1, 20.0), scene.dice.choice([0.0, 1.0, 5.0, inf])
    scene.tell(f"kill {server.name} for {seconds:.1f} s; the last {lost} s are lost")
    server.kill()
    scene.world.network.outside(scene.loop.time() + seconds, _restart, scene, server, lost)


def _restart(scene: RedisScene, server: RedisServer, lost_seconds: float) -> None:
    if not server.is_up:
        scene.tell(f"start {server.name}")
        server.restart(lost_seconds=lost_seconds)


async def flush_redis(scene: RedisScene) -> None:
    server = scene.any_redis()
    if server.is_up:
        scene.tell(f"flush {server.name}")
        server.flush()


async def slow_redis(scene: RedisScene) -> None:
    server = scene.any_redis()
    seconds = scene.dice.uniform(1.0, 10.0)
    scene.tell(f"{server.name} is slow for {seconds:.1f} s")
    server.slow_until = scene.loop.time() + seconds


async def stop_redis(scene: RedisScene) -> None:
    """Stops Redis, as SIGSTOP does: it answers late what was asked meanwhile."""
    server = scene.any_redis()
    network = scene.world.network
    if server.is_up and not network.is_silent(server.address):
        seconds = scene.dice.uniform(0.5, 15.0)
        scene.tell(f"stop {server.name} for {seconds:.1f} s")
        network.silence(server.address)
        network.outside(scene.loop.time() + seconds, network.resume, server.address)


async def cut_redis(scene: RedisScene) -> None:
    server = scene.any_redis()
    scene.tell(f"cut connections of {server.name}")
    scene.world.network.cut([server.address])


async def kill_keeper(scene: Scene) -> None:
    scene.tell("the keeper of the maps starts anew")
    scene.keep_maps()


def mend(scene: RedisScene) -> None:
    """Starts what is away; the rest mends itself."""
    for server in scene.world.redis.values():
        server.slow_until = 0.0
        scene.world.network.resume(server.address)
        _restart(scene, server, 0.0)


SERVERS = (
    Fault("kill Redis", kill_redis, 2),
    Fault("flush Redis", flush_redis, 2),
    Fault("slow Redis", slow_redis, 1),
    Fault("stop Redis", stop_redis, 2),
    Fault("cut Redis", cut_redis, 1),
)
FAULTS = (
    *SERVERS,
    Fault("kill the keeper", kill_keeper, 1),
)
