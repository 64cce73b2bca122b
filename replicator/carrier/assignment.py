"""What one carrier of one route has to do in one epoch: the part of a plan that travels to it."""

from __future__ import annotations

from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.config.topology import Route
from replicator.ledger.word import Term


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one carrier of one route has to do in one epoch.

    Args:
        number: of the carrier, within the route.
        term: of the driver whose plan this is.
        deadline: unix seconds; the epoch ends then at the latest.
        max_message_bytes: by topic, what the target takes; Kafka's default for the others.
    """

    route: Route
    number: int
    partitions: tuple[TopicPartition, ...]
    term: Term
    plan_version: int
    deadline: float
    max_message_bytes: tuple[tuple[str, int], ...] = ()

    @property
    def transactional_id(self) -> str:
        return f"sluice.{self.route.key}.{self.number}"
