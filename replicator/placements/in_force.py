"""What a region's driver carries just now, as it shows it to others."""

from __future__ import annotations

import json
from dataclasses import dataclass

from balancer.plan import CarrierId, Plan, TopicPartition


@dataclass(frozen=True, slots=True)
class InForce:
    """What the driver last posted.

    Args:
        slots: Spark tasks that can run at once.
        posted_at: unix seconds.
        generations: by route key and stream, of the placements that are in the plan.
        paused: by route key, partitions that could be carried and, by an operator's order, are not.
    """

    plan: Plan
    slots: int
    posted_at: float
    generations: tuple[tuple[str, str, int], ...] = ()
    paused: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()

    def partitions(self, route: str) -> frozenset[TopicPartition]:
        """All that is carried of a route, by its key, and what of it is paused."""
        carried = {
            each
            for carrier, load in self.plan.loads.items()
            if carrier.route == route
            for each in load
        }
        return frozenset(carried | self.resting(route))

    def generation(self, route: str, stream: str) -> int:
        """Of the placement of a stream that is carried; 0: of none, it is carried by count."""
        found = {(key, name): number for key, name, number in self.generations}
        return found.get((route, stream), 0)

    def resting(self, route: str) -> frozenset[TopicPartition]:
        """What is paused of a route."""
        return frozenset(TopicPartition(*each) for each in dict(self.paused).get(route, ()))

    def busy(self) -> frozenset[CarrierId]:
        """The carriers, of all routes, that have something to carry."""
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
    def from_json(text: str | bytes) -> InForce:
        """Raises ValueError on what another Sluice wrote."""
        try:
            found = json.loads(text)
            return InForce(
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
            raise ValueError(f"a plan in force of another form: {error!r}") from None
