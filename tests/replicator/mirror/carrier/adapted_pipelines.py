"""Pipelines that a test changes as a carrier adds them."""

from __future__ import annotations

from collections.abc import Callable

from balancer.topic_partition import TopicPartition
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines


class AdaptedPipelines(Pipelines):
    """Pipelines of one carrier.

    Args:
        adapt: called with each new pipeline.
    """

    def __init__(self, adapt: Callable[[PartitionPipeline], None]) -> None:
        super().__init__()
        self._adapt = adapt

    def __setitem__(self, partition: TopicPartition, pipeline: PartitionPipeline) -> None:
        self._adapt(pipeline)
        super().__setitem__(partition, pipeline)
