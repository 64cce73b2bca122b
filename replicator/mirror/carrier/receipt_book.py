"""Receipt book: adds up what a carrier ships in an epoch, over all of its sessions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from weakref import WeakSet

from balancer.plan import TopicPartition
from replicator.mirror.carrier.assignment import Assignment
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.receipts import Receipt, State
from replicator.mirror.carrier.tally import Tally
from replicator.mirror.ledger.loss import Loss


@dataclass(slots=True)
class _Figures:
    """Figures of one partition so far; a pipeline is added once, when it ends."""

    source_begin: int | None = None
    source_end: int | None = None
    target_begin: int | None = None
    target_end: int | None = None
    records: int = 0
    bytes: int = 0
    unopened: int = 0
    opened: int = 0
    state: State = "unreleased"
    reason: str = ""


class ReceiptBook:
    """Collects the receipts of one assignment."""

    def __init__(self, assignment: Assignment):
        self._assignment = assignment
        self._began_at = time.time()
        self.tally = Tally()
        self._figures: dict[TopicPartition, _Figures] = {}
        self._counted: WeakSet[PartitionPipeline] = WeakSet()

    @property
    def log_fields(self) -> tuple[str, int]:
        """Route and carrier, as the first fields of a log line."""
        return self._assignment.route.name, self._assignment.number

    def note(
        self,
        pipelines: Iterable[PartitionPipeline],
        parked: Mapping[TopicPartition, Loss],
        waiting: Mapping[TopicPartition, str],
    ) -> None:
        """Adds pipelines that have ended, each only once, and the reasons of other partitions."""
        for pipeline in pipelines:
            if pipeline not in self._counted:
                self._counted.add(pipeline)
                self._count(pipeline)
        for partition, loss in parked.items():
            self.parked(partition, str(loss))
        for partition, reason in waiting.items():
            self._figures_of(partition).reason = reason

    def parked(self, partition: TopicPartition, reason: str) -> None:
        """Marks a partition as parked."""
        figures = self._figures_of(partition)
        figures.state, figures.reason = "parked", reason

    def resumed(self, partition: TopicPartition) -> None:
        """Marks a partition as no longer parked, after an operator's decision."""
        if partition in self._figures:
            self._figures[partition].state, self._figures[partition].reason = "unreleased", ""

    def left(self, partitions: Iterable[TopicPartition]) -> None:
        """Marks parked partitions as unreleased: their next carriers report the park."""
        for partition in partitions:
            if partition in self._figures and self._figures[partition].state == "parked":
                self._figures[partition].state = "unreleased"

    def released(self, partitions: Iterable[TopicPartition]) -> None:
        """Marks partitions as released."""
        for partition in partitions:
            figures = self._figures_of(partition)
            figures.state, figures.reason = "released", ""

    def receipts(self, now: float) -> list[Receipt]:
        """Returns one receipt per partition assigned or acquired since; `now` in unix seconds."""
        return [
            self._receipt(partition, self._figures_of(partition), now)
            for partition in dict.fromkeys((*self._assignment.partitions, *self._figures))
        ]

    def carried(
        self, pipelines: Iterable[PartitionPipeline]
    ) -> dict[TopicPartition, tuple[int, int]]:
        """Returns records and bytes by partition, over all sessions so far.

        Args:
            pipelines: of the running session; those already added are not counted again.
        """
        found = {
            partition: (figures.records, figures.bytes)
            for partition, figures in self._figures.items()
        }
        for pipeline in pipelines:
            if pipeline not in self._counted:
                records, size = found.get(pipeline.partition, (0, 0))
                found[pipeline.partition] = records + pipeline.records, size + pipeline.bytes
        return found

    def _figures_of(self, partition: TopicPartition) -> _Figures:
        return self._figures.setdefault(partition, _Figures())

    def _count(self, pipeline: PartitionPipeline) -> None:
        figures = self._figures_of(pipeline.partition)
        if figures.source_end is None:
            figures.source_begin = pipeline.began.source_offset
        figures.source_end = pipeline.entry.source_offset
        if pipeline.records:
            if figures.target_begin is None:
                figures.target_begin = pipeline.first_target_offset
            figures.target_end = pipeline.entry.target_offset
        figures.records += pipeline.records
        figures.bytes += pipeline.bytes
        figures.unopened += pipeline.unopened
        figures.opened += pipeline.opened

    def _receipt(self, partition: TopicPartition, figures: _Figures, now: float) -> Receipt:
        return Receipt(
            route=self._assignment.route.name,
            topic=partition.topic,
            partition=partition.partition,
            carrier=self._assignment.number,
            plan_version=self._assignment.plan_version,
            source_begin=figures.source_begin,
            source_end=figures.source_end,
            target_begin=figures.target_begin,
            target_end=figures.target_end,
            records=figures.records,
            bytes=figures.bytes,
            batches_unopened=figures.unopened,
            batches_opened=figures.opened,
            state=figures.state,
            reason=figures.reason,
            began_at=self._began_at,
            ended_at=now,
        )
