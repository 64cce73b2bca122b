"""Source of ticks: a Spark data source that streams the facts of one tick per micro-batch.

Its offset names a tick, and Spark's log of offsets says which tick each batch has. The first batch
of a checkpoint is a bootstrap: the state of all keys at a tick, read from the store. All that tasks
need is in their partitions, pickled.

Facts leave the source packed, some thousand in each of Spark's rows: Spark has to move them to the
part of the state that their key belongs to, and need not look into them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType
from typing_extensions import override

from aggregator.upsert.column_fold import pack, picked
from aggregator.upsert.facts import KEY_BYTES
from aggregator.upsert.tick_posting import (
    FactReader,
    TickPosting,
    TickPostingFile,
    UnknownTick,
    WatchedPosting,
)
from replicator.runtime.left_out import leave_out_pandas
from replicator.runtime.logs import log_to_stderr
from replicator.spark.parent_watch import end_with_parents, is_of_spark

NAME = "sluice-ticks"
POSTING, PARTS, IS_LOCAL = "posting", "parts", "is_local"
"""Options: the path of the posting, the number of parts of the state, and whether all tasks run on
the driver's host, in its own JVM."""

SCHEMA = "tick bigint, part int, facts binary, note binary, is_bootstrap boolean"
"""Columns of Spark's rows: facts of one part of the state, or a note."""

GENERATION, TICK, BOOTSTRAP = "generation", "tick", "bootstrap"
"""Fields of an offset: what the state holds behind it. BOOTSTRAP tells that it was read from the
store."""

Offset = dict[str, Any]


def initial_offset(posting: TickPosting) -> Offset:
    """Returns the offset before the first batch of a checkpoint."""
    return {GENERATION: posting.generation, TICK: -1, BOOTSTRAP: False}


def next_offset(posting: TickPosting | None, start: Mapping[str, Any]) -> Offset:
    """Returns the offset behind the next batch: that of the bootstrap, or one tick further.

    Args:
        posting: None if there is none yet.
        start: offset before the batch, which is returned if there is nothing to do.

    Raises:
        UnknownTick: the checkpoint is of another generation, or ahead of all ticks.
    """
    if posting is None:
        return dict(start)
    if start[GENERATION] != posting.generation:
        raise UnknownTick(
            f"the checkpoint is of generation {start[GENERATION]}, ticks of {posting.generation}"
        )
    if start[TICK] < 0:
        return {GENERATION: posting.generation, TICK: posting.begin, BOOTSTRAP: True}
    if start[TICK] > posting.newest:
        raise UnknownTick(
            f"the checkpoint holds tick {start[TICK]}, and the newest tick is {posting.newest}"
        )
    if start[TICK] == posting.newest:
        return dict(start)
    number = posting.tick(start[TICK] + 1).number
    return {GENERATION: posting.generation, TICK: number, BOOTSTRAP: False}


@dataclass
class FactPartition(InputPartition):
    """Part of a tick or of a bootstrap, read by one Spark task.

    Args:
        parts: of the state.
    """

    reader: FactReader
    task: Any
    tick: int
    is_bootstrap: bool
    parts: int


def partitions_between(
    posting: TickPosting | None,
    reader: FactReader,
    start: Mapping[str, Any],
    end: Mapping[str, Any],
    parts: int,
) -> list[FactPartition]:
    """Returns the partitions of a batch. Raises UnknownTick."""
    if start == end:
        return []
    number, is_bootstrap = int(end[TICK]), bool(end[BOOTSTRAP])
    if posting is None or posting.generation != end[GENERATION]:
        raise UnknownTick(f"tick {number} of generation {end[GENERATION]} is not posted")
    if is_bootstrap:
        tasks = reader.bootstrap_tasks(posting.generation, number) if number else ()
    else:
        tasks = reader.tick_tasks(posting, posting.tick(number))
    return [FactPartition(reader, task, number, is_bootstrap, parts) for task in tasks]


class TickSource(DataSource):
    """Source of the ticks of one upsert table."""

    @override
    @classmethod
    def name(cls) -> str:
        return NAME

    @override
    def schema(self) -> str:
        return SCHEMA

    @override
    def streamReader(self, schema: StructType) -> TickReader:
        return TickReader(
            TickPostingFile(Path(self.options[POSTING])),
            parts=int(self.options[PARTS]),
            is_local=self.options[IS_LOCAL] == "true",
        )


class TickReader(DataSourceStreamReader):
    """Reader of ticks. Spark runs it in a process of the driver's host, and `read` in executors."""

    def __init__(self, file: TickPostingFile, *, parts: int, is_local: bool) -> None:
        become_worker()
        self._file = file
        self._parts = parts
        self._is_local = is_local
        self._posting = WatchedPosting(file)

    @override
    def initialOffset(self) -> Offset:
        posting = self._posting.read()
        if posting is None:
            raise UnknownTick("no tick is posted: the coordinator was started too early")
        return initial_offset(posting)

    @override
    def latestOffset(self, start: Offset, limit: object) -> Offset:
        return next_offset(self._posting.read(), start)

    @override
    def partitions(self, start: Offset, end: Offset) -> Sequence[FactPartition]:
        reader = self._file.read_reader()
        return partitions_between(self._posting.read(), reader, start, end, self._parts)

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FactPartition)
        become_worker()
        context = TaskContext.get()
        # Once Spark has lost an executor, it counts attempts anew in a further attempt of the
        # stage. Python is not told the number of that one.
        is_first = self._is_local and context is not None and context.attemptNumber() == 0
        for batch in partition.reader.read(partition.task, is_first_attempt=is_first):
            yield from spark_rows(batch, partition)


def spark_rows(facts: pa.RecordBatch, partition: FactPartition) -> Iterator[pa.RecordBatch]:
    """Yields facts as rows for Spark: packed, by part of the state; notes as they are."""
    is_note = pc.is_valid(facts["note"])
    packed = pack(facts.filter(pc.invert(is_note)))
    parts = parts_of(packed["key"], partition.parts)
    order = np.argsort(parts, kind="stable")
    packed, counts = picked(packed, order), np.bincount(parts, minlength=partition.parts)
    contents = [each.tobytes() for each in np.split(packed, np.cumsum(counts)[:-1])]
    found: list[tuple[int, bytes | None, bytes | None]] = [
        (part, content, None) for part, content in enumerate(contents) if content
    ]
    notes = facts["note"].filter(is_note).to_pylist()
    found += [(number % partition.parts, None, note) for number, note in enumerate(notes)]
    if found:
        part, content, note = zip(*found, strict=True)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([partition.tick] * len(found), pa.int64()),
                pa.array(part, pa.int32()),
                pa.array(content, pa.binary()),
                pa.array(note, pa.binary()),
                pa.array([partition.is_bootstrap] * len(found)),
            ],
            ["tick", "part", "facts", "note", "is_bootstrap"],
        )


def parts_of(keys: np.ndarray[Any, Any], parts: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Returns the part of the state that each key belongs to: a function of the key alone."""
    content = np.ascontiguousarray(keys).view(np.uint8).reshape(len(keys), KEY_BYTES)
    first = np.ascontiguousarray(content[:, :8]).view(">u8").ravel()
    return (first % np.uint64(parts)).astype(np.int64)


def become_worker() -> None:
    """Makes a Python process of Spark one of ours: it ends with its parents, and logs as we do."""
    if is_of_spark():
        end_with_parents()
        leave_out_pandas()
        log_to_stderr()
