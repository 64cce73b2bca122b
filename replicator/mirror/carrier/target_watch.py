"""Watch for target topics that are deleted or recreated while they are carried."""

from __future__ import annotations

from dataclasses import dataclass

from replicator.kafka.client.cluster import MISSING_SECONDS_MAX, Cluster
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.carrier.parking import Parking
from replicator.mirror.carrier.pipelines import Pipelines


@dataclass(eq=False)
class TargetWatch:
    """Compares the target's metadata with the topics of the pipelines.

    Args:
        parking: parks a pipeline whose target topic was deleted; its entry was deleted with it.
        missing_seconds_max: time after which a topic that is missing from the metadata counts as
            deleted.
    """

    target: Cluster
    pipelines: Pipelines
    parking: Parking
    missing_seconds_max: float = MISSING_SECONDS_MAX

    async def check(self) -> None:
        """Checks all pipelines once."""
        pipelines = list(self.pipelines.items())
        if any(self.target.topic(partition.topic) is None for partition, _ in pipelines):
            await self.target.try_refresh()
        for partition, pipeline in pipelines:
            topic = self.target.topic(partition.topic)
            if topic is None:
                if self.target.missing_seconds(partition.topic) >= self.missing_seconds_max:
                    gone = Loss(LossKind.TARGET_DELETED, 0, pipeline.entry.target_offset)
                    await self.parking.park(pipeline, gone)
            elif topic.id != pipeline.entry.target_topic:
                # Recreated: must be checked before it gets more records.
                pipeline.target_leader = -1
