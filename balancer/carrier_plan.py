"""Plans: the partitions of every carrier, and the carriers of every Spark task."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple

from balancer.topic_partition import TopicPartition


class CarrierId(NamedTuple):
    """Carrier of a route; `route` is the key of the route, such as "west.east"."""

    route: str
    number: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Partitions of every carrier. An idle carrier is listed with no partitions."""

    version: int = 0
    loads: Mapping[CarrierId, tuple[TopicPartition, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    @property
    def partitions(self) -> int:
        """Number of partitions that the plan places, over all routes."""
        return sum(map(len, self.loads.values()))

    def carriers(self, route: str) -> tuple[CarrierId, ...]:
        return tuple(sorted(carrier for carrier in self.loads if carrier.route == route))

    def renewed(self) -> Plan:
        """Returns the same loads under the next version; carriers start a new epoch with it."""
        return replace(self, version=self.version + 1)

    def to_json(self) -> str:
        """Returns compact JSON, in which the partitions of a topic share its name."""
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
        """Returns the plan that `to_json` wrote.

        Raises ValueError, KeyError or TypeError for any other text.
        """
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
    """Returns the number of carriers per route when the routes share the slots: at least 1 each."""
    share, rest = divmod(slots, max(1, len(routes)))
    return {route: max(1, share + (at < rest)) for at, route in enumerate(sorted(routes))}


def carriers_by_task(plan: Plan, slots: int) -> tuple[tuple[CarrierId, ...], ...]:
    """Groups the busy carriers into Spark tasks; carriers without partitions are left out.

    There are never more tasks than slots: a task without a slot would wait for a whole epoch.
    The carriers are dealt out route by route, so the numbers of a route's carriers in two tasks
    differ by at most one.

    Raises ValueError when there is no task slot.
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
