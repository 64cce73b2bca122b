"""Which carrier carries which partitions, and which carriers share a Spark task."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple


class TopicPartition(NamedTuple):
    """One partition of one topic; the same number on both ends of a route."""

    topic: str
    partition: int


class CarrierId(NamedTuple):
    """One carrier of one route; `route` is the route's key, as in "west.east"."""

    route: str
    number: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What every carrier carries. A carrier with nothing to do is listed, with nothing."""

    version: int = 0
    loads: Mapping[CarrierId, tuple[TopicPartition, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    @property
    def partitions(self) -> int:
        """How many partitions the plan places, all routes together."""
        return sum(map(len, self.loads.values()))

    def carriers(self, route: str) -> tuple[CarrierId, ...]:
        return tuple(sorted(carrier for carrier in self.loads if carrier.route == route))

    def renewed(self) -> Plan:
        """The same loads under the next version: carriers start a new epoch with it."""
        return replace(self, version=self.version + 1)

    def to_json(self) -> str:
        """Compact text: partitions of one topic share its name."""
        loads = [
            {
                "route": carrier.route,
                "carrier": carrier.number,
                "topics": _by_topic(load),
            }
            for carrier, load in sorted(self.loads.items())
        ]
        return json.dumps({"version": self.version, "loads": loads}, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Plan:
        """The plan that `to_json` wrote. Raises ValueError or KeyError on anything else."""
        found: dict[str, Any] = json.loads(text)
        loads = {
            CarrierId(load["route"], load["carrier"]): tuple(
                TopicPartition(topic, number)
                for topic, numbers in load["topics"]
                for number in numbers
            )
            for load in found["loads"]
        }
        return Plan(found["version"], loads)


def carriers_shared_out(routes: Collection[str], slots: int) -> dict[str, int]:
    """How many carriers each route gets when the task slots are shared out: one at least."""
    share, rest = divmod(slots, max(1, len(routes)))
    return {route: max(1, share + (at < rest)) for at, route in enumerate(sorted(routes))}


def bins(plan: Plan, slots: int) -> tuple[tuple[CarrierId, ...], ...]:
    """Which carriers share a Spark task; carriers with nothing to carry are left out.

    Never more bins than task slots: a task without a slot would wait for a whole epoch. Dealt out
    route by route, so that no bin has two carriers more of a route than another has.
    """
    if slots < 1:
        raise ValueError("no task slots: Spark has no executor yet")
    busy = sorted(carrier for carrier, load in plan.loads.items() if load)
    count = min(slots, len(busy))
    return tuple(tuple(busy[at::count]) for at in range(count))


def _by_topic(load: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    return [
        (topic, [place.partition for place in places])
        for topic, places in groupby(load, key=lambda place: place.topic)
    ]
