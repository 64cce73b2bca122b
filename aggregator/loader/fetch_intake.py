"""Fetch intake: opens the records of fetch responses, and hands them to their partitions by
table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.schema_ids import SchemasWanted
from aggregator.intents.intent import Intent
from aggregator.loader.counters import (
    OFFSETS_EMPTY,
    RECORDS_PASSED_OVER,
    RECORDS_READ,
    RECORDS_REPLAYED,
)
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.partition_error import partition_error
from aggregator.loader.sink import Sink
from balancer.topic_partition import TopicPartition
from replicator.batches.batch import BrokenBatch
from replicator.batches.committed_records import CommittedRecords, committed_records
from replicator.kafka.client.cluster import Cluster, Forbidden
from replicator.kafka.client.fetch_session import FetchSession, TopicIdPartition
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.error_codes import Verdict, named, verdict

NO_OFFSETS = np.empty(0, np.int64)


class FrozenRecord(NamedTuple):
    """Offset of a record of a frozen table."""

    offset: int
    table: str


@dataclass(eq=False)
class FetchIntake:
    """Takes fetch responses in.

    Args:
        partitions: of the loader; other parts add and remove some meanwhile.
        sink: routes the records, and hears of each response that brought some.
        assignment: tells the tables that are frozen in a partition.
        opened_bytes_max: bytes of records that are opened at once; the rest is fetched once more.
    """

    source: Cluster
    partitions: Mapping[TopicPartition, HeldPartition]
    sink: Sink
    assignment: LoaderAssignment
    loader_counts: LoaderCounts = field(default_factory=LoaderCounts)
    opened_bytes_max: int | None = None

    def take(
        self,
        response: Any,
        wanted: Mapping[TopicIdPartition, HeldPartition],
        session: FetchSession,
        reported_at: float,
    ) -> bool:
        """Takes a response in.

        Returns True when a partition was answered with an error, so that metadata needs a refresh.
        """
        has_errors = is_filled = False
        for topic, rows, _ in response.topics:
            for number, code, _, stable_offset, _, aborted, _, records, _ in rows:
                partition = wanted.get((topic, number))
                if partition is None or self._is_gone(partition):
                    continue
                asked = session.asked((topic, number))
                if code:
                    has_errors = True
                    self._handle_error(partition, code)
                elif asked is not None and (asked.offset, asked.leader_epoch) == (
                    partition.position,
                    partition.leader_epoch,
                ):
                    partition.source_end = stable_offset
                    if records:
                        is_filled = True
                        self._fill(partition, records, aborted)
        if is_filled:
            self.sink.forming.filled()
        return has_errors

    def _is_gone(self, partition: HeldPartition) -> bool:
        is_held = self.partitions.get(partition.partition) is partition
        return not is_held or not partition.is_fetching

    def _fill(self, partition: HeldPartition, fetched: memoryview, aborted: Any) -> None:
        progress = partition.progress
        found = committed_records(
            fetched,
            position=progress.position,
            aborted=[(row[0], row[1]) for row in aborted or ()],
            opened_bytes_max=self.opened_bytes_max,
        )
        if found.next_offset == progress.position and found.cut_bytes and not found.trouble:
            partition.fetch_bytes = found.cut_bytes
            return
        partition.fetch_bytes = 0
        trouble = found.trouble
        if found.next_offset > progress.position:
            try:
                self._add(partition, found)
            except BrokenBatch as broken:
                trouble = broken
            except SchemasWanted as wanted:
                partition.schemas_wanted = wanted.ids
                return
            except Exception as error:
                place = partition.partition
                fields = f"reader of {place.topic}-{place.partition}"
                partition.error = partition_error(error, progress.position, fields)
                return
        if trouble:
            self._found_broken(partition, trouble)

    def _add(self, partition: HeldPartition, found: CommittedRecords) -> None:
        tables: Mapping[str, RecordSlice] = {}
        offsets = NO_OFFSETS
        if found.records is not None and len(found.records):
            records = split(found.records)
            offsets = records.offset
            tables = self.sink.route(partition.partition, records, partition.intent.incarnation)
        progress, end = partition.progress, found.next_offset
        frozen = [name for name in tables if self.assignment.is_frozen(partition.partition, name)]
        if stop := next_frozen(partition.intent, tables, frozen):
            partition.is_frozen, partition.frozen_table = True, stop.table
            offsets, end = offsets[offsets < stop.offset], stop.offset
            parts = {name: part.between(0, end) for name, part in tables.items()}
            tables = {name: part for name, part in parts.items() if len(part)}
        if end > progress.position:
            self._count(partition, end, len(offsets))
            # What waits for its store keeps no other records in memory.
            owned = {name: part.owned() for name, part in tables.items()}
            again = progress.add(offsets, end, owned, self.sink.now())
            self.loader_counts.add_of(partition.partition, RECORDS_REPLAYED, again.replayed)
            self.loader_counts.add_of(partition.partition, RECORDS_PASSED_OVER, again.passed_over)
            # What is read again is older than what a predecessor has sealed behind it.
            progress.leader_epoch = max(progress.leader_epoch, found.leader_epoch)

    def _count(self, partition: HeldPartition, end: int, records: int) -> None:
        empty = end - partition.position - records
        self.loader_counts.add_of(partition.partition, RECORDS_READ, records)
        self.loader_counts.add_of(partition.partition, OFFSETS_EMPTY, empty)

    def _found_broken(self, partition: HeldPartition, broken: BrokenBatch) -> None:
        """Parks a partition whose batch cannot be read twice in a row."""
        if partition.broken_at == partition.position:
            end = broken.last_offset + 1
            partition.loss_to_park = Loss(
                LossKind.SOURCE_CORRUPT, broken.first_offset, end, broken.what
            )
        else:
            partition.broken_at = partition.position

    def _handle_error(self, partition: HeldPartition, code: int) -> None:
        """Handles a partition's error; the leader's log is checked before the next fetch."""
        self.source.trouble = f"{self.source.name}: Fetch {partition.partition}: {named(code)}"
        partition.leader_epoch = -1
        if verdict(code) is Verdict.FORBIDDEN:
            raise Forbidden(f"{self.source.name}: Fetch {partition.partition}", [code])
        if verdict(code) is Verdict.POISON:
            detail = f"the source answers {named(code)}"
            partition.loss_to_park = Loss(LossKind.SOURCE_CORRUPT, partition.position, None, detail)


def next_frozen(
    intent: Intent, tables: Mapping[str, RecordSlice], frozen: Iterable[str]
) -> FrozenRecord | None:
    """Returns the first record of a frozen table; None if there is none.

    Records that a predecessor had read do not count: blocks of it have to be formed again.

    Args:
        intent: the partition's last one.
        tables: records by table, each in the order of offsets.
    """
    found = []
    for name in frozen:
        begin = max(intent.replay_end, intent.range_of(name).end)
        offset = tables[name].offset
        found += [FrozenRecord(int(first), name) for first in offset[offset >= begin][:1]]
    return min(found, default=None)
