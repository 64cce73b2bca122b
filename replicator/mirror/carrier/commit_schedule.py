"""Commit schedule: when a carrier session commits the ledger entries of its pipelines."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.config.settings import ReplicatorSettings
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.carrier.pace import Pace
from replicator.mirror.carrier.parking import Parking
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.senders import Senders
from replicator.mirror.offset_map.runs_tail import RunsTail

TICK_SECONDS = 0.05
RENEW_SECONDS = 60.0
"""Interval at which unchanged entries are committed again, so that the target does not expire
them."""
LOG_ENDS_SECONDS = 5.0


@dataclass(eq=False)
class CommitSchedule:
    """Commits entries: at once where a gap must be covered, else by time and bytes shipped.

    Args:
        runs: tails the runs topic; its ends go into the entries.
        pace: counts the bytes shipped since the last commit.
        parking: parks a pipeline that has a loss, once its queue is acknowledged.
        senders: woken after a commit that may let batches be sent.
        renew_seconds: interval at which unchanged entries are committed again; `renew_within`
            shortens it.
        limit_seconds: longest wait for a higher max.message.bytes before a record that is too
            large parks its partition. The driver raises it as the source's, and begins an epoch.
    """

    settings: ReplicatorSettings
    target: Cluster
    runs: RunsTail
    pipelines: Pipelines
    committer: ProgressCommitter
    pace: Pace
    parking: Parking
    senders: Senders
    renew_seconds: float = RENEW_SECONDS
    limit_seconds: float = 0.0
    _too_large: dict[tuple[TopicPartition, int], float] = field(init=False, default_factory=dict)
    """Time at which each record was found too large, by partition and source offset."""

    def renew_within(self, seconds: float) -> None:
        """Renews entries at least so often: the target would forget them."""
        self.renew_seconds = min(self.renew_seconds, seconds)

    async def run(self) -> None:
        """Commits until cancelled."""
        bytes_max = self.settings.ledger_mib << 20
        last = renewed = time.monotonic()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self.pipelines.uncovered.wait()
            self.pipelines.uncovered.clear()
            now = time.monotonic()
            pipelines = list(self.pipelines.values())
            for pipeline in pipelines:
                loss = pipeline.loss_to_park
                if loss and pipeline.is_empty and not self._may_fit(pipeline, loss, now):
                    await self.parking.park(pipeline, loss)
            waiting = [pipeline for pipeline in self.pipelines.busy() if pipeline.waits_for_cover]
            is_due = now - last > self.settings.ledger_seconds
            if is_due or self.pace.bytes_since_commit > bytes_max:
                renew = now - renewed > self.renew_seconds
                if renew:
                    await self._move_up(pipelines)
                    renewed = now
                self.pace.bytes_since_commit = 0
                last = now
                await self.committer.commit(pipelines, even_unchanged=renew)
                self.senders.wake()
            elif waiting:
                await self.committer.commit(waiting)
                # Behind more gaps than an entry lists, batches wait for those in flight. Woken for
                # nothing, the senders would ask for the same entry at once, again and again.
                if not all(pipeline.waits_for_cover for pipeline in waiting):
                    self.senders.wake()

    def _may_fit(self, pipeline: PartitionPipeline, loss: Loss, now: float) -> bool:
        """Returns True while the target's limit may still be raised for a record."""
        if loss.kind is not LossKind.RECORD_TOO_LARGE:
            return False
        found_at = self._too_large.setdefault((pipeline.partition, loss.begin), now)
        return now - found_at < self.limit_seconds

    async def _move_up(self, pipelines: list[PartitionPipeline]) -> None:
        """Raises the target offsets of idle pipelines to the ends of the target's logs.

        A takeover then need not read what other producers appended. All pipelines with nothing in
        flight send their next batch alone: the broker may have forgotten an idle producer.
        """
        for pipeline in pipelines:
            pipeline.note_silence()
        idle = [
            pipeline
            for pipeline in pipelines
            if pipeline.is_empty and self.target.leader(*pipeline.partition)
        ]
        # A partition that is just losing its leader must not hold up the entries of all others.
        with suppress(TimeoutError):
            async with asyncio.timeout(LOG_ENDS_SECONDS):
                asked = (self.target.log_end(*pipeline.partition) for pipeline in idle)
                ends = await asyncio.gather(*asked)
                await self.runs.look()
            for pipeline, end in zip(idle, ends, strict=True):
                pipeline.moved_up(end)
