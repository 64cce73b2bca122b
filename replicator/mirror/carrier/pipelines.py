"""Pipelines of one carrier, and those among them that have batches to send."""

from __future__ import annotations

from collections.abc import Iterable

from balancer.plan import TopicPartition
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline


class Pipelines(dict[TopicPartition, PartitionPipeline]):
    """Pipelines by partition. `busy` saves the senders a scan of all pipelines in each round."""

    def __init__(self) -> None:
        super().__init__()
        self._busy: dict[TopicPartition, PartitionPipeline] = {}

    def stir(self, lanes: Iterable[PartitionPipeline]) -> None:
        """Marks pipelines that have queued batches now."""
        for lane in lanes:
            self._busy[lane.partition] = lane

    def busy(self) -> list[PartitionPipeline]:
        """Returns the pipelines with queued batches."""
        for partition, lane in list(self._busy.items()):
            if not lane.has_queued or self.get(partition) is not lane:
                del self._busy[partition]
        return list(self._busy.values())
