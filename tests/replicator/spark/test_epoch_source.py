"""Epochs: when one begins and outlasts its time, its tasks, and the slots for them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass, replace

import pyarrow as pa
import pytest

from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition
from replicator.config.topology import Appliance, KafkaCluster, Region
from replicator.spark.driver_command import Term
from replicator.spark.epoch_source import (
    OVERDUE_SECONDS,
    Demand,
    EpochTasks,
    RunningEpoch,
    run_tasks,
)
from replicator.spark.posted_tasks import PostedTasks
from replicator.spark.posting import ApplianceFile, Posting, PostingFile
from replicator.spark.slots import CORES, ENABLED, EXECUTORS_MAX, SlotsUnlimited, slots_at_most

# -- A task of an epoch in its executor, and when an epoch outlasts its time.

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


# -- Posted tasks: an epoch begins when there is a plan with partitions, and none after a stop.

EAST = Region(
    name="east",
    regional=KafkaCluster(bootstrap=("127.0.0.1:1",)),
    aggregate=KafkaCluster(bootstrap=("127.0.0.1:2",)),
    redis="redis://r",
)
POSTING = Posting(
    Plan(5, {CarrierId("west.east", 0): (TopicPartition("orders", 0),)}), 2, Term(4000, 1)
)


class Named(PostedTasks[Posting]):
    """Tasks that name what they were made of."""

    def tasks(self, appliance, posting):
        return [(*appliance.regions, posting.plan.version)]

    def run(self, task):
        return None

    def warm_up(self):
        """Has nothing to import."""


@pytest.fixture
def found(tmp_path):
    appliance = ApplianceFile(tmp_path / "appliance")
    appliance.write(Appliance(regions={"east": EAST}))
    # A reader has them pickled, in another process.
    return pickle.loads(pickle.dumps(Named(appliance, PostingFile(tmp_path / "posting"))))


def test_before_a_posting_there_is_nothing_to_do(found):
    assert (found.demand(), found.begin()) == (Demand.NOTHING_TO_DO, [])


@pytest.mark.parametrize(
    ("posting", "demand", "tasks"),
    [
        (POSTING, Demand.WORK, [("east", 5)]),
        (replace(POSTING, plan=Plan(6)), Demand.NOTHING_TO_DO, [("east", 6)]),
        (replace(POSTING, stop=True), Demand.STOP, []),
    ],
)
def test_a_plan_with_partitions_is_work_until_the_driver_stops(found, posting, demand, tasks):
    found.postings.write(posting)
    assert (found.demand(), found.begin()) == (demand, tasks)


# -- With dynamic allocation the configuration limits the task slots.


def test_without_dynamic_allocation_nothing_is_said():
    assert slots_at_most({}) == slots_at_most({ENABLED: "false", EXECUTORS_MAX: "3"}) == 0


def test_with_it_all_that_may_be_added_counts():
    assert slots_at_most({ENABLED: "True", EXECUTORS_MAX: "3", CORES: "2"}) == 6


@pytest.mark.parametrize("given", [{}, {CORES: "2"}, {EXECUTORS_MAX: "many", CORES: "2"}])
def test_without_a_limit_it_is_refused_with_what_to_set(given):
    with pytest.raises(SlotsUnlimited, match="maxExecutors"):
        slots_at_most({ENABLED: "true", **given})
