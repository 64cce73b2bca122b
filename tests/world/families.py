"""Families of histories: the mirror, with and without losses, groups in two regions, and feeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tests.world import mutations
from tests.world.groups import group_history
from tests.world.groups import mutations as group_mutations
from tests.world.history import play
from tests.world.scene import Course
from tests.world.sinks import history as feed_history
from tests.world.sinks import mutations as feed_mutations


class Result(Protocol):
    """Result of a history, whatever else it tells."""

    @property
    def records(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def seconds(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Family:
    """A family of histories.

    Args:
        play: plays a seed as it is; raises Wrong.
        rules: by mutation, the number of the rule that it takes out.
        play_mutated: plays a seed with the rule of a mutation taken out.
    """

    play: Callable[[int], Result]
    rules: Mapping[str, int] = field(default_factory=dict)
    play_mutated: Callable[[int, str], Result] | None = None


_MIRROR = {it.name: it for it in mutations.MUTATIONS}
_GROUPS = {it.name: it for it in group_mutations.MUTATIONS}
_FEEDS = {it.name: it for it in feed_mutations.MUTATIONS}
_taken_out: set[str] = set()


def _mirror_mutated(seed: int, name: str) -> Result:
    return play(seed, makers=_MIRROR[name].makers)


def _groups_mutated(seed: int, name: str) -> Result:
    # Taken out of the whole process, for good.
    if name not in _taken_out:
        _GROUPS[name].take_out()
        _taken_out.add(name)
    return group_history.play_groups(seed)


def _feeds_mutated(seed: int, name: str) -> Result:
    return feed_history.play(seed, _FEEDS[name].course, _FEEDS[name].makers)


FAMILIES: Mapping[str, Family] = {
    "mirror": Family(play, {it.name: it.rule for it in _MIRROR.values()}, _mirror_mutated),
    "losses": Family(lambda seed: play(seed, Course(loses=True))),
    "groups": Family(
        group_history.play_groups, {it.name: it.rule for it in _GROUPS.values()}, _groups_mutated
    ),
    "feeds": Family(
        feed_history.play, {it.name: it.rule for it in _FEEDS.values()}, _feeds_mutated
    ),
}
