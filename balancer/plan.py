"""Which carrier carries which partitions, and which carriers share a Spark task.

`sticky_round_robin` is a placeholder: it looks at counts only, never at load. The real balancer
takes its place behind the same shape (partitions, carriers, previous plan -> next plan).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
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


def sticky_round_robin(
    partitions_by_route: Mapping[str, Collection[TopicPartition]],
    carriers_per_route: Mapping[str, int],
    previous: Plan,
) -> Plan:
    """The next plan: what was placed stays, what is new goes where least is.

    When the number of a route's carriers changes, its counts are levelled (they differ by one at
    most) with as few moves as that takes. The version grows only when the loads change.
    """
    loads: dict[CarrierId, tuple[TopicPartition, ...]] = {}
    for route in sorted(partitions_by_route):
        wanted = set(partitions_by_route[route])
        carriers = [CarrierId(route, number) for number in range(carriers_per_route[route])]
        if not carriers:
            raise ValueError(f"route {route} has no carrier: give it one or more")
        kept = _keep(carriers, wanted, previous)
        if previous.carriers(route) not in ((), tuple(carriers)):
            _trim(kept, len(wanted))
        _place(kept, wanted.difference(*kept.values()))
        loads |= {carrier: tuple(sorted(load)) for carrier, load in kept.items()}
    if loads == dict(previous.loads):
        return previous
    return Plan(previous.version + 1, loads)


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


def _keep(
    carriers: Sequence[CarrierId], wanted: Collection[TopicPartition], previous: Plan
) -> dict[CarrierId, list[TopicPartition]]:
    return {
        carrier: [place for place in previous.loads.get(carrier, ()) if place in wanted]
        for carrier in carriers
    }


def _trim(kept: dict[CarrierId, list[TopicPartition]], total: int) -> None:
    """Takes from carriers what is above their share; the fullest may keep one more."""
    share, rest = divmod(total, len(kept))
    for carrier in sorted(kept, key=lambda carrier: (-len(kept[carrier]), carrier)):
        allowed = share + (rest > 0)
        rest -= len(kept[carrier]) >= allowed and rest > 0
        del kept[carrier][allowed:]


def _place(kept: dict[CarrierId, list[TopicPartition]], homeless: Iterable[TopicPartition]) -> None:
    """One by one to the carrier with least; among equals, to the one with least of the topic."""
    topics = {carrier: Counter(place.topic for place in load) for carrier, load in kept.items()}
    for place in sorted(homeless):
        carrier = min(kept, key=lambda at: (len(kept[at]), topics[at][place.topic], at))
        kept[carrier].append(place)
        topics[carrier][place.topic] += 1


def _by_topic(load: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    return [
        (topic, [place.partition for place in places])
        for topic, places in groupby(load, key=lambda place: place.topic)
    ]
