"""Epochs of a driver: each is a Spark job, and each of its tasks works until the epoch ends.

Spark places the tasks, starts them again when they fail, and returns their rows. What the tasks do
is passed in as EpochTasks.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from replicator.runtime.left_out import leave_out_pandas
from replicator.runtime.logs import log_to_stderr
from replicator.spark.parent_watch import end_with_parents, is_of_spark

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)


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
    """Tasks of all epochs of a driver. Pickled: `run` and `warm_up` are called in executors, the
    others in the driver's process."""

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

    @abstractmethod
    def warm_up(self) -> None:
        """Imports what `run` needs and workers do not share (worker_starter.py), so that the first
        epoch with work begins without delay."""


def run_tasks(tasks: EpochTasks, given: Iterable[EpochTask | None]) -> Iterator[pa.RecordBatch]:
    """Runs what a Spark task was given until the epoch ends; yields its rows.

    A task that starts too late does nothing. None stands for a task of the first epoch.
    """
    end_with_parents()
    if is_of_spark():
        leave_out_pandas()
    log_to_stderr()
    for task in given:
        if task is None:
            tasks.warm_up()
            continue
        late = time.time() - task.deadline
        if late >= 0:
            log.warning("event=too-late seconds=%.0f: the epoch of this task is over", late)
            continue
        rows = tasks.run(task)
        if rows is not None:
            yield rows
