"""Fetch intake: queues the records of fetch responses in their pipelines, and notes errors."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from replicator.batches.batch import BrokenBatch
from replicator.batches.outgoing_batch import RecordTooLarge
from replicator.batches.packer import MAX_MESSAGE_BYTES, PackingRule, pack
from replicator.kafka.client.cluster import Cluster, Forbidden
from replicator.kafka.client.fetch_session import FetchSession, TopicIdPartition
from replicator.kafka.client.loss import Loss, LossKind, NeededLimit
from replicator.kafka.protocol.error_codes import Verdict, named, verdict
from replicator.kafka.protocol.fetch import FetchPosition
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.senders import Senders


@dataclass(eq=False)
class FetchIntake:
    """Takes fetch responses in.

    Args:
        pipelines: of the carrier; other parts add and remove pipelines meanwhile.
        senders: woken when pipelines have received records.
        limits: largest batch that the target takes, by topic; Kafka's default for other topics.
        merge_below_records: see PackingRule.
    """

    source: Cluster
    pipelines: Pipelines
    senders: Senders
    limits: Mapping[str, int]
    merge_below_records: int

    def take(
        self,
        response: Any,
        wanted: Mapping[TopicIdPartition, PartitionPipeline],
        session: FetchSession,
        reported_at: float,
    ) -> bool:
        """Queues the records of a fetch response.

        Returns True when a partition was answered with an error, so that metadata needs a refresh.

        Args:
            wanted: pipelines that were fetched for.
            session: the fetch session that the response answers.
            reported_at: unix seconds at which the source reported its ends.
        """
        has_errors = False
        filled = []
        unreported: set[PartitionPipeline] = set()
        for topic, rows, _ in response.topics:
            for number, code, high_watermark, stable_offset, _, aborted, _, records, _ in rows:
                pipeline = wanted.get((topic, number))
                if (
                    pipeline is None
                    or self.pipelines.get(pipeline.partition) is not pipeline
                    or pipeline.is_settling
                ):
                    continue
                if code:
                    has_errors = True
                    unreported.add(pipeline)
                    self._handle_error(pipeline, code)
                elif self._is_current(pipeline, session.asked((topic, number))):
                    pipeline.source_end, pipeline.source_high = stable_offset, high_watermark
                    if records:
                        filled.append(pipeline)
                        self._fill(pipeline, records, aborted, reported_at)
                else:
                    unreported.add(pipeline)
        # A throttled response lists no partitions and confirms nothing about any.
        if not response.throttle_time_ms:
            self._note_reported(wanted.values(), unreported, reported_at)
        if filled:
            self.pipelines.mark_busy(filled)
            self.senders.wake()
        return has_errors

    def _note_reported(
        self,
        pipelines: Iterable[PartitionPipeline],
        unreported: Container[PartitionPipeline],
        reported_at: float,
    ) -> None:
        """Notes the time at which the source's ends were reported or confirmed.

        A response of a fetch session leaves out partitions whose ends have not changed.
        """
        for pipeline in pipelines:
            if pipeline.source_end is not None and pipeline not in unreported:
                pipeline.reported_at = reported_at

    def _is_current(self, pipeline: PartitionPipeline, asked: FetchPosition | None) -> bool:
        """Returns False for a late response: the position has changed, or the leader has.

        A new leader may lack the records of a former one.
        """
        return asked is not None and (asked.offset, asked.leader_epoch) == (
            pipeline.position,
            pipeline.leader_epoch,
        )

    def _fill(
        self, pipeline: PartitionPipeline, records: memoryview, aborted: Any, reported_at: float
    ) -> None:
        packed = pack(
            records,
            position=pipeline.position,
            aborted=[(row[0], row[1]) for row in aborted or ()],
            rule=PackingRule(
                max_bytes=self.limits.get(pipeline.partition.topic, MAX_MESSAGE_BYTES),
                merge_below_records=self.merge_below_records,
            ),
        )
        if packed.next_offset == pipeline.position and packed.cut_bytes and not packed.trouble:
            pipeline.fetch_bytes = packed.cut_bytes
            return
        pipeline.fetch_bytes = 0
        pipeline.add(packed.batches, packed.next_offset, packed.leader_epoch, reported_at)
        if packed.trouble:
            self._found_trouble(pipeline, packed.trouble)

    def _found_trouble(
        self, pipeline: PartitionPipeline, trouble: BrokenBatch | RecordTooLarge
    ) -> None:
        if isinstance(trouble, RecordTooLarge):
            pipeline.loss_to_park = Loss(
                LossKind.RECORD_TOO_LARGE,
                trouble.offset,
                trouble.offset + 1,
                str(trouble),
                needs=NeededLimit(trouble.size_bytes),
            )
        elif pipeline.broken_at == pipeline.position:
            end = trouble.last_offset + 1
            pipeline.loss_to_park = Loss(
                LossKind.SOURCE_CORRUPT, trouble.first_offset, end, trouble.what
            )
        else:
            pipeline.broken_at = pipeline.position

    def _handle_error(self, pipeline: PartitionPipeline, code: int) -> None:
        """Handles a partition's error; the leader's log is checked before the next fetch."""
        self.source.trouble = f"{self.source.name}: Fetch {pipeline.partition}: {named(code)}"
        pipeline.leader_epoch = -1
        if verdict(code) is Verdict.FORBIDDEN:
            raise Forbidden(f"{self.source.name}: Fetch {pipeline.partition}", [code])
        if verdict(code) is Verdict.POISON:
            detail = f"the source answers {named(code)}"
            pipeline.loss_to_park = Loss(LossKind.SOURCE_CORRUPT, pipeline.position, None, detail)
