"""Reassignment: a carrier hands over and acquires partitions while its epoch runs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from balancer.topic_partition import TopicPartition
from replicator.config.names import handover_id
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.mirror.carrier.acquisition import Acquisition
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.spark.driver_command import DriverCommand

log = logging.getLogger(__name__)

LEAVING_TICK_SECONDS = 0.005
TICK_SECONDS = 0.05
REFUSED_SECONDS = 0.5
"""Pause before a partition that the target did not release is tried again."""


class Reassignment:
    """Hands over and acquires partitions as the driver command says (decision 0014).

    Args:
        ends: source and target; they must know the topics of acquired partitions.
        limits: largest batch that the target accepts, by topic; updated here.
        ending: set once the carrier has no partition. It gets none in this epoch any more, so its
            Spark task can end.
    """

    def __init__(
        self,
        assignment: CarrierAssignment,
        *,
        fenced_committer: FencedCommitter,
        ends: tuple[Cluster, Cluster],
        pipelines: Pipelines,
        acquisition: Acquisition,
        committer: ProgressCommitter,
        receipts: ReceiptBook,
        limits: MutableMapping[str, int],
        ending: asyncio.Event,
    ):
        self._current = CurrentAssignment(assignment, assignment.plan_version)
        self._fenced_committer = fenced_committer
        self._ends = ends
        self._pipelines = pipelines
        self._acquisition = acquisition
        self._committer = committer
        self._receipts = receipts
        self._limits = limits
        self._ending = ending
        self._not_before: dict[TopicPartition, float] = {}
        self._is_over = False

    @property
    def own(self) -> frozenset[TopicPartition]:
        """Partitions that the carrier has under the current plan, held or not."""
        return self._current.partitions

    def is_unassigned(self, partition: TopicPartition) -> bool:
        """Returns True when no other carrier is known to have the partition."""
        return self._current.is_unassigned(partition)

    @property
    def free_id(self) -> str:
        """Transactional id that released entries name while their next carrier is not known."""
        return f"{self._fenced_committer.transactional_id}.free"

    @property
    def topics(self) -> set[str]:
        """Topics of all partitions that are, or may have been, this carrier's in this epoch.

        An earlier session may still hold partitions that moved away; they must be released.
        """
        return {partition.topic for partition in self.own | self._current.once_assigned}

    def begin(self) -> None:
        """Requests all partitions of the carrier.

        A partition that changed carriers since the plan may still be held by another one, so its
        release is awaited. A partition that moved away is reclaimed if an earlier session of this
        carrier still holds it, in order to be released.
        """
        for end in self._ends:
            end.watch(self.topics)
        moved = self._current.moved.keys()
        self._acquisition.want(self.own - moved)
        self._acquisition.await_release(self.own & moved)
        self._acquisition.reclaim(self._current.once_assigned - self.own)

    def apply(self, command: DriverCommand) -> None:
        """Applies a driver command of our own term that does not end the epoch."""
        before, self._current = self._current, self._current.after(command)
        if self._current is before:
            return
        # A partition that moved away and back has neither left nor come, but its limit may have
        # changed.
        self._limits.update(command.delta.limits)
        left, received = before.partitions - self.own, self.own - before.partitions
        if not left and not received:
            return
        log.info(
            "event=course route=%s carrier=%d plan=%d leaves=%d receives=%d",
            *self._receipts.log_fields,
            command.plan_version,
            len(left),
            len(received),
        )
        for end in self._ends:
            end.watch({each.topic for each in received})
        self._acquisition.forget(left)
        # An entry may have been committed without an answer: then it is held, but has no pipeline.
        self._acquisition.reclaim(each for each in left if each not in self._pipelines)
        # A partition that settles here is acquired again after its release.
        self._acquisition.await_release(each for each in received if each not in self._pipelines)

    def end_hand_overs(self) -> None:
        """Ends the hand-over of single partitions: the session's end releases all at once.

        A release that has begun continues, because repeating it could overwrite the entry of the
        next carrier.
        """
        self._is_over = True

    async def run(self) -> None:
        """Hands over reassigned partitions until cancelled.

        Each is released once all its batches that may have landed are acknowledged; the others
        continue meanwhile.
        """
        while True:
            if self._is_over:
                await asyncio.sleep(TICK_SECONDS)
                continue
            leaving = self._leaving()
            for pipeline in leaving:
                pipeline.settle()
            if ready := self._releasable(leaving, time.monotonic()):
                await self._hand_over(ready)
            if not (
                self.own
                or self._pipelines
                or self._acquisition.waiting
                or self._acquisition.is_taking
            ):
                self._ending.set()
            await asyncio.sleep(LEAVING_TICK_SECONDS if leaving else TICK_SECONDS)

    def _leaving(self) -> list[PartitionPipeline]:
        """Returns the pipelines to be released.

        A partition that comes back while it settles is released first, and then acquired again.
        """
        return [
            pipeline
            for pipeline in self._pipelines.values()
            if pipeline.is_settling or pipeline.partition not in self.own
        ]

    def _releasable(self, leaving: Iterable[PartitionPipeline], now: float) -> set[TopicPartition]:
        """Returns the partitions with nothing under way, except those tried a moment ago."""
        empty = {pipeline.partition for pipeline in leaving if pipeline.is_empty}
        return {each for each in empty if now >= self._not_before.get(each, now)}

    async def _hand_over(self, ready: set[TopicPartition]) -> None:
        done = await self._committer.hand_over(
            {each: self._current.next_id(each, self.free_id) for each in ready}
        )
        self._receipts.released(done)
        self._acquisition.await_release(done & self.own)
        later = time.monotonic() + REFUSED_SECONDS
        self._not_before = dict.fromkeys(ready - done, later)


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

    first: CarrierAssignment
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
