"""Claims about a task of an epoch in its executor: too late it does nothing, empty it warms up."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from dataclasses import dataclass

import pyarrow as pa
import pytest

from replicator.spark.epoch_source import Demand, EpochTasks, run_tasks

ROWS = pa.RecordBatch.from_pylist([{"records": 7}])


@dataclass(frozen=True)
class Task:
    deadline: float


class Tasks(EpochTasks):
    def __init__(self):
        self.ran = []
        self.warmed = 0

    def demand(self):
        return Demand.WORK

    def begin(self, now):
        return [Task(now)]

    def run(self, task):
        self.ran.append(task)
        return ROWS

    def warm_up(self):
        self.warmed += 1


def test_a_task_past_its_deadline_does_nothing(caplog):
    tasks = Tasks()
    assert list(run_tasks(tasks, [Task(time.time() - 1)])) == []
    assert tasks.ran == []
    assert "event=too-late" in caplog.text


def test_a_task_in_time_yields_its_rows():
    tasks, task = Tasks(), Task(time.time() + 60)
    assert list(run_tasks(tasks, [task])) == [ROWS]
    assert tasks.ran == [task]


def test_a_task_of_the_first_epoch_imports_and_yields_nothing():
    tasks = Tasks()
    assert list(run_tasks(tasks, [None])) == []
    assert (tasks.warmed, tasks.ran) == (1, [])


def test_rows_arrive_as_they_were_yielded():
    """Spark pickles them."""
    assert pickle.loads(pickle.dumps(ROWS)).equals(ROWS)


@pytest.mark.parametrize("module", ["replicator.spark.epoch_source", "replicator.spark.stream"])
def test_no_part_of_sparks_sql_is_asked_for(module):
    """An engine for queries takes Spark's JVM 3 CPU s to begin, and starts four more processes."""
    script = f"import sys, {module}; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert not any(name.startswith("pyspark.sql") for name in told.stdout.decode().split())
