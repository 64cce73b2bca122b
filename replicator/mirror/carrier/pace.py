"""Pace of a carrier: rates and lag of its partitions, for operators and metrics.

Its count of bytes shipped since the last ledger commit also makes commits early (commit_schedule).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import Loss
from replicator.mirror.carrier.carrier_counts import CarrierCounts
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.sequenced_batch import SequencedBatch
from replicator.mirror.offset_map.reports import PartitionReport

HALF_LIFE_SECONDS = 5.0


@dataclass(slots=True)
class _Seen:
    pipeline: PartitionPipeline
    at: float
    records: int
    bytes: int
    records_per_second: float | None = None
    bytes_per_second: float | None = None


class Pace:
    """Computes the rates and the lag of a carrier's partitions.

    Rates are moving averages with a half-life of HALF_LIFE_SECONDS.
    """

    def __init__(self, route: str, carrier: int, carrier_counts: CarrierCounts | None = None):
        self.bytes_since_commit = 0
        """Acknowledged bytes since the last ledger commit. The commit schedule resets it."""
        self._route = route
        self._carrier = carrier
        self._carrier_counts = carrier_counts or CarrierCounts()
        self._seen: dict[TopicPartition, _Seen] = {}

    def shipped(self, batch: SequencedBatch, now: float) -> None:
        """Counts an acknowledged batch; `now` in unix seconds.

        A batch that is sent again may be acknowledged twice; its latency is counted only once.
        """
        self.bytes_since_commit += batch.size_bytes
        if batch.readable_ms is not None:
            self._carrier_counts.landed(batch.outgoing.count, now - batch.readable_ms / 1000)
            batch.readable_ms = None

    def reports(
        self,
        pipelines: Iterable[PartitionPipeline],
        parked: Mapping[TopicPartition, Loss],
        now: float,
    ) -> list[PartitionReport]:
        """Returns one report per partition, carried or parked; `now` in unix seconds."""
        # Keeps current pipelines only, so that a parked one is not held in memory.
        self._seen = {pipeline.partition: self._seen_of(pipeline, now) for pipeline in pipelines}
        found = [self._report(seen, now) for seen in self._seen.values()]
        for partition, loss in parked.items():
            found.append(
                PartitionReport(
                    route=self._route,
                    topic=partition.topic,
                    partition=partition.partition,
                    carrier=self._carrier,
                    records_per_second=None,
                    bytes_per_second=None,
                    source_end=None,
                    mirrored_to=None,
                    lag_records=None,
                    lag_seconds=None,
                    parked=str(loss),
                    at=now,
                )
            )
        return found

    def _seen_of(self, pipeline: PartitionPipeline, now: float) -> _Seen:
        """Returns the previous figures of a pipeline; a new pipeline starts over."""
        seen = self._seen.get(pipeline.partition)
        return (
            seen
            if seen and seen.pipeline is pipeline
            else _Seen(pipeline, now, pipeline.records, pipeline.bytes)
        )

    def _report(self, seen: _Seen, now: float) -> PartitionReport:
        pipeline = seen.pipeline
        elapsed = now - seen.at
        if elapsed > 0:
            weight = (
                1.0 if seen.records_per_second is None else 1 - 0.5 ** (elapsed / HALF_LIFE_SECONDS)
            )
            seen.records_per_second = _faded(
                seen.records_per_second, (pipeline.records - seen.records) / elapsed, weight
            )
            seen.bytes_per_second = _faded(
                seen.bytes_per_second, (pipeline.bytes - seen.bytes) / elapsed, weight
            )
            seen.at, seen.records, seen.bytes = now, pipeline.records, pipeline.bytes
        mirrored_to = pipeline.position if pipeline.is_empty else pipeline.entry.source_offset
        clock, written_ms = pipeline.clock, pipeline.queue.oldest_written_ms
        lag = high = high_lag = None
        if pipeline.source_end is not None:
            high = max(pipeline.source_high, pipeline.source_end)
            lag, high_lag = max(0, pipeline.source_end - mirrored_to), max(0, high - mirrored_to)
            clock.see(pipeline.reported_at, pipeline.source_end, high)
            clock.forget(mirrored_to)
        return PartitionReport(
            route=self._route,
            topic=pipeline.partition.topic,
            partition=pipeline.partition.partition,
            carrier=self._carrier,
            records_per_second=seen.records_per_second,
            bytes_per_second=seen.bytes_per_second,
            source_end=pipeline.source_end,
            mirrored_to=mirrored_to,
            lag_records=lag,
            lag_seconds=clock.lag_seconds(now, mirrored_to, written_ms),
            parked=None,
            at=now,
            opened_part=pipeline.opened / sent
            if (sent := pipeline.opened + pipeline.unopened)
            else None,
            source_high=high,
            written_lag_records=high_lag,
            written_lag_seconds=clock.written_lag_seconds(now, mirrored_to, written_ms),
            open_transaction_seconds=clock.open_transaction_seconds(now),
        )


def _faded(old: float | None, new: float, weight: float) -> float:
    return new if old is None else old + (new - old) * weight
