"""Key coordinator of an upsert table: a streaming query of Spark that folds one tick per batch.

1. Tasks insert the rows of a tick and yield their facts (tick_source.py).
2. Spark moves facts to the part of the state that their key belongs to, where a task leaves one
   version of each key, the newest: the state then has to hold two versions to tell the one before.
3. A streaming aggregation keeps the two newest versions of each key in RocksDB.
4. The driver gets the state of the tick's keys and all facts of the tick, and finds the ends of
   rows (column_fold.py). It returns from the callback once the tick is claimed.
5. Spark commits the batch. When it dies before that, the batch is done again, from the state of the
   tick before.

Facts reach the driver through the state too, as one value for each part, since only what the query
returns is exactly one batch's. That value is replaced by each tick.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark import SparkContext, TaskContext
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from aggregator.upsert.checkpoint import Checkpoint, CheckpointUnreadable
from aggregator.upsert.column_fold import (
    PACKED,
    Packed,
    are_best,
    ends,
    fixed_bytes,
    from_bytes,
    joined,
    picked,
    sorted_facts,
    top_of,
)
from aggregator.upsert.facts import KEY_BYTES, LaneNote, notes_by_lane
from aggregator.upsert.tick import Tick
from aggregator.upsert.tick_posting import TickPostingFile, UnknownTick
from aggregator.upsert.tick_source import (
    BOOTSTRAP,
    IS_LOCAL,
    NAME,
    PARTS,
    POSTING,
    TICK,
    TickSource,
    become_worker,
)
from aggregator.upsert.version import ORDER_MIN

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


QUERY_CONF = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # A tick writes its changes only; the whole state now and then, beside the ticks.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Bounds all states of a process together, outside of the JVM's heap.
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "256",
    # Spark would look for each key once more, to count them: a seventh of a fold (TickResult.new).
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.streaming.stopTimeout": "5s",
    # A batch without a tick would have no offset of its own.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.pollingDelay": "20ms",
    # Only the batch before is ever done again. More would be kept for each of a tick's changes.
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "30",
    # Spark turns it off for such queries, with a warning.
    "spark.sql.adaptive.enabled": "false",
    # Neither a file of checksums beside each file of a checkpoint, nor one beside that one: each
    # costs a process that sets its mode. RocksDB has checksums of its own.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    # One batch of Arrow is one part's facts of a tick.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
}
"""Settings of the query's session."""

REDUCED = "key binary, version binary, parcel binary"
STATES = """
SELECT key, concat(get(top, 0), coalesce(get(top, 1), x'')) AS top, parcel
FROM (
    SELECT key, max_by(version, version, 2) AS top, max(parcel) AS parcel FROM reduced GROUP BY key
)
"""
PARCEL = Struct(">QI")
"""Head of a parcel, by which a later tick's is the greater one: tick, and bytes of the notes."""
LOST_STATE = re.compile(
    r"\[(CANNOT_LOAD_STATE_STORE\.(?!UNRELEASED_THREAD|\w*OUT_OF_MEMORY)|STATE_STORE_|STATE_REPARTITION"
    r"|CHECKPOINT_FILE_CHECKSUM|STREAMING_CHECKPOINT_MISSING|STREAMING_STATEFUL_OPERATOR_)"
    r"|Incomplete log file|atch \d+ doesn't exist"
)
"""Errors of Spark about the state of a checkpoint."""
NO_SPACE = "No space left on device"
COMMIT_LOOK_SECONDS = 0.02


class CoordinatorStopped(Exception):
    """The query of a table has ended by itself. The message says why."""


class StateLost(CoordinatorStopped):
    """Spark cannot load the state of a checkpoint, which was given up. Read the state anew."""


@dataclass(frozen=True, slots=True)
class TickResult:
    """Outcome of a tick.

    Args:
        tick: its number.
        ends: of rows (column_fold.ENDS).
        notes: of the lanes of which something was read.
        keys: number of keys that have rows in the tick.
        new: of these, the keys that the state did not have.
        folded_seconds: time that the driver's part of the fold took.
    """

    tick: int
    ends: pa.Table
    notes: tuple[LaneNote, ...]
    keys: int
    new: int
    folded_seconds: float


