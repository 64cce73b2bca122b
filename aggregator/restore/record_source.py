"""Record source: batches of one partition, made of the objects that hold its records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

import pyarrow as pa

from aggregator.restore.column_records import records_of, within
from aggregator.restore.object_copy import chunks_of
from aggregator.restore.offset_order import SortedChunks, in_offset_order
from aggregator.restore.restore_plan import CannotRestore, PartitionPlan
from aggregator.restore.restore_range import RestoreRange
from aggregator.s3.object_store import ObjectStore
from replicator.batches.outgoing_batch import OutgoingBatch
from replicator.batches.records import rebatch

LZ4 = 3
"""Codec of the batches: each client can read it."""
SLICE_BYTES = 32 << 20
"""Bytes of the records that are encoded at once."""


@dataclass(eq=False)
class RecordSource:
    """Source of one partition's records, in order. Blocking.

    Args:
        position: offset from which on records are wanted.
        folder: for copies of objects.
        batch_bytes_max: largest batch that the target takes.
    """

    plan: PartitionPlan
    position: int
    wanted: RestoreRange
    store: ObjectStore
    folder: Path
    batch_bytes_max: int
    _batches: Iterator[OutgoingBatch] = field(init=False)

    def __post_init__(self) -> None:
        self._batches = self._made()

    def take(self, count: int) -> list[OutgoingBatch]:
        """Returns the next batches, fewer than asked only at the end.

        Raises:
            CannotRestore, StoreProblem: an object cannot be read, or is not the one that was told.
        """
        return list(islice(self._batches, count))

    def _made(self) -> Iterator[OutgoingBatch]:
        objects = [
            SortedChunks(each.key, each.begin, partial(chunks_of, self.store, each, self.folder))
            for each in self.plan.left(self.position)
        ]
        for chunk in in_offset_order(objects):
            for part in _slices(within(chunk, self.position, self.plan.end, self.wanted)):
                batches, refused = rebatch(
                    records_of(part), max_bytes=self.batch_bytes_max, codec=LZ4
                )
                yield from batches
                if refused:
                    raise CannotRestore(
                        f"partition {self.plan.partition}: the record of offset {refused.offset} "
                        f"needs a batch of {refused.size_bytes} bytes; raise max.message.bytes of "
                        "the topic, and run this again"
                    )


def _slices(table: pa.Table) -> Iterator[pa.Table]:
    if not len(table):
        return
    count = max(1, len(table) * SLICE_BYTES // max(1, table.nbytes))
    for begin in range(0, len(table), count):
        yield table.slice(begin, count)
