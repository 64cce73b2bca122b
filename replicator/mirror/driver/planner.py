"""Planner of the driver: makes the next plan from the balancer's placements, if there are any.

Partitions that the balancer has not placed yet get a carrier by count, and so do all where no
balancer ever ran. No partition waits for the balancer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from balancer.carrier_plan import CarrierId, Plan, carriers_shared_out
from balancer.decision.by_count import level_by_count, place_by_count
from balancer.decision.settings import CARRIERS_MAX
from balancer.topic_partition import TopicPartition
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import DEFAULT_STREAM, Placed


@dataclass(frozen=True, slots=True)
class Planned:
    """The next plan, and the parts of the order log that are in it.

    Args:
        plan: the previous one itself when nothing needs to change.
        generations: of the placements in the plan: route key, stream, generation.
        paused: by route key, the partitions that could be carried and are paused by an operator's
            order.
    """

    plan: Plan
    generations: tuple[tuple[str, str, int], ...]
    paused: Mapping[str, tuple[TopicPartition, ...]]


@dataclass(frozen=True, slots=True)
class Planner:
    """Makes plans for the routes into one region.

    Args:
        carriers_per_route: number of carriers where no balancer has placed anything; 0: the task
            slots are shared out among the routes.
    """

    carriers_per_route: int = 0

    def plan(
        self,
        partitions_by_route: Mapping[str, Collection[TopicPartition]],
        slots: int,
        previous: Plan,
        order_log: OrderLog,
        now_ms: int,
    ) -> Planned:
        """Returns the next plan.

        Args:
            partitions_by_route: by route key, the partitions that can be carried.
            slots: how many Spark tasks can run at once.
            previous: the active plan; the one before the first has version 0 and no loads.
            order_log: decisions of the balancer and operators.
            now_ms: Unix time in milliseconds.
        """
        if self.carriers_per_route:
            counts = dict.fromkeys(partitions_by_route, self.carriers_per_route)
        else:
            counts = carriers_shared_out(tuple(partitions_by_route), slots)
        loads: dict[CarrierId, tuple[TopicPartition, ...]] = {}
        generations: list[tuple[str, str, int]] = []
        paused: dict[str, tuple[TopicPartition, ...]] = {}
        for route, partitions in sorted(partitions_by_route.items()):
            streams = order_log.split(route, partitions, now_ms)
            first = {DEFAULT_STREAM: 0} | {
                stream.name: stream.first_carrier for stream in order_log.streams(route, now_ms)
            }
            for name, wanted in sorted(streams.items()):
                placed = order_log.placed(route, name)
                if placed:
                    generations.append((route, name, placed.generation))
                    found = _as_placed(wanted, placed)
                else:
                    count = counts[route] if name == DEFAULT_STREAM else 1
                    numbers = range(first[name], first[name] + count)
                    found = _by_count(route, wanted, numbers, previous)
                for number, load in found.items():
                    carrier = CarrierId(route, number)
                    # Two streams that were made at once may have been given the same numbers.
                    loads[carrier] = tuple(sorted((*loads.get(carrier, ()), *load)))
            carried = {each for some in streams.values() for each in some}
            paused[route] = tuple(sorted(set(partitions) - carried))
        plan = previous if loads == dict(previous.loads) else Plan(previous.version + 1, loads)
        return Planned(plan, tuple(generations), paused)


def _as_placed(
    partitions: Iterable[TopicPartition], placed: Placed
) -> dict[int, tuple[TopicPartition, ...]]:
    return _loads(placed.carriers, place_by_count(partitions, placed.carriers, placed.where))


def _by_count(
    route: str, partitions: Iterable[TopicPartition], carriers: range, previous: Plan
) -> dict[int, tuple[TopicPartition, ...]]:
    """Places partitions by count. Levels the counts when the carriers are others than before."""
    own = range(carriers.start, carriers.start + CARRIERS_MAX)
    present = [each.number for each in previous.carriers(route) if each.number in own]
    before = {
        each: number for number in present for each in previous.loads[CarrierId(route, number)]
    }
    place = place_by_count if present in ([], list(carriers)) else level_by_count
    return _loads(carriers, place(partitions, carriers, before))


def _loads(
    carriers: Iterable[int], where: Mapping[TopicPartition, int]
) -> dict[int, tuple[TopicPartition, ...]]:
    found: dict[int, list[TopicPartition]] = {carrier: [] for carrier in carriers}
    for partition, carrier in where.items():
        found[carrier].append(partition)
    return {carrier: tuple(sorted(load)) for carrier, load in found.items()}
