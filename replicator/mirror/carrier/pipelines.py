"""Pipelines of one carrier, and those among them that have batches to send."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from balancer.topic_partition import TopicPartition
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline


class Pipelines(dict[TopicPartition, PartitionPipeline]):
    """Pipelines by partition. `busy` saves the senders a scan of all pipelines in each round."""

    def __init__(self) -> None:
        super().__init__()
        self.added = asyncio.Event()
        """Set when pipelines were added: their brokers may need senders at once."""
        self.uncovered = asyncio.Event()
        """Set when a pipeline waits for an entry that covers a gap. It is committed at once."""
        self._busy: dict[TopicPartition, PartitionPipeline] = {}

    def mark_busy(self, pipelines: Iterable[PartitionPipeline]) -> None:
        """Marks pipelines that have queued batches now."""
        for pipeline in pipelines:
            self._busy[pipeline.partition] = pipeline

    def busy(self) -> list[PartitionPipeline]:
        """Returns the pipelines with queued batches."""
        for partition, pipeline in list(self._busy.items()):
            if pipeline.queue.head is None or self.get(partition) is not pipeline:
                del self._busy[partition]
        return list(self._busy.values())
