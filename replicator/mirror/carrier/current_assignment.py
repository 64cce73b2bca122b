"""Current assignment: the partitions of one carrier under the newest plan of its epoch. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from balancer.plan import TopicPartition
from replicator.config.names import handover_id
from replicator.mirror.carrier.assignment import Assignment
from replicator.spark.driver_command import DriverCommand


@dataclass(frozen=True, slots=True)
class CurrentAssignment:
    """Assignment with which an epoch began, and the reassignments since then.

    Args:
        first: assignment with which the epoch began.
        plan_version: of the newest plan.
        moved: number of the present carrier for each partition that was reassigned since the epoch
            began; None: no carrier.
        partitions: the carrier's under the newest plan, held or not.
    """

    first: Assignment
    plan_version: int
    moved: Mapping[TopicPartition, int | None] = field(default_factory=lambda: MappingProxyType({}))
    partitions: frozenset[TopicPartition] = field(init=False)

    def __post_init__(self) -> None:
        kept = set(self.first.partitions) - self.moved.keys()
        received = {each for each, carrier in self.moved.items() if carrier == self.first.number}
        object.__setattr__(self, "partitions", frozenset(kept | received))

    @property
    def once_assigned(self) -> frozenset[TopicPartition]:
        """All partitions that may have been this carrier's since the epoch began."""
        return frozenset(self.first.partitions) | self.moved.keys()

    def after(self, command: DriverCommand) -> CurrentAssignment:
        """Returns the assignment after a driver command that does not end the epoch.

        Returns this one if the command is older than its plan, or was applied already.
        """
        if command.plan_version <= self.plan_version:
            return self
        moved = command.delta.of_route(self.first.route.key)
        return replace(self, plan_version=command.plan_version, moved=moved)

    def is_unassigned(self, partition: TopicPartition) -> bool:
        """Returns True when no other carrier is known to have the partition."""
        return self.moved.get(partition) is None

    def next_id(self, partition: TopicPartition, free_id: str) -> str:
        """Returns the transactional id that a released entry names for its next carrier.

        Args:
            free_id: id to name while the next carrier is not known.
        """
        carrier = self.moved.get(partition)
        return free_id if carrier is None else handover_id(self.first.route.key, carrier)
