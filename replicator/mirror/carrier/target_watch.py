"""Watch for target topics that are deleted or recreated while they are carried."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from replicator.kafka.client.cluster import MISSING_SECONDS_MAX, Cluster
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.ledger.loss import Loss, LossKind


class TargetWatch:
    """Compares the target's metadata with the topics of the pipelines.

    Args:
        park: called with a pipeline whose target topic was deleted; its entry was deleted with it.
        missing_seconds_max: time after which a topic that is missing from the metadata counts as
            deleted.
    """

    def __init__(
        self,
        target: Cluster,
        pipelines: Pipelines,
        park: Callable[[PartitionPipeline, Loss], Awaitable[None]],
        missing_seconds_max: float = MISSING_SECONDS_MAX,
    ):
        self._target = target
        self._pipelines = pipelines
        self._park = park
        self._missing_seconds_max = missing_seconds_max

    async def check(self) -> None:
        """Checks all pipelines once."""
        pipelines = list(self._pipelines.items())
        if any(self._target.topic(partition.topic) is None for partition, _ in pipelines):
            await self._target.try_refresh()
        for partition, pipeline in pipelines:
            topic = self._target.topic(partition.topic)
            if topic is None:
                if self._target.missing_seconds(partition.topic) >= self._missing_seconds_max:
                    gone = Loss(LossKind.TARGET_DELETED, 0, pipeline.entry.target_offset)
                    await self._park(pipeline, gone)
            elif topic.id != pipeline.entry.target_topic:
                # Recreated: must be checked before it gets more records.
                pipeline.target_leader = -1
