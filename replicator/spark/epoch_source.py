"""Epochs of a driver: each is a Spark job, and each of its tasks works until the epoch ends.

A task is sent the length of its epoch, and counts it from its own start: clocks of hosts may differ
(decision 0090). Spark places the tasks, starts them again when they fail, and returns their rows.
What the tasks do is passed in as EpochTasks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from replicator.runtime.left_out import leave_out_pandas
from replicator.runtime.logs import log_to_stderr
from replicator.spark.parent_watch import end_with_parents, is_of_spark

if TYPE_CHECKING:
    import pyarrow as pa


OVERDUE_SECONDS = 5.0
"""Time in which Spark starts the tasks of an epoch, and these drain and release."""


class Demand(Enum):
    """Answer to whether an epoch can begin."""

    WORK = auto()
    NOTHING_TO_DO = auto()
    STOP = auto()


class EpochTask(Protocol):
    """Work of one Spark task. Executors may be anywhere: all they need is in it, pickled."""

    @property
    def seconds(self) -> float:
        """Length of the epoch. The task works for so long, unless the driver ends it earlier."""


@dataclass(frozen=True, slots=True, eq=False)
class RunningEpoch:
    """Epoch that runs, by its driver's monotonic clock.

    Args:
        began: in seconds.
        seconds: length.
    """

    began: float
    seconds: float

    def is_overdue(self, now: float) -> bool:
        """Returns True when a task that began with the epoch has long ended, and another runs on.

        Such a task began later: it waited for a slot, or for an executor instead of a lost one.
        """
        return now > self.began + self.seconds + OVERDUE_SECONDS


class EpochTasks(ABC):
    """Tasks of all epochs of a driver. Pickled: `run` and `warm_up` are called in executors, the
    others in the driver's process."""

    @abstractmethod
    def demand(self) -> Demand:
        """Tells what the next epoch would have to do."""

    @abstractmethod
    def begin(self) -> Sequence[EpochTask]:
        """Returns the tasks of the epoch that begins now."""

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

    None stands for a task of the first epoch.
    """
    end_with_parents()
    if is_of_spark():
        leave_out_pandas()
    log_to_stderr()
    for task in given:
        if task is None:
            tasks.warm_up()
            continue
        rows = tasks.run(task)
        if rows is not None:
            yield rows
