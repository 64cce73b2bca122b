"""Epoch runner: runs a Spark job after the other, and hands over the rows of each."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError

from replicator.spark.epoch_source import (
    Demand,
    EpochTask,
    EpochTasks,
    RunningEpoch,
    run_tasks,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext

    from replicator.spark.receipts_folder import EpochReceipts

LOOK_SECONDS = 0.1
STOP_SECONDS = 2.5


class EpochFailed(Exception):
    """Spark gave up an epoch: one of its tasks failed too often."""


class EpochRunner:
    """Epochs of a driver, in a thread that begins at once.

    The first epoch does no work: it starts Spark's Python workers, which takes seconds. A driver
    waits for it before it takes the region over from another.

    Args:
        context: Spark's.
        tasks: of the epochs.
        slots: tasks of the first epoch.
        receipts: keeps the rows of each epoch that has any; None: the epochs have none.
    """

    def __init__(
        self,
        context: SparkContext,
        tasks: EpochTasks,
        *,
        slots: int,
        receipts: EpochReceipts | None,
    ):
        self._context = context
        self._tasks = tasks
        self._receipts = receipts
        self._idle = Event()
        self._idle.set()
        self._is_warm = False
        self._warm_or_ended = Event()
        self._stopping = Event()
        self._error: Exception | None = None
        self.epoch: RunningEpoch | None = None
        """Epoch that runs; None: no one, or the first one, which does no work."""
        # Spark cancels jobs by their group.
        self._group = f"epochs-{id(self):x}"
        self._thread = threading.Thread(target=self._run, args=(slots,), name="epochs", daemon=True)
        self._thread.start()

    def wait_warm(self) -> bool:
        """Waits until the first epoch is over; returns False if it has failed. The next begins at
        once."""
        self._warm_or_ended.wait()
        return self._is_warm

    def wait(self) -> None:
        """Waits until the epochs have ended; raises what ended them, nothing after stop()."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Kills tasks where they stand. Ask them to end first, outside Spark."""
        self._stopping.set()
        until = time.monotonic() + STOP_SECONDS
        # Again and again: a job may be about to begin.
        while self._thread.is_alive() and time.monotonic() < until:
            self._context.cancelJobGroup(self._group)
            self._thread.join(LOOK_SECONDS)

    def wait_idle(self, seconds: float) -> bool:
        """Waits until no epoch runs and its rows are handed over; False: one still runs."""
        return self._idle.wait(seconds)

    def _run(self, slots: int) -> None:
        try:
            self._context.setJobGroup(self._group, "epochs", interruptOnCancel=True)
            self._epoch([None] * slots, 0)
            self._is_warm = True
            self._warm_or_ended.set()
            number = 0
            while not self._stopping.is_set():
                if self._tasks.demand() is Demand.WORK:
                    number += 1
                    self._work(self._tasks.begin(), number)
                else:
                    self._stopping.wait(LOOK_SECONDS)
        except Exception as error:
            if not self._stopping.is_set():
                self._error = error
        finally:
            self._warm_or_ended.set()

    def _work(self, tasks: Sequence[EpochTask], number: int) -> None:
        if tasks:
            self.epoch = RunningEpoch(time.monotonic(), max(task.seconds for task in tasks))
        try:
            self._epoch(tasks, number)
        finally:
            self.epoch = None

    def _epoch(self, tasks: Sequence[EpochTask | None], number: int) -> None:
        """Runs an epoch: the job's tasks work in here until it is over."""
        if not tasks:
            return
        self._idle.clear()
        try:
            job = self._context.parallelize(tasks, len(tasks))
            found = job.mapPartitions(partial(run_tasks, self._tasks)).collect()
            if found and self._receipts:
                self._receipts.keep(_table(found), number)
        except Py4JJavaError as error:
            first = str(error.java_exception.getMessage() or error).splitlines()[0]
            raise EpochFailed(first) from error
        finally:
            self._idle.set()


def _table(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_batches(batches)
