"""Reassignment delta: partitions that changed carriers, came or went while an epoch ran.

The driver command carries it (decision 0014). It is a map of partitions to their present carriers
and no list of steps. A carrier whose epoch began with a later plan finds the earlier changes in it
already made.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from balancer.plan import CarrierId, Plan, TopicPartition

BYTES_MAX = 3500
"""Limit of the encoded text: a broker takes 4096 bytes of metadata (offset.metadata.max.bytes)."""

Where = Mapping[tuple[str, TopicPartition], int | None]


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
    where: Where = field(default_factory=lambda: MappingProxyType({}))
    limits: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def of_route(self, route: str) -> dict[TopicPartition, int | None]:
        """Returns the changes of one route: by partition its carrier now, None for no carrier."""
        return {place: carrier for (key, place), carrier in self.where.items() if key == route}

    def encode(self) -> str:
        """Returns the delta as text, which is empty when nothing has changed."""
        if not self.where:
            return ""
        rows: dict[str, dict[str, list[tuple[int, int | None]]]] = {}
        for (route, place), carrier in sorted(self.where.items()):
            rows.setdefault(route, {}).setdefault(place.topic, []).append(
                (place.partition, carrier)
            )
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
            raise ValueError(f"no course: {error}") from None
        where = {
            (route, TopicPartition(topic, number)): carrier
            for route, topics in rows.items()
            for topic, numbers in topics.items()
            for number, carrier in numbers
        }
        return ReassignmentDelta(since, where, limits)


def continued(
    course: ReassignmentDelta,
    before: Plan,
    after: Plan,
    running: frozenset[CarrierId],
    limits: Mapping[str, int],
) -> ReassignmentDelta | None:
    """Returns the delta that leads from one plan to the next while the epoch runs on.

    Returns None when a new epoch is needed. This is so when a partition moves to a carrier that
    does not run, or when a driver command cannot hold the delta.

    Args:
        running: carriers that had partitions in every plan since `course.since`.
    """
    was, now = _where(before), _where(after)
    gone: dict[tuple[str, TopicPartition], int | None] = dict.fromkeys(was.keys() - now.keys())
    moved = {place: carrier for place, carrier in now.items() if was.get(place) != carrier}
    if any(CarrierId(route, carrier) not in running for (route, _), carrier in moved.items()):
        return None
    where = {**course.where, **gone, **moved}
    topics = {place.topic for _, place in where}
    own = {topic: limit for topic, limit in limits.items() if topic in topics}
    found = ReassignmentDelta(course.since, where, own)
    return found if len(found.encode()) <= BYTES_MAX else None


def busy(plan: Plan) -> frozenset[CarrierId]:
    """Returns the carriers that have partitions to carry."""
    return frozenset(carrier for carrier, load in plan.loads.items() if load)


def _where(plan: Plan) -> dict[tuple[str, TopicPartition], int]:
    return {
        (carrier.route, place): carrier.number
        for carrier, load in plan.loads.items()
        for place in load
    }
