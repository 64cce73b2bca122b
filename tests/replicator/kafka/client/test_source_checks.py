"""Checks of positions in the logs of new leaders, from a cluster whose answers are values."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from uuid import UUID

import pytest

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster_metadata import Leader, Topic
from replicator.kafka.client.epoch_regress import EpochRegress
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.client.source_checks import SourceChecks

PLACE, TOPIC = TopicPartition("flights", 0), UUID(int=1)


@dataclass
class Source:
    """A log of 200 offsets, in which epoch 5 ends at `cut`; epoch 6 is the leader's."""

    cut: int
    name: str = "west"

    def topic(self, name):
        return Topic(TOPIC, {0: Leader(1, epoch=6)})

    def leader(self, topic, partition):
        return Leader(1, epoch=6)

    reported_leader = leader

    async def refresh(self):
        pass

    try_refresh = refresh

    async def log_start(self, topic, partition):
        return 0

    async def log_end(self, topic, partition):
        return 200

    async def epoch_end(self, topic, partition, epoch):
        assert epoch == 5
        return self.cut


@dataclass
class Pipeline:
    """Pipeline that has read epoch 5, checked under it."""

    position: int
    sealed_end: int
    partition: TopicPartition = PLACE
    topic_id: UUID = TOPIC
    batch_epoch: int = 5
    leader_epoch: int = 5
    loss_to_park: Loss | None = None


@pytest.mark.parametrize(
    ("position", "sealed_end", "cut", "lost_end"),
    [
        (106, 0, 112, None),
        (106, 130, 130, None),
        (106, 130, 112, 130),
        (120, 110, 112, 120),
        (112, 0, 112, None),
    ],
)
async def test_a_log_that_is_cut_below_what_is_read_or_read_again_ends_fetching(
    position, sealed_end, cut, lost_end
):
    source, pipeline = Source(cut), Pipeline(position, sealed_end)
    checks = SourceChecks(source, {PLACE: pipeline}, EpochRegress(source))
    checks.start()
    await asyncio.gather(*checks.running)
    assert pipeline.leader_epoch == 6
    expected = None
    if lost_end is not None:
        expected = Loss(LossKind.SOURCE_TRUNCATED, cut, lost_end, "and written anew")
    assert pipeline.loss_to_park == expected
