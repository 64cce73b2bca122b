"""Families of histories: the mirror, with and without losses, groups in two regions, sinks of rows
and of objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from tests.world.groups import group_history
from tests.world.groups import mutations as of_groups
from tests.world.mirror import history
from tests.world.mirror.courses import COURSES
from tests.world.mirror.mutations import (
    custody,
    losses,
    offset_maps,
    orders,
    placements,
    producing,
    source_order,
    tails,
)
from tests.world.mirror.mutations.mutation import RULES_HOLD
from tests.world.mirror.scene import Course
from tests.world.objects import history as object_history
from tests.world.objects import mutations as of_objects
from tests.world.objects.scene import Course as ObjectCourse
from tests.world.sinks import history as sink_history
from tests.world.sinks import mutations as of_sinks


class Result(Protocol):
    """Result of a history, whatever else it tells."""

    @property
    def records(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def log(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A history that is to be played.

    Args:
        mutation: name of a mutation; None: all rules hold.
        left_out: numbers of the deals that are left out.
        logs: True takes the log lines of the simulated processes into the history's log.
    """

    family: str
    seed: int
    mutation: str | None = None
    left_out: Collection[int] = ()
    logs: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """A family of histories.

    Args:
        play: plays a history; raises Wrong.
        mutations: by name, the number of the rule that each takes out.
        is_numbered: deals have numbers, by which they can be left out.
    """

    play: Callable[[Asked], Result]
    mutations: Mapping[str, int]
    is_numbered: bool = False


def _mirror(name: str, course: Course) -> Family:
    mutations = {it.name: it for it in _MIRROR if it.family == name}

    def play(asked: Asked) -> Result:
        found = mutations.get(asked.mutation or "", RULES_HOLD)
        return history.play(
            asked.seed,
            course,
            found.makers,
            found.parts,
            left_out=asked.left_out,
            logs=asked.logs,
        )

    return Family(play, {it.name: it.rule for it in mutations.values()}, is_numbered=True)


def _groups(asked: Asked) -> Result:
    # A rule is taken out of the whole process, for good.
    if asked.mutation and asked.mutation not in _taken_out:
        _GROUPS[asked.mutation].take_out()
        _taken_out.add(asked.mutation)
    return group_history.play_groups(asked.seed)


def _sinks(asked: Asked) -> Result:
    if asked.mutation is None:
        return sink_history.play(asked.seed)
    mutation = _SINKS[asked.mutation]
    return sink_history.play(asked.seed, mutation.course, mutation.makers)


def _objects(asked: Asked) -> Result:
    if asked.mutation is None:
        loses = asked.family == "object_losses"
        return object_history.play(asked.seed, ObjectCourse(loses=loses))
    mutation = _OBJECTS[asked.mutation]
    return object_history.play(asked.seed, mutation.course, mutation.makers)


_MIRROR = [
    it
    for each in (
        custody,
        tails,
        source_order,
        producing,
        offset_maps,
        losses,
        orders,
        placements,
    )
    for it in each.MUTATIONS
]
_GROUPS = {it.name: it for it in of_groups.MUTATIONS}
_SINKS = {it.name: it for it in of_sinks.MUTATIONS}
_OBJECTS = {it.name: it for it in of_objects.MUTATIONS}
_taken_out: set[str] = set()

FAMILIES: Mapping[str, Family] = {
    **{name: _mirror(name, course) for name, course in COURSES.items()},
    "groups": Family(_groups, {it.name: it.rule for it in _GROUPS.values()}),
    "sinks": Family(_sinks, {it.name: it.rule for it in _SINKS.values()}),
    "objects": Family(_objects, {it.name: it.rule for it in _OBJECTS.values()}),
    "object_losses": Family(_objects, {}),
}
