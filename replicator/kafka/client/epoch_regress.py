"""Detection of source partitions whose leader epoch is older than one already read.

Kafka's leader epochs only grow. A broker that is cut off from its quorum keeps reporting an old
epoch, and learns of the newer one when it is back. Until then nothing is read from it. A cluster
that was restored together with its metadata reports an old epoch for good, and its records may
differ from those that were read. Every broker of a restored cluster reports the older epoch; this
distinguishes it from a broker that is cut off.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from enum import Enum
from math import inf
from typing import Protocol
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.cluster_metadata import Leader
from replicator.kafka.client.loss import Loss, went_back
from replicator.runtime.report_once import ReportOnce

log = logging.getLogger(__name__)

LASTING_SECONDS = 5.0
"""Time for which every broker must report the older epoch. A broker that wakes up learns of its
successor sooner."""
BETWEEN_SECONDS = 1.0
"""Pause between two checks of a partition; each check asks every broker of the source."""


class EpochReport(Enum):
    """Leader epoch of a partition as all brokers of the source report it."""

    NEWER = "one of them reports the newest epoch that was read, or a newer one"
    OLDER = "every one of them reports an older epoch"
    UNKNOWN = "those that answer report an older epoch"


class CheckedPartition(Protocol):
    """Pipeline of one partition, as far as the checks of its source know it."""

    leader_epoch: int
    """Leader epoch under which the position was last checked; -1: not checked."""
    loss_to_park: Loss | None
    """Loss that ends fetching."""

    @property
    def partition(self) -> TopicPartition: ...

    @property
    def topic_id(self) -> UUID | None:
        """Topic that is read; None: not known."""

    @property
    def position(self) -> int:
        """Source offset to fetch next."""

    @property
    def sealed_end(self) -> int:
        """End of what may be stored behind the position, which is read again; 0: nothing is."""

    @property
    def batch_epoch(self) -> int:
        """Leader epoch of the last batch read; -1: none yet."""


class EpochRegress:
    """Watches pipelines whose source partition reports an older leader epoch than was read."""

    def __init__(
        self,
        source: Cluster,
        # Looked up when called: it may be simulated.
        clock: Callable[[], float] = lambda: time.monotonic(),
    ) -> None:
        """`clock` returns monotonic seconds."""
        self._source = source
        self._clock = clock
        self._seen_since: dict[TopicPartition, float] = {}
        self._agreed_since: dict[TopicPartition, float] = {}
        self._reports = ReportOnce()
        self._asked_at: dict[TopicPartition, float] = {}

    async def must_wait(self, pipeline: CheckedPartition) -> bool:
        """Returns True when reading must wait; a pipeline whose source went back gets a loss.

        Once every broker has reported an older epoch for LASTING_SECONDS, that epoch is accepted. A
        pipeline that has read nothing of a newer epoch continues: the next check compares its log.
        For any other, `loss_to_park` is set.
        """
        topic = self._source.topic(pipeline.partition.topic)
        if topic and topic.id != pipeline.topic_id:
            return False  # recreated: its epochs begin again, and the check of its log reports it
        reported = self._source.reported_leader(*pipeline.partition)
        if reported is None or reported.epoch >= self._newest(pipeline):
            self._forget(pipeline.partition)
            return False
        asked_at = self._asked_at.get(pipeline.partition, -inf)
        if self._clock() - asked_at < BETWEEN_SECONDS:
            return True
        self._asked_at[pipeline.partition] = self._clock()
        answers = await self._source.leader_by_each(*pipeline.partition)
        match combined(answers, self._newest(pipeline)):
            case EpochReport.NEWER:
                self._forget(pipeline.partition)
                return False
            case EpochReport.UNKNOWN:
                self._agreed_since.pop(pipeline.partition, None)
                self._log_once_it_lasts(pipeline)
            case EpochReport.OLDER:
                since = self._agreed_since.setdefault(pipeline.partition, self._clock())
                if self._clock() - since >= LASTING_SECONDS:
                    leaders = [leader for leader in answers if leader]
                    await self._accept(pipeline, max(leaders, key=lambda leader: leader.epoch))
        return True

    async def _accept(self, pipeline: CheckedPartition, leader: Leader) -> None:
        newest = self._newest(pipeline)
        self._source.accept_leader(*pipeline.partition, leader)
        if leader.epoch < pipeline.batch_epoch:
            end = await self._source.log_end(*pipeline.partition)
            pipeline.loss_to_park = pipeline.loss_to_park or went_back(
                pipeline.position, end, (newest, leader.epoch)
            )

    def _newest(self, pipeline: CheckedPartition) -> int:
        known = self._source.leader(*pipeline.partition)
        return max(pipeline.batch_epoch, known.epoch if known else -1)

    def _forget(self, partition: TopicPartition) -> None:
        self._seen_since.pop(partition, None)
        self._agreed_since.pop(partition, None)
        self._reports.settle(partition)
        self._asked_at.pop(partition, None)

    def _log_once_it_lasts(self, pipeline: CheckedPartition) -> None:
        partition = pipeline.partition
        since = self._seen_since.setdefault(partition, self._clock())
        is_lasting = self._clock() - since >= LASTING_SECONDS
        if not is_lasting or not self._reports.is_news(partition):
            return
        log.warning(
            "event=source-went-back %s: %s-%d: the brokers that answer report a leader epoch older "
            "than %d, which was read; reading waits until one of them reports a newer epoch, or "
            "all of them answer",
            self._source.name,
            *partition,
            self._newest(pipeline),
        )


def combined(answers: Sequence[Leader | None], newest: int) -> EpochReport:
    """Combines the answers of all brokers.

    Args:
        answers: by each broker; None if it gave none.
        newest: newest leader epoch that was read or known.
    """
    if any(leader and leader.epoch >= newest for leader in answers):
        return EpochReport.NEWER
    return EpochReport.OLDER if answers and all(answers) else EpochReport.UNKNOWN
