"""Receipt book: adds up what a carrier ships in an epoch, over all of its sessions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakSet

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import Loss
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.carrier_counts import CarrierCounts
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.receipts import Receipt
from replicator.notices.condition import Kind, Subject
from replicator.notices.conditions import Conditions


class ReceiptBook:
    """Collects the receipts of one assignment.

    Args:
        conditions: of its carrier, as they are at any time.
    """

    def __init__(self, assignment: CarrierAssignment, conditions: Conditions | None = None):
        self._assignment = assignment
        self._conditions = conditions or Conditions("carrier")
        self._began_at = time.time()
        self.carrier_counts = CarrierCounts()
        self._receipts: dict[TopicPartition, Receipt] = {}
        self._counted: WeakSet[PartitionPipeline] = WeakSet()
        """Pipelines that were added; each is added once."""

    @property
    def log_fields(self) -> tuple[str, int]:
        """Route and carrier, as the first fields of a log line."""
        return self._assignment.route.name, self._assignment.number

    def note_conditions(self, kind: Kind, found: Mapping[TopicPartition, str]) -> None:
        """Replaces the conditions of a kind, given as texts by partition."""
        route = self._assignment.route.name
        subjects = {Subject(route, "", "", *it): text for it, text in found.items()}
        self._conditions.replace(kind, subjects)

    def note_waits(self, text: str) -> None:
        """Notes why the carrier carries nothing at all."""
        subject = Subject(self._assignment.route.name, carrier=self._assignment.number)
        self._conditions.replace(Kind.CARRIER_WAITS, {subject: text})

    def note_works(self) -> None:
        """Notes that the carrier carries, so that it neither waits nor has failed."""
        self._conditions.replace(Kind.CARRIER_WAITS, {})
        self._conditions.replace(Kind.CARRIER_FAILED, {})

    def note(
        self,
        pipelines: Iterable[PartitionPipeline],
        parked: Mapping[TopicPartition, Loss],
        waiting: Mapping[TopicPartition, str],
    ) -> None:
        """Adds the pipelines that a session has at its end, and the reasons of other partitions."""
        for pipeline in pipelines:
            self.add(pipeline)
        for partition, loss in parked.items():
            self.parked(partition, str(loss))
        for partition, reason in waiting.items():
            self._update(partition, reason=reason)

    def add(self, pipeline: PartitionPipeline) -> None:
        """Adds a pipeline, only once. Nothing that it ships afterwards counts."""
        if pipeline not in self._counted:
            self._counted.add(pipeline)
            self._count(pipeline)

    def parked(self, partition: TopicPartition, reason: str) -> None:
        """Marks a partition as parked."""
        self._update(partition, state="parked", reason=reason)

    def acquired(self, partition: TopicPartition) -> None:
        """Notes that a partition was acquired; an earlier state and reason no longer hold."""
        if partition in self._receipts:
            self._update(partition, state="unreleased", reason="")

    def left(self, partitions: Iterable[TopicPartition]) -> None:
        """Marks parked partitions as unreleased: their next carriers report the park."""
        for partition in partitions:
            if partition in self._receipts and self._receipts[partition].state == "parked":
                self._update(partition, state="unreleased")

    def released(self, partitions: Iterable[TopicPartition]) -> None:
        """Marks partitions as released."""
        for partition in partitions:
            self._update(partition, state="released", reason="")

    def receipts(self, now: float) -> list[Receipt]:
        """Returns one receipt per partition assigned or acquired since; `now` in unix seconds."""
        return [
            replace(self._receipt(partition), ended_at=now)
            for partition in dict.fromkeys((*self._assignment.partitions, *self._receipts))
        ]

    def carried(
        self, pipelines: Iterable[PartitionPipeline]
    ) -> dict[TopicPartition, tuple[int, int]]:
        """Returns records and bytes by partition, over all sessions so far.

        Args:
            pipelines: of the running session; those already added are not counted again.
        """
        found = {
            partition: (receipt.records, receipt.bytes)
            for partition, receipt in self._receipts.items()
        }
        for pipeline in pipelines:
            if pipeline not in self._counted:
                records, size = found.get(pipeline.partition, (0, 0))
                found[pipeline.partition] = records + pipeline.records, size + pipeline.bytes
        return found

    def _receipt(self, partition: TopicPartition) -> Receipt:
        return self._receipts.get(partition) or Receipt(
            route=self._assignment.route.name,
            topic=partition.topic,
            partition=partition.partition,
            carrier=self._assignment.number,
            plan_version=self._assignment.plan_version,
            began_at=self._began_at,
        )

    def _update(self, partition: TopicPartition, **changes: Any) -> None:
        self._receipts[partition] = replace(self._receipt(partition), **changes)

    def _count(self, pipeline: PartitionPipeline) -> None:
        before = self._receipt(pipeline.partition)
        changes: dict[str, int | None] = {}
        if before.source_end is None:
            changes["source_begin"] = pipeline.began.source_offset
        if pipeline.records:
            if before.target_begin is None:
                changes["target_begin"] = pipeline.first_target_offset
            changes["target_end"] = pipeline.entry.target_offset
        self._update(
            pipeline.partition,
            source_end=pipeline.entry.source_offset,
            records=before.records + pipeline.records,
            bytes=before.bytes + pipeline.bytes,
            batches_unopened=before.batches_unopened + pipeline.unopened,
            batches_opened=before.batches_opened + pipeline.opened,
            **changes,
        )
