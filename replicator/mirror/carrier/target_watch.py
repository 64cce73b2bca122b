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
    """

    def __init__(
        self,
        target: Cluster,
        lanes: Pipelines,
        park: Callable[[PartitionPipeline, Loss], Awaitable[None]],
    ):
        self._target = target
        self._lanes = lanes
        self._park = park

    async def look(self) -> None:
        """Checks all pipelines once."""
        lanes = list(self._lanes.items())
        if any(self._target.topic(partition.topic) is None for partition, _ in lanes):
            await self._target.try_refresh()
        for partition, lane in lanes:
            topic = self._target.topic(partition.topic)
            if topic is None:
                if self._target.missing_seconds(partition.topic) >= MISSING_SECONDS_MAX:
                    gone = Loss(LossKind.TARGET_DELETED, 0, lane.entry.target_offset)
                    await self._park(lane, gone)
            elif topic.id != lane.entry.target_topic:
                # Recreated: must be checked before it gets more records.
                lane.target_leader = -1
