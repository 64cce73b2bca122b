"""Kills and stops between any two steps of a process, above all around its requests.

Other faults strike at a time. A chain of steps that waits for no timer takes no time, or next to
none: it is struck by the count of the process's own turns.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

from tests.world.faults.fault import Fault
from tests.world.mirror.scene import Scene
from tests.world.process import Process

HEAD = struct.Struct(">ih")
"""Size of a request, and the key of its API."""
APIS = {
    0: "Produce",
    1: "Fetch",
    9: "OffsetFetch",
    22: "InitProducerId",
    24: "AddPartitionsToTxn",
    25: "AddOffsetsToTxn",
    26: "EndTxn",
    28: "TxnOffsetCommit",
}
"""APIs around whose requests processes are struck, by key."""
PATIENCE_SECONDS = 5.0
"""Time after which nobody is struck any more."""
NEAR_TURNS, FAR_TURNS = 200, 5000
"""Most turns up to a strike: after a request or its answer, and after any moment."""
DRIVER_SHARE = 0.15
"""Share of the strikes that are for drivers. Without one, carriers soon do nothing more."""
KILL_SHARE = 0.7
STOP_SECONDS = (0.02, 0.3, 3.0, 8.0, 20.0)
PLANNED_SHARE, TAKEN_SHARE = 0.4, 0.7
"""Share of the strikes before which a new epoch begins, and of the stops after which one does."""


async def strike_anywhere(scene: Scene) -> None:
    """Strikes a process that runs, after some of its turns."""
    await _plan_before(scene)
    victims = _victims(scene)()
    if victims:
        victim, turns = scene.dice.choice(victims), _turns(scene, FAR_TURNS)
        strike = _strike(scene)
        victim.strike(turns, lambda: strike(victim, f"after {turns} turns"))


async def strike_at_request(scene: Scene) -> None:
    """Strikes the next process that sends a request of some API, or that gets its answer."""
    await _plan_before(scene)
    scene.world.network.watchers.append(_AtRequest(scene))


class _AtRequest:
    """Watcher that strikes one process around a request of its."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self._victims, self._strike = scene, _victims(scene), _strike(scene)
        self._give_up_at = scene.loop.time() + PATIENCE_SECONDS
        self._key = scene.dice.choice([*APIS])
        self._requests_left = scene.dice.choice([1, 1, 2, 5])
        self._awaits_answer = scene.dice.random() < 0.5
        self._turns = _turns(scene, NEAR_TURNS)
        self._victim: Process | None = None

    def written(self, process: Process, data: bytes) -> None:
        if self._scene.loop.time() > self._give_up_at:
            self._scene.world.network.watchers.remove(self)
        elif not self._victim and api_key(data) == self._key and process in self._victims():
            self._requests_left -= 1
            if not self._requests_left:
                self._victim = process
                if not self._awaits_answer:
                    self._begin(process)

    def read(self, process: Process) -> None:
        if process is self._victim:
            self._begin(process)

    def _begin(self, victim: Process) -> None:
        self._scene.world.network.watchers.remove(self)
        after = "the answer to " if self._awaits_answer else ""
        when = f"{self._turns} turns after {after}its {APIS[self._key]}"
        victim.strike(self._turns, lambda: self._strike(victim, when))


def api_key(data: bytes) -> int | None:
    """Returns the key of the API that a client asks; None: these bytes are no whole request."""
    if len(data) < HEAD.size:
        return None
    size, key = HEAD.unpack_from(data)
    return key if size == len(data) - 4 else None


def _strike(scene: Scene) -> Callable[[Process, str], None]:
    """Returns a function that kills a process, or stops it for some time; others may take over."""
    kills, seconds = scene.dice.random() < KILL_SHARE, scene.dice.choice(STOP_SECONDS)
    plans = not kills and scene.dice.random() < TAKEN_SHARE
    dice = random.Random(scene.dice.random())

    def act(victim: Process, when: str) -> None:
        has_ended = victim.is_dead or victim.is_stopped or victim.has_ended
        if has_ended or scene.loop.time() > scene.course.seconds:
            return
        scene.tell(f"{'kill' if kills else f'stop for {seconds} s'} {victim.name} {when}")
        if kills:
            victim.kill()
        else:
            victim.stop()
            scene.loop.call_later(seconds, victim.resume)
        if plans:
            scene.mirroring.background(scene.plan(dice))

    return act


def _victims(scene: Scene) -> Callable[[], list[Process]]:
    """Returns a function that names the carriers which run at that moment, or the drivers."""
    if scene.dice.random() >= DRIVER_SHARE:
        return scene.running
    return lambda: [it.process for it in scene.mirroring.drivers() if not it.process.is_stopped]


def _turns(scene: Scene, turns_max: int) -> int:
    """Returns a number of turns, each order of magnitude as often as the others."""
    return int(turns_max ** scene.dice.random()) - 1


async def _plan_before(scene: Scene) -> None:
    if scene.dice.random() < PLANNED_SHARE:
        await scene.plan()


STRIKES = (
    Fault("strike a process after some turns", strike_anywhere),
    Fault("strike a process at its request", strike_at_request),
)