class KeyCoordinator:
    """Query of one table. Others of the same application go on when it fails.

    Args:
        session: of Spark; the query gets one of its own from it.
        table: for logs and for Spark's turns, such as "flights.flight_status".
        posting: with the table's reader beside it, and a posting, before the query starts.
        checkpoint: begun.
        on_tick: called in a thread of Spark's, for a tick after the other; once it returns, Spark
            commits the tick. An error of it ends the query.
        since_order: returns the order before which rows have no ends at a tick (see fold.fold).
    """

    def __init__(
        self,
        session: SparkSession,
        *,
        table: str,
        posting: TickPostingFile,
        checkpoint: Checkpoint,
        on_tick: Callable[[TickResult], None],
        since_order: Callable[[Tick], int] = lambda tick: ORDER_MIN,
    ) -> None:
        self._session = session
        self._table = table
        self._posting = posting
        self._checkpoint = checkpoint
        self._on_tick = on_tick
        self._since_order = since_order
        self._query: StreamingQuery | None = None
        self._error: Exception | None = None

    def start(self) -> None:
        """Starts the query. Blocking: seconds for the first of an application.

        Raises CheckpointUnreadable, and what PySpark raises.
        """
        identity = self._checkpoint.identity()
        session = self._session.newSession()
        for name, value in QUERY_CONF.items():
            session.conf.set(name, value)
        session.conf.set("spark.sql.shuffle.partitions", str(identity.parts))
        session.dataSource.register(TickSource)
        context = session.sparkContext
        facts = (
            session.readStream.format(NAME)
            .option(POSTING, str(self._posting.path))
            .option(PARTS, str(identity.parts))
            .option(IS_LOCAL, "true" if is_local(context) else "false")
            .load()
        )
        context.setLocalProperty("spark.scheduler.pool", self._table)
        try:
            self._query = (
                states(facts, identity.parts)
                .writeStream.outputMode("update")
                .queryName(self._table)
                .option("checkpointLocation", self._checkpoint.location)
                .foreachBatch(self._batch)
                .start()
            )
        finally:
            context.setLocalProperty("spark.scheduler.pool", None)  # type: ignore[arg-type]

    def wait(self) -> None:
        """Waits until the query has ended; raises why, and nothing after stop().

        Raises:
            StateLost: the checkpoint is of no use any more.
            CoordinatorStopped: any other reason of Spark or of the callback.
        """
        assert self._query is not None
        try:
            self._query.awaitTermination()
        except (StreamingQueryException, Py4JError) as error:
            cause = self._error or error
            reason = f"{self._table}: {reason_of(cause)}"
            if NO_SPACE in reason:
                reason += (
                    f": make space for {self._checkpoint.folder} (aggregator.upsert_dir), or for "
                    "Spark's local folders; the table goes on by itself then"
                )
            if is_state_lost(cause):
                self._checkpoint.give_up()
                raise StateLost(reason) from cause
            raise CoordinatorStopped(reason) from cause

    @property
    def is_active(self) -> bool:
        """True while the query runs."""
        return self._query is not None and bool(self._query.isActive)

    def committed(self) -> int | None:
        """Returns the tick that the checkpoint holds; None before the first batch is over.

        Raises CheckpointUnreadable.
        """
        found = self._checkpoint.committed(self._checkpoint.identity())
        return None if found is None else found.tick

    def wait_committed(self, tick: int, seconds: float) -> bool:
        """Waits until the checkpoint holds a tick; returns False when time is up.

        Raises CoordinatorStopped, CheckpointUnreadable.
        """
        until = time.monotonic() + seconds
        while True:
            has_ended, is_up = not self.is_active, time.monotonic() > until
            found = self.committed()
            if found is not None and found >= tick:
                return True
            if has_ended:
                self.wait()
                raise CoordinatorStopped(f"{self._table}: stopped before tick {tick}")
            if is_up:
                return False
            time.sleep(COMMIT_LOOK_SECONDS)

    def stop(self, tick: int, seconds: float) -> bool:
        """Stops the query behind a tick, or where it stands when time is up.

        Either way the next start goes on from the checkpoint.

        Args:
            tick: the newest that is posted.

        Returns:
            True if the checkpoint holds the tick.
        """
        if self._query is None:
            return False
        try:
            return self.wait_committed(tick, seconds)
        except (CoordinatorStopped, CheckpointUnreadable):
            return False
        finally:
            # Spark waits for the callback. One that does not return ends with the process.
            with suppress(Exception):
                self._query.stop()

    def _batch(self, frame: DataFrame, batch: int) -> None:
        try:
            offset = self._checkpoint.offset(batch)
            if offset[BOOTSTRAP]:
                # Done for the state alone: nothing of it is sent to the driver.
                self._checkpoint.count_keys(offset[TICK], frame.count())
                return
            table = frame.toArrow()
            began = time.monotonic()
            result = tick_result(offset[TICK], table, began, self._since_of(offset[TICK]))
            self._on_tick(result)
            self._checkpoint.add_keys(result.tick, result.new)
        except Exception as error:
            self._error = error
            raise

    def _since_of(self, number: int) -> int:
        posting = self._posting.read()
        if posting is None:
            raise UnknownTick(f"tick {number} is not posted; none is")
        return self._since_order(posting.tick(number))


def is_local(context: SparkContext) -> bool:
    """Returns True when all tasks run in the driver's own JVM."""
    return re.fullmatch(r"local(\[.*\])?", context.master or "") is not None


