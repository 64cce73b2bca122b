"""Active plan of a region's driver, as it is shown on the status board."""

from __future__ import annotations

import json
from dataclasses import dataclass

from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class ActivePlan:
    """The plan that the driver last posted.

    Args:
        slots: number of Spark tasks that can run at once.
        posted_at: Unix time in seconds.
        generations: (route key, stream, generation) of the placements in the plan. Methods take
            the key of a route as well.
        paused: by route key, the partitions that are not carried only because an operator paused
            them.
    """

    plan: Plan
    slots: int
    posted_at: float
    generations: tuple[tuple[str, str, int], ...] = ()
    paused: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()

    def partitions(self, route: str) -> frozenset[TopicPartition]:
        """Returns all carried and all paused partitions of a route."""
        return frozenset(self.carriers(route)) | self.paused_partitions(route)

    def carriers(self, route: str) -> dict[TopicPartition, int]:
        """Maps each carried partition of a route to the number of its carrier."""
        return {
            each: carrier.number
            for carrier, load in self.plan.loads.items()
            if carrier.route == route
            for each in load
        }

    def generation(self, route: str, stream: str) -> int:
        """Returns the generation of the stream's placement, or 0 if the stream is placed by
        count."""
        found = {(key, name): number for key, name, number in self.generations}
        return found.get((route, stream), 0)

    def paused_partitions(self, route: str) -> frozenset[TopicPartition]:
        """Returns the paused partitions of a route."""
        return frozenset(TopicPartition(*each) for each in dict(self.paused).get(route, ()))

    def busy_carriers(self) -> frozenset[CarrierId]:
        """Returns the carriers of all routes that have at least one partition."""
        return frozenset(carrier for carrier, load in self.plan.loads.items() if load)

    def to_json(self) -> str:
        return json.dumps(
            {
                "plan": self.plan.to_json(),
                "slots": self.slots,
                "posted_at": self.posted_at,
                "generations": self.generations,
                "paused": self.paused,
            },
            separators=(",", ":"),
        )

    @staticmethod
    def from_json(text: str | bytes) -> ActivePlan:
        """Raises ValueError if another version of Sluice wrote the text."""
        try:
            found = json.loads(text)
            return ActivePlan(
                Plan.from_json(found["plan"]),
                found["slots"],
                found["posted_at"],
                tuple((route, stream, number) for route, stream, number in found["generations"]),
                tuple(
                    (route, tuple((topic, number) for topic, number in some))
                    for route, some in found["paused"]
                ),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"an active plan of another format: {error!r}") from None
