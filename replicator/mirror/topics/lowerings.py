"""Lowerings: lowered configs that wait until the target has what the sources had.

A source that lowers its retention still has unread records, and the target is to get them as the
source kept them. The end of each source partition is taken when the lower value is seen first. Once
the ledger has passed all these ends, the value is released.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route

Offsets = Mapping[Route, Mapping[TopicPartition, int]]
"""Source offsets by route and partition."""


@dataclass(slots=True)
class _Held:
    values: Mapping[str, str]
    ends: dict[Route, dict[TopicPartition, int]] = field(default_factory=dict)
    is_begun: bool = False

    @property
    def is_released(self) -> bool:
        return self.is_begun and not any(self.ends.values())


class Lowerings:
    """Lowered configs of one target's topics, from the round that finds them to their release."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    def keep(self, waiting: Mapping[str, Mapping[str, str]]) -> list[str]:
        """Takes the configs that still wait after a round, by topic; all others are dropped.

        Returns the topics whose source ends must be told by begin().
        """
        held = self._held
        for topic in held.keys() - waiting.keys():
            del held[topic]
        for topic, values in waiting.items():
            if topic not in held or held[topic].values != values:
                held[topic] = _Held(values)
        return sorted(topic for topic in waiting if not held[topic].is_begun)

    def begin(self, topic: str, ends: Offsets) -> None:
        """Takes the ends of all source partitions of a topic."""
        held = self._held[topic]
        held.is_begun = True
        held.ends = {route: dict(each) for route, each in ends.items()}

    def awaited(self) -> dict[Route, set[TopicPartition]]:
        """Returns the partitions whose progress decides."""
        found: dict[Route, set[TopicPartition]] = {}
        for held in self._held.values():
            for route, ends in held.ends.items():
                found.setdefault(route, set()).update(ends)
        return {route: places for route, places in found.items() if places}

    def advance(self, mirrored: Offsets) -> bool:
        """Takes source offsets before which everything is mirrored. Returns True if that releases
        a value."""
        released = False
        for held in self._held.values():
            if held.is_released:
                continue
            for route, ends in held.ends.items():
                for place, offset in mirrored.get(route, {}).items():
                    if offset >= ends.get(place, offset + 1):
                        del ends[place]
            released |= held.is_released
        return released

    def is_released(self, topic: str, name: str, value: str) -> bool:
        """Returns True for a config's value that need not wait any more."""
        held = self._held.get(topic)
        return held is not None and held.is_released and held.values.get(name) == value
