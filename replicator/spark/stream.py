"""Streaming query: runs epoch after epoch, and hands over the rows of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.streaming.query import StreamingQuery

if TYPE_CHECKING:
    import pyarrow as pa


class Stream:
    """Streaming query over a source whose micro-batches are epochs.

    Args:
        spark: the session.
        source: its streamReader is an EpochReader.
        options: of the source.
        checkpoint: a folder for Spark's own notes. They never decide progress: use a new folder
            each time.
        epoch_over: receives the rows of an epoch, and its number.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        source: type[DataSource],
        options: Mapping[str, str],
        checkpoint: Path,
        epoch_over: Callable[[pa.Table, int], None],
    ):
        self.warm = Event()
        """Set once the first epoch, which does no work, is over: the next begins at once. Set also
        when there will be none."""
        self._idle = Event()
        self._idle.set()
        self._epoch_over = epoch_over
        spark.dataSource.register(source)
        frame = spark.readStream.format(source.name()).options(**options).load()
        self._query: StreamingQuery = (
            frame.writeStream.queryName(source.name())
            .option("checkpointLocation", checkpoint.as_uri())
            .foreachBatch(self._epoch)
            .start()
        )

    def wait(self) -> None:
        """Waits until the query has ended; raises what ended it, nothing after stop()."""
        try:
            self._query.awaitTermination()
        finally:
            self.warm.set()

    def stop(self) -> None:
        """Kills tasks where they stand. Ask them to end first, outside Spark."""
        self._query.stop()

    def wait_idle(self, seconds: float) -> bool:
        """Waits until no epoch runs and its rows are handed over; False: one still runs."""
        return self._idle.wait(seconds)

    def _epoch(self, frame: DataFrame, number: int) -> None:
        self._idle.clear()
        try:
            # The tasks run in here, until their epoch is over.
            self._epoch_over(frame.toArrow(), number)
        finally:
            self._idle.set()
            self.warm.set()
