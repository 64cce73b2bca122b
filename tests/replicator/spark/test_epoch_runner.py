"""Claims about the epoch runner: when an epoch begins, what becomes of its rows, and its end.

Spark is a stand-in that runs the tasks of a job in the thread of epochs.
"""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError

from replicator.spark.epoch_runner import EpochFailed, EpochRunner
from replicator.spark.epoch_source import Demand, EpochTasks

ROWS = pa.RecordBatch.from_pylist([{"records": 7}])
PATIENCE_SECONDS = 10.0


class Context:
    """Spark that runs each task of a job once.

    Args:
        ends: what becomes of a job, called before its tasks run.
    """

    def __init__(self, ends=lambda job: None):
        self.jobs = []
        self.cancelled = threading.Event()
        self._ends = ends

    def setJobGroup(self, group, description, interruptOnCancel):  # noqa: N802, N803 - Spark's
        self.group = group

    def cancelJobGroup(self, group):  # noqa: N802 - Spark's name
        assert group == self.group
        self.cancelled.set()

    def parallelize(self, given, slices):
        assert slices == len(given)
        self.jobs.append(list(given))
        self._ends(len(self.jobs))
        return SimpleNamespace(
            mapPartitions=lambda run: SimpleNamespace(
                collect=lambda: [row for task in given for row in run([task])]
            )
        )


class Tasks(EpochTasks):
    """Tasks whose demands come in turn; the last one stays."""

    def __init__(self, *demands):
        self._demands = list(demands)
        self.warmed = 0

    def demand(self):
        return self._demands.pop(0) if len(self._demands) > 1 else self._demands[0]

    def begin(self):
        return [SimpleNamespace(seconds=60.0, name=name) for name in ("a", "b")]

    def run(self, task):
        return ROWS if task.name == "a" else None

    def warm_up(self):
        self.warmed += 1


class Rows:
    """Receives the rows of epochs."""

    def __init__(self):
        self.found = []
        self.came = threading.Event()

    def keep(self, table, number):
        self.found.append((number, table.to_pylist()))
        self.came.set()


def started(context, tasks, rows=None, slots=2):
    return EpochRunner(context, tasks, slots=slots, receipts=rows or Rows())


def test_the_first_epoch_waits_for_no_plan_and_starts_a_worker_in_each_slot():
    context, tasks, rows = Context(), Tasks(Demand.NOTHING_TO_DO), Rows()
    runner = started(context, tasks, rows, slots=3)
    assert runner.wait_warm()
    runner.stop()
    assert context.jobs == [[None, None, None]]
    assert tasks.warmed == 3
    assert rows.found == []


def test_the_next_epoch_waits_for_work_and_hands_over_its_rows():
    context, rows = Context(), Rows()
    tasks = Tasks(Demand.NOTHING_TO_DO, Demand.WORK, Demand.NOTHING_TO_DO)
    runner = started(context, tasks, rows)
    assert rows.came.wait(PATIENCE_SECONDS)
    runner.stop()
    assert [[getattr(task, "name", None) for task in job] for job in context.jobs] == [
        [None, None],
        ["a", "b"],
    ]
    assert rows.found == [(1, [{"records": 7}])]


def test_after_the_drivers_stop_no_epoch_begins():
    context = Context()
    runner = started(context, Tasks(Demand.STOP))
    assert runner.wait_warm()
    time.sleep(0.3)
    runner.stop()
    assert len(context.jobs) == 1


def test_a_stop_cancels_the_tasks_where_they_stand_and_is_no_error():
    def ends(job):
        if job == 2:
            assert context.cancelled.wait(PATIENCE_SECONDS)
            raise RuntimeError("job 1 cancelled part of cancelled job group")

    context = Context(ends)
    runner = started(context, Tasks(Demand.WORK))
    while len(context.jobs) < 2:
        time.sleep(0.01)
    assert not runner.wait_idle(0.0)
    assert runner.epoch is not None
    assert runner.epoch.seconds == 60.0
    runner.stop()
    runner.wait()
    assert runner.wait_idle(0.0)
    assert runner.epoch is None
    assert len(context.jobs) == 2


@pytest.mark.parametrize("job", [1, 2])
def test_a_job_that_spark_gives_up_ends_the_stream_with_sparks_words(job):
    java = SimpleNamespace(getMessage=lambda: "a task failed 8 times\nDriver stacktrace")

    def ends(number):
        if number == job:
            error = Py4JJavaError.__new__(Py4JJavaError)
            error.java_exception = java
            raise error

    runner = started(Context(ends), Tasks(Demand.WORK))
    with pytest.raises(EpochFailed, match="^a task failed 8 times$"):
        runner.wait()
    assert runner.wait_warm() is (job > 1)
    assert runner.wait_idle(0.0)


def test_a_stream_that_lost_its_jvm_ends_with_the_error():
    def ends(_):
        raise ConnectionRefusedError("py4j")

    runner = started(Context(ends), Tasks(Demand.WORK))
    with pytest.raises(ConnectionRefusedError):
        runner.wait()
