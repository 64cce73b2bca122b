"""Streaming source whose micro-batches are epochs: each task works until the epoch ends.

Spark places the tasks, starts them again when they fail, and returns their rows. What the tasks do
is passed in as EpochTasks.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from typing_extensions import override

from replicator.runtime.logs import log_to_stderr
from replicator.spark.parent_watch import end_with_parents

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
WARM_SECONDS = 0.2
"""Long enough for no worker to be given two tasks of the first epoch."""


class Demand(Enum):
    """Answer to whether an epoch can begin."""

    WORK = auto()
    NOTHING_TO_DO = auto()
    STOP = auto()


class EpochTask(Protocol):
    """Work of one Spark task. Executors may be anywhere: all they need is in it, pickled."""

    @property
    def deadline(self) -> float:
        """Unix seconds, by the driver's clock: the end of the epoch."""


class EpochTasks(ABC):
    """Tasks of all epochs of a query. Pickled: `run` and `warm_up` are called in executors, the
    others in the reader's process on the driver's host."""

    @abstractmethod
    def demand(self) -> Demand:
        """Tells what the next epoch would have to do."""

    @abstractmethod
    def begin(self, now: float) -> Sequence[EpochTask]:
        """Returns the tasks of the epoch that begins at `now` (unix seconds)."""

    @abstractmethod
    def run(self, task: EpochTask) -> pa.RecordBatch | None:
        """Works until the epoch ends; returns its rows. Repeating it must be harmless, and it must
        not raise because of one part of the task."""

    def get_ready(self) -> None:  # noqa: B027 - few have anything to do
        """Imports what `begin` needs. Called in a thread while the first epoch starts workers."""

    @abstractmethod
    def warm_up(self) -> None:
        """Imports what `run` needs, so that the first epoch with work begins without delay."""


class EpochReader(DataSourceStreamReader):
    """Reader of a query. Offsets count epochs.

    The first epoch does no work: it starts Spark's Python workers and makes Spark's own plan, which
    takes seconds. A driver waits for it before it takes the region over from another.

    Args:
        slots: tasks of the first epoch.
    """

    def __init__(self, tasks: EpochTasks, slots: int):
        self._tasks = tasks
        self._slots = slots

    @override
    def initialOffset(self) -> dict[str, int]:
        return {"epoch": 0}

    @override
    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        """Returns the next epoch; waits while there is no work, for Spark asks without pause."""
        end_with_parents()
        while start["epoch"] > 0:
            demand = self._tasks.demand()
            if demand is Demand.STOP:
                quiet()
                time.sleep(LOOK_SECONDS)
                return start
            if demand is Demand.WORK:
                break
            time.sleep(LOOK_SECONDS)
        return {"epoch": start["epoch"] + 1}

    @override
    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        if start["epoch"] == 0:
            threading.Thread(target=self._tasks.get_ready, daemon=True).start()
            return [InputPartition(None)] * self._slots
        return [InputPartition(task) for task in self._tasks.begin(time.time())]

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs one task until the epoch ends; a task that starts too late does nothing."""
        end_with_parents()
        log_to_stderr()
        task: EpochTask | None = partition.value
        if task is None:
            self._tasks.warm_up()
            time.sleep(WARM_SECONDS)
            return
        late = time.time() - task.deadline
        if late >= 0:
            log.warning("event=too-late seconds=%.0f: the epoch of this task is over", late)
            return
        rows = self._tasks.run(task)
        if rows is not None:
            yield rows


def quiet() -> None:
    """Silences standard error: from here on Spark has closed its pipe, and says only that."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
