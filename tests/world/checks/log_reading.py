"""Reading of a partition's log on, as far as it is committed, whoever leads."""

from __future__ import annotations

from collections.abc import Iterator

from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import NOBODY, Partition
from tests.world.kafka.replica_log import ReplicaLog


class LogReading:
    """Position of a reader that sees each batch once, when it is committed or stable.

    Args:
        is_stable: True reads up to the last stable offset, and leaves aborted batches out.
    """

    def __init__(self, partition: Partition, *, is_stable: bool = False) -> None:
        self.partition, self.is_stable = partition, is_stable
        self.position = 0

    def batches(self) -> Iterator[Batch]:
        """Yields the batches that are new, markers included."""
        leader = self.partition.decided.leader
        if leader == NOBODY:
            return
        log = self.partition.logs[leader]
        limit = log.stable_offset if self.is_stable else log.high_watermark
        for batch in self._read(log, limit):
            self.position = batch.end
            yield batch

    def ahead(self, end: int) -> Iterator[Batch]:
        """Yields the batches below an offset that are not known to be committed yet.

        A new leader's high watermark may be behind: what its predecessor committed is in its log.
        Of a topic that is deleted the first replica's log is read.
        """
        decided, leader = self.partition.decided, self.partition.decided.leader
        if leader == NOBODY:
            leader = min(decided.in_sync, default=self.partition.replicas[0])
        yield from self._read(self.partition.logs[leader], end)

    def _read(self, log: ReplicaLog, limit: int) -> Iterator[Batch]:
        for batch in log.from_offset(self.position, limit):
            if batch.end > limit:
                return
            is_left_out = (
                self.is_stable
                and batch.is_transactional
                and not batch.is_marker
                and not _is_committed(log, batch)
            )
            if not is_left_out:
                yield batch


def _is_committed(log: ReplicaLog, batch: Batch) -> bool:
    """Returns True for a batch of a transaction that ended by a commit."""
    # A leader forgets idle producers, none of which has an open transaction.
    known = log.producers.get(batch.producer_id)
    if known is not None and 0 <= known.transaction_start <= batch.base_offset:
        return False
    return not any(
        it.producer_id == batch.producer_id and it.first_offset <= batch.base_offset <= it.marker
        for it in log.aborted
    )
