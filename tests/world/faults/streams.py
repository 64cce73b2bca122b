"""Operators of streams: they create, change, pause, resume and delete streams while carriers run.

Somebody else writes records into the topic of orders that nobody can follow.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence

from replicator.config.names import BALANCE_TOPIC
from replicator.orders.order_records import (
    AnyRecord,
    Pause,
    Placed,
    Stream,
    by_carrier,
    encode,
    key_of,
)
from tests.world.faults.fault import Fault
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.operating import WorldClient, commanded
from tests.world.mirror.scene import Scene
from tests.world.mirror.standing_orders import STRANGER
from tui.orders.region_orders import RegionOrders, Terms
from tui.orders.streams import change_stream, create_stream, delete_stream, set_paused

NAMES = ("bulk", "fast", "money")
KILL_SECONDS = (0.05, 0.5, 15.0, 15.0)
PAUSE_SECONDS = (0.5, 25.0)
NO_LIMITS = {"threshold": None}


async def create(scene: Scene) -> None:
    """Creates a stream; its topics move to carriers of its own."""
    left = [name for name in NAMES if name not in scene.mirroring.standing().streams]
    if not left:
        return
    name, topics = scene.dice.choice(left), _patterns(scene)
    settings = scene.mirroring.appliance.balance
    _command(
        scene,
        f"create stream {name} of {topics}",
        lambda orders: create_stream(orders, settings, ROUTE, name, topics, NO_LIMITS, Terms()),
    )


async def change(scene: Scene) -> None:
    """Gives a stream other topics: some leave it, others join it."""
    name, topics = _stream(scene), _patterns(scene)
    if name is None:
        await create(scene)
        return
    settings = scene.mirroring.appliance.balance
    _command(
        scene,
        f"change stream {name} to {topics}",
        lambda orders: change_stream(orders, settings, ROUTE, name, topics, NO_LIMITS, (), None),
    )


async def delete(scene: Scene) -> None:
    name = _stream(scene)
    if name:
        _command(scene, f"delete stream {name}", lambda orders: delete_stream(orders, ROUTE, name))


async def pause(scene: Scene) -> None:
    """Pauses a stream for a while, and places the others anew meanwhile."""
    name = _stream(scene)
    if name is None:
        await create(scene)
        return
    seconds = scene.dice.uniform(*PAUSE_SECONDS)
    _set_paused(scene, name, is_paused=True)
    dice = random.Random(scene.dice.random())
    scene.mirroring.background(_resumed(scene, name, seconds, dice))
    if scene.dice.random() < 0.5:
        await scene.plan()


async def _resumed(scene: Scene, name: str, seconds: float, dice: random.Random) -> None:
    await asyncio.sleep(seconds)
    while scene.mirroring.standing().streams.get(name, {}).get("is_paused"):
        _set_paused(scene, name, is_paused=False)
        await asyncio.sleep(dice.uniform(3.0, 6.0))


def _set_paused(scene: Scene, name: str, *, is_paused: bool) -> None:
    _command(
        scene,
        f"{'pause' if is_paused else 'resume'} stream {name}",
        lambda orders: set_paused(orders, ROUTE, name, is_paused, None),
    )


async def write_flawed(scene: Scene) -> None:
    """Writes a record that has to be left out, often under the key of one that counts."""
    key, value = scene.dice.choice(_flawed(scene))
    scene.tell(f"write {value!r} into {BALANCE_TOPIC}")
    scene.mirroring.write([(key, value)])


def _flawed(scene: Scene) -> list[tuple[bytes, bytes]]:
    """Returns records with a flaw, each by its key."""
    said = {"route": ROUTE.key, "at_ms": 0, "who": STRANGER}
    name, place = _stream(scene) or NAMES[0], scene.places[0]
    where = by_carrier([(place, 0), (place, 1)])
    records: list[AnyRecord] = [
        Stream(**said, name=name, topics=("pay(",), first_carrier=1000),
        Stream(**said, name=name, topics=(".*",), first_carrier=0),
        Placed(**said, stream=name, generation=9, carriers=(), topics={}),
        Placed(**said, stream="default", generation=9, carriers=(0, 1), topics=where),
        Placed(**said, stream="default", generation=9, carriers=(2,), topics={3: ()}),
    ]
    stranger = Pause(**said, topic=place.topic)
    foreign = (key_of(records[3]), encode(stranger))
    return [*((key_of(it), encode(it)) for it in records), foreign, (foreign[0], b'{"version":2}')]


def _command(scene: Scene, name: str, command: Callable[[RegionOrders], object]) -> None:
    """Runs a command in the background; now and then it is killed."""
    mirroring, kill_after = scene.mirroring, scene.dice.choice(KILL_SECONDS)
    client = WorldClient(mirroring.appliance, ROUTE.target, mirroring.orders)

    async def run() -> None:
        scene.tell(f"{name}: {await commanded(client, name, command, kill_after)}")

    mirroring.background(run())


def _stream(scene: Scene) -> str | None:
    """Returns a stream that stands in the topic; None if there is none."""
    names = list(scene.mirroring.standing().streams)
    return scene.dice.choice(names) if names else None


def _patterns(scene: Scene) -> Sequence[str]:
    """Returns patterns of some topics, or one of all."""
    topics = scene.course.topics
    some = scene.dice.sample(topics, scene.dice.randint(1, len(topics)))
    return scene.dice.choice([some, ["|".join(some)], [f"{some[0][:2]}.*"]])


STREAMS = (
    Fault("create a stream", create, 6, 1.0),
    Fault("change a stream", change, 12, 1.0),
    Fault("delete a stream", delete, 4, 1.0),
    Fault("pause a stream", pause, 8, 1.0),
    Fault("write a flawed record", write_flawed, 6, 1.0),
)
