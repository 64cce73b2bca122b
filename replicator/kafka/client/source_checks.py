"""Source checks: a pipeline's position is checked in the log of each new leader of the source."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import (
    MISSING_SECONDS_MAX,
    UNKNOWN_TOPIC,
    Answered,
    Cluster,
)
from replicator.kafka.client.epoch_regress import CheckedPartition, EpochRegress
from replicator.kafka.client.loss import LossKind
from replicator.kafka.client.source_inspection import inspect_source

RETRY_SECONDS = 0.2


@dataclass(eq=False)
class SourceChecks:
    """Checks pipelines in the background, one check of a partition at a time.

    Args:
        epoch_regress: delays the check of a source that reports an older leader epoch.
        missing_seconds_max: time after which a topic that is missing from the metadata counts as
            deleted.
    """

    source: Cluster
    pipelines: Mapping[TopicPartition, CheckedPartition]
    epoch_regress: EpochRegress
    missing_seconds_max: float = MISSING_SECONDS_MAX
    _running: dict[TopicPartition, asyncio.Task[None]] = field(init=False, default_factory=dict)

    @property
    def running(self) -> list[asyncio.Task[None]]:
        return list(self._running.values())

    def start(self) -> None:
        """Starts a check of each pipeline whose source leader differs from the one last checked."""
        for partition, task in list(self._running.items()):
            if task.done():
                task.result()
                del self._running[partition]
        for partition, pipeline in self.pipelines.items():
            leader = self.source.leader(*partition)
            is_checked = leader is not None and leader.epoch == pipeline.leader_epoch
            if not is_checked and not pipeline.loss_to_park and partition not in self._running:
                self._running[partition] = asyncio.create_task(self._check(pipeline))

    def _is_gone(self, topic: str) -> bool:
        """Returns True when the topic was deleted, and is not just unknown to a starting broker."""
        return self.source.missing_seconds(topic) >= self.missing_seconds_max

    async def _check(self, pipeline: CheckedPartition) -> None:
        partition, topic = pipeline.partition, pipeline.partition.topic
        await self.source.try_refresh()
        if self.source.topic(topic) is None:
            is_known = self._is_gone(topic)
        else:
            is_known = self.source.leader(*partition) is not None
        if not is_known:
            await asyncio.sleep(RETRY_SECONDS)
            return
        if await self.epoch_regress.must_wait(pipeline):
            await asyncio.sleep(RETRY_SECONDS)
            return
        position = pipeline.position
        try:
            found = await inspect_source(
                self.source,
                partition,
                topic_id=pipeline.topic_id,
                leader_epoch=pipeline.batch_epoch,
                position=position,
                sealed_end=pipeline.sealed_end,
            )
        except Answered as answer:
            if UNKNOWN_TOPIC not in answer.codes:
                raise
            return  # just deleted: the metadata will show it
        if pipeline.position != position:
            return  # the position has moved, and the new one is not checked
        if found.loss and found.loss.kind is LossKind.SOURCE_DELETED and not self._is_gone(topic):
            await asyncio.sleep(RETRY_SECONDS)
            return
        if found.loss:
            pipeline.loss_to_park = found.loss
        elif found.leader < 0:
            await asyncio.sleep(RETRY_SECONDS)
        pipeline.leader_epoch = found.leader
