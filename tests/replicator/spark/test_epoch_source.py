"""Claims about a task of an epoch in its executor, and when an epoch outlasts its time."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass

import pyarrow as pa
import pytest

from replicator.spark.epoch_source import (
    OVERDUE_SECONDS,
    Demand,
    EpochTasks,
    RunningEpoch,
    run_tasks,
)

ROWS = pa.RecordBatch.from_pylist([{"records": 7}])


@dataclass(frozen=True)
class Task:
    seconds: float


class Tasks(EpochTasks):
    def __init__(self):
        self.ran = []
        self.warmed = 0

    def demand(self):
        return Demand.WORK

    def begin(self):
        return [Task(60.0)]

    def run(self, task):
        self.ran.append(task)
        return ROWS

    def warm_up(self):
        self.warmed += 1


def test_an_epoch_is_overdue_once_tasks_that_began_with_it_have_long_ended():
    epoch = RunningEpoch(1000.0, 600.0)
    assert not epoch.is_overdue(1600.0 + OVERDUE_SECONDS)
    assert epoch.is_overdue(1600.1 + OVERDUE_SECONDS)


def test_a_task_yields_its_rows():
    tasks, task = Tasks(), Task(60.0)
    assert list(run_tasks(tasks, [task])) == [ROWS]
    assert tasks.ran == [task]


def test_a_task_of_the_first_epoch_imports_and_yields_nothing():
    tasks = Tasks()
    assert list(run_tasks(tasks, [None])) == []
    assert (tasks.warmed, tasks.ran) == (1, [])


def test_rows_arrive_as_they_were_yielded():
    """Spark pickles them."""
    assert pickle.loads(pickle.dumps(ROWS)).equals(ROWS)


@pytest.mark.parametrize(
    "module", ["replicator.spark.epoch_source", "replicator.spark.epoch_runner"]
)
def test_no_part_of_sparks_sql_is_asked_for(module):
    """An engine for queries takes Spark's JVM 3 CPU s to begin, and starts four more processes."""
    script = f"import sys, {module}; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert not any(name.startswith("pyspark.sql") for name in told.stdout.decode().split())
