"""Kills and stops between any two steps of a process, above all around its requests.

Other faults strike at a time. A chain of steps that waits for no timer takes no time, or next to
none: it is struck by the count of the process's own turns.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from typing import Protocol

from tests.world.process import Process
from tests.world.virtual_loop import VirtualLoop
from tests.world.world import World

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
KILL_SHARE = 0.7
STOP_SECONDS = (0.02, 0.3, 3.0, 8.0, 20.0)
TAKEN_SHARE = 0.7
"""Share of the stops after which others take over at once."""


class StruckScene(Protocol):
    """Scene whose processes are struck."""

    dice: random.Random
    loop: VirtualLoop
    world: World

    def tell(self, text: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Target:
    """Processes that may be struck.

    Args:
        running: returns those that run at that moment, and are not stopped.
        take_over: lets others take over what a stopped one has.
        until: time after which none is struck any more.
    """

    running: Callable[[], list[Process]]
    take_over: Callable[[], object]
    until: float


def strike_anywhere(scene: StruckScene, target: Target) -> None:
    """Strikes a process that runs, after some of its turns."""
    victims = target.running()
    if victims:
        victim, turns = scene.dice.choice(victims), _turns(scene.dice, FAR_TURNS)
        strike = _strike(scene, target)
        victim.strike(turns, lambda: strike(victim, f"after {turns} turns"))


def strike_at_request(scene: StruckScene, target: Target) -> None:
    """Strikes the next process that sends a request of some API, or that gets its answer."""
    scene.world.network.watchers.append(_AtRequest(scene, target))


class _AtRequest:
    """Watcher that strikes one process around a request of its."""

    def __init__(self, scene: StruckScene, target: Target) -> None:
        dice, self._loop, self._network = scene.dice, scene.loop, scene.world.network
        self._running, self._strike = target.running, _strike(scene, target)
        self._give_up_at = scene.loop.time() + PATIENCE_SECONDS
        self._key = dice.choice([*APIS])
        self._requests_left = dice.choice([1, 1, 2, 5])
        self._awaits_answer = dice.random() < 0.5
        self._turns = _turns(dice, NEAR_TURNS)
        self._victim: Process | None = None

    def written(self, process: Process, data: bytes) -> None:
        if self._loop.time() > self._give_up_at:
            self._network.watchers.remove(self)
        elif not self._victim and api_key(data) == self._key and process in self._running():
            self._requests_left -= 1
            if not self._requests_left:
                self._victim = process
                if not self._awaits_answer:
                    self._begin(process)

    def read(self, process: Process) -> None:
        if process is self._victim:
            self._begin(process)

    def _begin(self, victim: Process) -> None:
        self._network.watchers.remove(self)
        after = "the answer to " if self._awaits_answer else ""
        when = f"{self._turns} turns after {after}its {APIS[self._key]}"
        victim.strike(self._turns, lambda: self._strike(victim, when))


def api_key(data: bytes) -> int | None:
    """Returns the key of the API that a client asks; None: these bytes are no whole request."""
    if len(data) < HEAD.size:
        return None
    size, key = HEAD.unpack_from(data)
    return key if size == len(data) - 4 else None


def _strike(scene: StruckScene, target: Target) -> Callable[[Process, str], None]:
    """Returns a function that kills a process, or stops it for some time."""
    kills, seconds = scene.dice.random() < KILL_SHARE, scene.dice.choice(STOP_SECONDS)
    is_taken = not kills and scene.dice.random() < TAKEN_SHARE

    def act(victim: Process, when: str) -> None:
        has_ended = victim.is_dead or victim.is_stopped or victim.has_ended
        if has_ended or scene.loop.time() > target.until:
            return
        scene.tell(f"{'kill' if kills else f'stop for {seconds} s'} {victim.name} {when}")
        if kills:
            victim.kill()
        else:
            victim.stop()
            scene.loop.call_later(seconds, victim.resume, context=Context())
        if is_taken:
            target.take_over()

    return act


def _turns(dice: random.Random, turns_max: int) -> int:
    """Returns a number of turns, each order of magnitude as often as the others."""
    return int(turns_max ** dice.random()) - 1
