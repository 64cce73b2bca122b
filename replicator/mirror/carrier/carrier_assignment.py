"""CarrierAssignment: the part of a plan that is sent to one carrier."""

from __future__ import annotations

import math
from dataclasses import dataclass

from balancer.topic_partition import TopicPartition
from replicator.config.names import carrier_id
from replicator.config.topology import Route
from replicator.spark.driver_command import Term


@dataclass(frozen=True, slots=True)
class CarrierAssignment:
    """Work of one carrier of one route in one epoch.

    Args:
        number: of the carrier, unique within the route.
        term: of the driver that made the plan.
        deadline: latest end of the epoch, in seconds of the monotonic clock of the process that
            carries; set once its task begins.
        max_message_bytes: max.message.bytes by target topic; other topics have Kafka's default.
        refusing: names of the errors by which the target refuses some records, by topic; a topic
            without them is not known.
    """

    route: Route
    number: int
    partitions: tuple[TopicPartition, ...]
    term: Term
    plan_version: int
    deadline: float = math.inf
    max_message_bytes: tuple[tuple[str, int], ...] = ()
    refusing: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def transactional_id(self) -> str:
        return carrier_id(self.route.key, self.number)
