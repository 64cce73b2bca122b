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
class _Page:
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
        self._pages: dict[TopicPartition, _Page] = {}
        self._counted: WeakSet[PartitionPipeline] = WeakSet()

    @property
    def who(self) -> tuple[str, int]:
        """Route and carrier, for log lines."""
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
            self._page(partition).reason = reason

    def parked(self, partition: TopicPartition, reason: str) -> None:
        """Marks a partition as parked."""
        page = self._page(partition)
        page.state, page.reason = "parked", reason

    def resumed(self, partition: TopicPartition) -> None:
        """Marks a partition as no longer parked, after an operator's decision."""
        if partition in self._pages:
            self._pages[partition].state, self._pages[partition].reason = "unreleased", ""

    def left(self, partitions: Iterable[TopicPartition]) -> None:
        """Marks parked partitions as unreleased: their next carriers report the park."""
        for partition in partitions:
            if partition in self._pages and self._pages[partition].state == "parked":
                self._pages[partition].state = "unreleased"

    def released(self, partitions: Iterable[TopicPartition]) -> None:
        """Marks partitions as released."""
        for partition in partitions:
            page = self._page(partition)
            page.state, page.reason = "released", ""

    def receipts(self, now: float) -> list[Receipt]:
        """Returns one receipt per partition assigned or acquired since; `now` in unix seconds."""
        return [
            self._receipt(partition, self._page(partition), now)
            for partition in dict.fromkeys((*self._assignment.partitions, *self._pages))
        ]

    def carried(
        self, pipelines: Iterable[PartitionPipeline]
    ) -> dict[TopicPartition, tuple[int, int]]:
        """Returns records and bytes by partition, over all sessions so far.

        Args:
            pipelines: of the running session; those already added are not counted again.
        """
        found = {place: (page.records, page.bytes) for place, page in self._pages.items()}
        for pipeline in pipelines:
            if pipeline not in self._counted:
                records, size = found.get(pipeline.partition, (0, 0))
                found[pipeline.partition] = records + pipeline.records, size + pipeline.bytes
        return found

    def _page(self, partition: TopicPartition) -> _Page:
        return self._pages.setdefault(partition, _Page())

    def _count(self, pipeline: PartitionPipeline) -> None:
        page = self._page(pipeline.partition)
        if page.source_end is None:
            page.source_begin = pipeline.began.source_offset
        page.source_end = pipeline.entry.source_offset
        if pipeline.records:
            if page.target_begin is None:
                page.target_begin = pipeline.first_target_offset
            page.target_end = pipeline.entry.target_offset
        page.records += pipeline.records
        page.bytes += pipeline.bytes
        page.unopened += pipeline.unopened
        page.opened += pipeline.opened

    def _receipt(self, partition: TopicPartition, page: _Page, now: float) -> Receipt:
        return Receipt(
            route=self._assignment.route.name,
            topic=partition.topic,
            partition=partition.partition,
            carrier=self._assignment.number,
            plan_version=self._assignment.plan_version,
            source_begin=page.source_begin,
            source_end=page.source_end,
            target_begin=page.target_begin,
            target_end=page.target_end,
            records=page.records,
            bytes=page.bytes,
            batches_unopened=page.unopened,
            batches_opened=page.opened,
            state=page.state,
            reason=page.reason,
            began_at=self._began_at,
            ended_at=now,
        )
