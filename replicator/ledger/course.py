"""Which partitions have changed carriers, come or gone while an epoch ran, as the driver's word has
it.

Not the steps, but who has each of them now: whoever began with a later plan than others finds
nothing in it that is not so already.
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
"""Of its text: a broker takes 4096 bytes of metadata (offset.metadata.max.bytes)."""

Where = Mapping[tuple[str, TopicPartition], int | None]


@dataclass(frozen=True, slots=True)
class Course:
    """What has changed since a plan.

    Args:
        since: a plan's version; carriers of an older one end their epoch.
        where: by route key and partition, the number of the carrier that has it now; None: nobody,
            as it is paused, or no longer there.
        limits: the largest batch that the target takes, of topics that are in it.
    """

    since: int
    where: Where = field(default_factory=lambda: MappingProxyType({}))
    limits: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def of_route(self, route: str) -> dict[TopicPartition, int | None]:
        """By partition, its carrier now; None: nobody."""
        return {place: carrier for (key, place), carrier in self.where.items() if key == route}

    def encode(self) -> str:
        """Text; empty where nothing has changed."""
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
    def decode(since: int, text: str) -> Course:
        """What `encode` wrote; raises ValueError or KeyError on anything else."""
        if not text:
            return Course(since)
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
        return Course(since, where, limits)


def continued(
    course: Course,
    before: Plan,
    after: Plan,
    running: frozenset[CarrierId],
    limits: Mapping[str, int],
) -> Course | None:
    """The course that leads from one plan to the next while the epoch runs on; None where it takes
    a new epoch: a carrier that does not run, or more than a word can hold.

    Args:
        running: carriers that had something to carry in every plan since the course began.
    """
    was, now = _where(before), _where(after)
    gone: dict[tuple[str, TopicPartition], int | None] = dict.fromkeys(was.keys() - now.keys())
    moved = {place: carrier for place, carrier in now.items() if was.get(place) != carrier}
    if any(CarrierId(route, carrier) not in running for (route, _), carrier in moved.items()):
        return None
    where = {**course.where, **gone, **moved}
    topics = {place.topic for _, place in where}
    own = {topic: limit for topic, limit in limits.items() if topic in topics}
    found = Course(course.since, where, own)
    return found if len(found.encode()) <= BYTES_MAX else None


def busy(plan: Plan) -> frozenset[CarrierId]:
    """The carriers that have something to carry."""
    return frozenset(carrier for carrier, load in plan.loads.items() if load)


def _where(plan: Plan) -> dict[tuple[str, TopicPartition], int]:
    return {
        (carrier.route, place): carrier.number
        for carrier, load in plan.loads.items()
        for place in load
    }
