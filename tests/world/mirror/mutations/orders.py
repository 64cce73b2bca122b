"""Mutations of what drivers make of orders and placements."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from typing_extensions import override

from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition
from replicator.mirror.driver.planner import Planned, Planner
from replicator.orders.order_log import KeyedRecord, OrderLog
from replicator.orders.order_reader import OrderReader
from replicator.orders.order_records import decode
from tests.world.mirror.mutations.mutation import Mutation
from tests.world.mirror.parts import Parts


class OnlyAsPlaced(Planner):
    """Leaves out what a placement does not name, and waits for the balancer."""

    @override
    def plan(
        self,
        partitions_by_route: Mapping[str, Collection[TopicPartition]],
        slots: int,
        previous: Plan,
        order_log: OrderLog,
        now_ms: int,
    ) -> Planned:
        planned = super().plan(partitions_by_route, slots, previous, order_log, now_ms)
        loads: dict[CarrierId, tuple[TopicPartition, ...]] = dict(planned.plan.loads)
        for route, partitions in partitions_by_route.items():
            for stream, own in order_log.split(route, partitions, now_ms).items():
                placed = order_log.placed(route, stream)
                left_out = {it for it in own if placed and it not in placed.where}
                loads = {
                    carrier: tuple(it for it in load if it not in left_out)
                    for carrier, load in loads.items()
                }
        if loads == dict(previous.loads):
            return replace(planned, plan=previous)
        return replace(planned, plan=Plan(previous.version + 1, loads))


class TakesAll(OrderReader):
    """Takes every record that can be decoded, whatever it says."""

    @override
    def read(self, key: object, value: bytes | None, where: str) -> KeyedRecord | None:
        if super().read(key, value, where) is not None or value is None:
            return super().read(key, value, where)
        try:
            return (key, decode(value)) if isinstance(key, bytes) else None
        except Exception:
            return None


MUTATIONS = (
    Mutation(
        28,
        "a partition without a placement waits for one",
        family="streams",
        parts=Parts(planner=OnlyAsPlaced),
    ),
    Mutation(35, "flawed orders are followed", family="streams", parts=Parts(reader=TakesAll)),
)
