"""Reassignment delta: partitions that changed carriers, were added or removed within an epoch.

The driver command carries the delta (decision 0014). It maps partitions to their present carriers
and lists no steps, so a carrier may apply changes that its own plan already contained.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition

BYTES_MAX = 3500
"""Limit of the encoded text: a broker takes 4096 bytes of metadata (offset.metadata.max.bytes)."""

CarrierNumbers = Mapping[tuple[str, TopicPartition], int | None]


@dataclass(frozen=True, slots=True)
class ReassignmentDelta:
    """Changes since the plan with which the epoch began.

    Args:
        since: that plan's version; a carrier that began with an older plan ends its epoch.
        where: by route key and partition, the number of the carrier that has it now; None: no
            carrier, because the partition is paused or gone.
        limits: by topic of `where`, the largest batch in bytes that the target takes.
    """

    since: int
    where: CarrierNumbers = field(default_factory=lambda: MappingProxyType({}))
    limits: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def of_route(self, route: str) -> dict[TopicPartition, int | None]:
        """Returns the changes of one route: by partition its carrier now, None for no carrier."""
        return {
            partition: carrier for (key, partition), carrier in self.where.items() if key == route
        }

    def encode(self) -> str:
        """Returns the delta as text, which is empty when nothing has changed."""
        if not self.where:
            return ""
        rows: dict[str, dict[str, list[tuple[int, int | None]]]] = {}
        for (route, (topic, number)), carrier in sorted(self.where.items()):
            rows.setdefault(route, {}).setdefault(topic, []).append((number, carrier))
        text = json.dumps([rows, dict(sorted(self.limits.items()))], separators=(",", ":"))
        return base64.b85encode(zlib.compress(text.encode(), 9)).decode()

    @staticmethod
    def decode(since: int, text: str) -> ReassignmentDelta:
        """Returns the delta that `encode` wrote. Raises ValueError or KeyError on other text."""
        if not text:
            return ReassignmentDelta(since)
        try:
            rows, limits = json.loads(zlib.decompress(base64.b85decode(text)))
        except zlib.error as error:
            raise ValueError(f"not a reassignment delta: {error}") from None
        where = {
            (route, TopicPartition(topic, number)): carrier
            for route, topics in rows.items()
            for topic, numbers in topics.items()
            for number, carrier in numbers
        }
        return ReassignmentDelta(since, where, limits)


def extended_delta(
    delta: ReassignmentDelta,
    before: Plan,
    after: Plan,
    running: frozenset[CarrierId],
    limits: Mapping[str, int],
) -> ReassignmentDelta | None:
    """Returns the delta extended by the changes from one plan to the next.

    Returns None when a new epoch is needed: a partition moves to a carrier that does not run, or
    the extended delta does not fit into a driver command.

    Args:
        delta: leads the carriers of the running epoch to the plan `before`.
        running: carriers that had partitions in every plan since `delta.since`.
        limits: by topic, the largest batch in bytes that the target takes.
    """
    was, now = _carrier_numbers(before), _carrier_numbers(after)
    gone: dict[tuple[str, TopicPartition], int | None] = dict.fromkeys(was.keys() - now.keys())
    moved = {key: carrier for key, carrier in now.items() if was.get(key) != carrier}
    if any(CarrierId(route, carrier) not in running for (route, _), carrier in moved.items()):
        return None
    where = {**delta.where, **gone, **moved}
    topics = {partition.topic for _, partition in where}
    own = {topic: limit for topic, limit in limits.items() if topic in topics}
    found = ReassignmentDelta(delta.since, where, own)
    return found if len(found.encode()) <= BYTES_MAX else None


def busy_carriers(plan: Plan) -> frozenset[CarrierId]:
    """Returns the carriers that have partitions to carry."""
    return frozenset(carrier for carrier, load in plan.loads.items() if load)


def _carrier_numbers(plan: Plan) -> dict[tuple[str, TopicPartition], int]:
    return {
        (carrier.route, partition): carrier.number
        for carrier, load in plan.loads.items()
        for partition in load
    }
