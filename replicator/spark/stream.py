"""Streaming query: runs epoch after epoch of carriers, and keeps their receipts."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from replicator.mirror.carrier.receipts import STATES, Receipt, from_arrow
from replicator.spark.receipts_folder import ReceiptsFolder
from replicator.spark.source import SluiceSource

log = logging.getLogger(__name__)


class Stream:
    """A query over the source `sluice`, each micro-batch of which is an epoch.

    Args:
        spark: the session.
        appliance, posting: the daemon's files. The stream's reader reads both.
        checkpoint: a folder for Spark's own progress. Never the truth: use a new folder each time.
        slots: how many tasks can run at once.
        receipts: the folder where receipts are kept.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        appliance: Path,
        posting: Path,
        checkpoint: Path,
        slots: int,
        receipts: ReceiptsFolder,
    ):
        self.warm = Event()
        """Set once the first epoch, which carries nothing, is over: the next begins at once. Also
        set when the query has ended."""
        self._idle = Event()
        self._idle.set()
        self._receipts = receipts
        spark.dataSource.register(SluiceSource)
        frame = (
            spark.readStream.format(SluiceSource.name())
            .option("appliance", str(appliance))
            .option("posting", str(posting))
            .option("slots", slots)
            .load()
        )
        self._query: StreamingQuery = (
            frame.writeStream.queryName("sluice")
            .option("checkpointLocation", checkpoint.as_uri())
            .foreachBatch(self._epoch)
            .start()
        )

    def wait(self) -> None:
        """Waits until the query has ended. Raises the error that ended it; none after stop()."""
        try:
            self._query.awaitTermination()
        finally:
            self.warm.set()

    def stop(self) -> None:
        """Kills the query's tasks at once: end the carriers first, by a driver command."""
        self._query.stop()

    def wait_idle(self, seconds: float) -> bool:
        """Waits until no epoch runs and its receipts are kept; returns False after a timeout."""
        return self._idle.wait(seconds)

    def _epoch(self, frame: DataFrame, number: int) -> None:
        self._idle.clear()
        try:
            # The tasks run within this call, and carry until their epoch is over.
            receipts = from_arrow(frame.toArrow())
            if receipts:
                self._keep(number, receipts)
        finally:
            self._idle.set()
            self.warm.set()

    def _keep(self, number: int, receipts: Sequence[Receipt]) -> None:
        """Keeps an epoch's receipts. These are for people: a full disk must not stop carriers."""
        log.info("event=epoch-over epoch=%d %s", number, summary(receipts))
        for receipt in receipts:
            if receipt.state == "parked":
                log.error("event=is-parked %s", receipt)
        try:
            self._receipts.add(receipts)
        except Exception:
            log.exception("event=receipts-lost epoch=%d receipts=%d", number, len(receipts))


def summary(receipts: Sequence[Receipt]) -> str:
    """Returns a line that sums up one epoch."""
    states = Counter(receipt.state for receipt in receipts)
    seconds = max(r.ended_at for r in receipts) - min(r.began_at for r in receipts)
    totals: dict[str, float] = {
        "plan": max(receipt.plan_version for receipt in receipts),
        "records": sum(receipt.records for receipt in receipts),
        "bytes": sum(receipt.bytes for receipt in receipts),
        "unopened": sum(receipt.batches_unopened for receipt in receipts),
        "opened": sum(receipt.batches_opened for receipt in receipts),
        "partitions": len(receipts),
        **{state: states[state] for state in STATES if states[state]},
        "seconds": round(seconds, 1),
    }
    return " ".join(f"{name}={value}" for name, value in totals.items())
