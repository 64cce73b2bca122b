"""Faults of a feed: loaders, drivers and servers of ClickHouse; brokers fail as for carriers."""

from __future__ import annotations

from dataclasses import replace

from tests.world.faults import brokers
from tests.world.faults.fault import Fault
from tests.world.sinks import loader_faults
from tests.world.sinks.loader_faults import later
from tests.world.sinks.scene import Scene


async def kill_server(scene: Scene) -> None:
    server = scene.any_server()
    if server.is_up:
        seconds = scene.dice.uniform(0.2, 15.0)
        scene.tell(f"kill {server.name} for {seconds:.1f} s")
        server.kill()
        later(scene, seconds, server.start)


async def stop_server(scene: Scene) -> None:
    server = scene.any_server()
    if server.is_up and not server.is_stopped:
        seconds = scene.dice.choice([0.5, 4.0, 7.0, 12.0, 20.0])
        scene.tell(f"stop {server.name} for {seconds} s")
        server.stop()
        later(scene, seconds, server.resume)


async def slow_server(scene: Scene) -> None:
    server = scene.any_server()
    server.slowness = scene.dice.choice([30.0, 300.0])
    scene.tell(f"{server.name} is slow")
    later(scene, scene.dice.uniform(1.0, 10.0), setattr, server, "slowness", 1.0)


async def cut_lines(scene: Scene) -> None:
    server = scene.any_server()
    scene.tell(f"cut {len(server.lines)} connections of {server.name}")
    for line in list(server.lines):
        line.cut(ConnectionResetError(104, "Connection reset by peer"))


async def lose_session(scene: Scene) -> None:
    server = scene.any_server()
    seconds = scene.dice.uniform(0.2, 10.0)
    scene.tell(f"{server.name} loses its session for {seconds:.1f} s")
    server.lose_session()
    later(scene, seconds, server.open_session)


async def lose_answers(scene: Scene) -> None:
    server = scene.any_server()
    scene.tell(f"{server.name} loses answers of the keeper")
    server.loses_answers = True
    later(scene, scene.dice.uniform(0.5, 3.0), setattr, server, "loses_answers", False)


async def refuse_inserts(scene: Scene) -> None:
    table = scene.dice.choice(list(scene.feeding.keeper.tables.values()))
    seconds = scene.dice.uniform(1.0, 15.0)
    scene.tell(f"{table.name} takes no inserts for {seconds:.1f} s")
    if scene.dice.random() < 0.5:
        table.is_full = True
    else:
        table.refusal = (497, "Not enough privileges")

    def relent() -> None:
        table.is_full, table.refusal = False, None

    later(scene, seconds, relent)


async def rebuild_server(scene: Scene) -> None:
    """Has a server begin on a new disk, with its database, and with its tables some time later."""
    server = scene.any_server()
    seconds = scene.dice.uniform(1.0, 20.0)
    if server.rebuild():
        scene.tell(f"{server.name} is rebuilt, and has tables in {seconds:.1f} s")
        later(scene, seconds, server.create_tables)


REBUILDS = (Fault("rebuild a server", rebuild_server, 2),)
"""Faults that a course has to name."""
FAULTS = (
    *loader_faults.FAULTS,
    Fault("kill a server", kill_server, 3),
    Fault("stop a server", stop_server, 3),
    Fault("slow server", slow_server, 2),
    Fault("cut lines", cut_lines, 3),
    Fault("lose a session", lose_session, 2),
    Fault("lose answers", lose_answers, 3),
    Fault("refuse inserts", refuse_inserts, 1),
    *(replace(each, weight=1) for each in brokers.FAULTS),
)