def states(facts: DataFrame, parts: int) -> DataFrame:
    """Returns the states of the keys that a batch has facts of, and the facts, for each part.

    Args:
        facts: columns of tick_source.SCHEMA.
        parts: of the state.
    """
    # Spark's own mapInArrow is this, and asks for pandas, which it does not use.
    reduce = UserDefinedFunction(
        reduced, returnType=REDUCED, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    )
    by_part = facts.repartitionById(parts, "part")
    column = reduce(*[by_part[name] for name in by_part.columns])
    one_each = DataFrame(
        by_part._jdf.mapInArrow(column._jc, False, None),
        by_part.sparkSession,
    )
    one_each.createOrReplaceTempView("reduced")
    return one_each.sparkSession.sql(STATES)


def reduced(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the newest version of each key of one part of the state, then all facts at once.

    Of a bootstrap all versions are yielded, and no facts.

    Args:
        batches: columns of tick_source.SCHEMA.
    """
    become_worker()
    contents: list[bytes] = []
    notes: list[bytes] = []
    tick, is_bootstrap = 0, False
    for batch in batches:
        for row in batch.to_pylist():
            tick, is_bootstrap = row["tick"], row["is_bootstrap"]
            if row["note"] is not None:
                notes.append(row["note"])
            elif is_bootstrap:
                yield _versions(from_bytes(row["facts"]))
            else:
                contents.append(row["facts"])
    if is_bootstrap or not (contents or notes):
        return
    facts = sorted_facts(joined([from_bytes(each) for each in contents]))
    yield _versions(picked(facts, are_best(facts)))
    context = TaskContext.get()
    part = context.partitionId() if context else 0
    yield _reduced(
        pa.array([part.to_bytes(4, "big")]),
        pa.nulls(1, pa.binary()),
        pa.array([parcel(tick, notes, facts)]),
    )


def parcel(tick: int, notes: Sequence[bytes], facts: Packed) -> bytes:
    """Returns the facts and notes of one part and tick as one value."""
    told = msgspec.msgpack.encode(notes)
    return PARCEL.pack(tick, len(told)) + told + facts.tobytes()


def opened(content: bytes) -> tuple[int, list[bytes], Packed]:
    """Returns tick, notes and facts of a parcel."""
    tick, size = PARCEL.unpack_from(content)
    end = PARCEL.size + size
    notes = msgspec.msgpack.decode(content[PARCEL.size : end], type=list[bytes])
    return tick, notes, from_bytes(content[end:])


def tick_result(
    tick: int, table: pa.Table, began: float, since_order: int = ORDER_MIN
) -> TickResult:
    """Returns the outcome of a tick.

    Args:
        table: what the query returned for the tick.
        began: time at which this was, by the monotonic clock, in seconds.
        since_order: order before which rows have no ends (see fold.fold).
    """
    is_key = pc.equal(pc.binary_length(table["key"]), KEY_BYTES)
    parcels = [opened(each) for each in table.filter(pc.invert(is_key))["parcel"].to_pylist()]
    if others := {each[0] for each in parcels} - {tick}:
        raise ValueError(f"the state answers facts of tick {min(others)} for tick {tick}")
    keys = table.filter(is_key)
    facts = sorted_facts(joined([each[2] for each in parcels]))
    top = top_of(keys["key"].combine_chunks(), keys["top"].combine_chunks())
    return TickResult(
        tick,
        ends(tick, facts, top, since_order),
        notes_by_lane(note for each in parcels for note in each[1]),
        keys.num_rows,
        # A key that the state had has two versions now.
        int(np.count_nonzero(~top.has_second)),
        time.monotonic() - began,
    )


def reason_of(error: BaseException) -> str:
    """Returns why a query has ended, in one line: of an error in a Python process of Spark, what
    that one raised."""
    if isinstance(error, PySparkException | Py4JError):
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raised = [line for line in lines if line.split(":")[0].endswith(("Error", "Exception"))]
        own = [line for line in lines if line.startswith(("aggregator.", "replicator."))]
        return (own or raised or lines or [type(error).__name__])[0]
    return f"{type(error).__name__}: {error}"


def is_state_lost(error: BaseException) -> bool:
    """Returns True for a query whose state, or whose log of batches, cannot be loaded."""
    is_of_spark = isinstance(error, PySparkException | Py4JError)
    return is_of_spark and LOST_STATE.search(str(error)) is not None


def _versions(facts: Packed) -> pa.RecordBatch:
    return _reduced(
        fixed_bytes(facts, 0, KEY_BYTES).cast(pa.binary()),
        fixed_bytes(facts, KEY_BYTES, PACKED.itemsize).cast(pa.binary()),
        pa.nulls(len(facts), pa.binary()),
    )


def _reduced(*columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns), ["key", "version", "parcel"])
