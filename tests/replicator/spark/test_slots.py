"""Slots: tasks of epochs and of streaming queries share them, and neither starves the other."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.spark.slots import QUERY_TASKS, shared_spark, slots_of_epochs


def test_without_queries_nothing_changes():
    conf = {"spark.cores.max": "8"}
    assert shared_spark("local[*,8]", conf, 0) == ("local[*,8]", conf)
    assert slots_of_epochs(7, 0) == 7


@pytest.mark.parametrize(
    ("master", "query_tasks", "shared", "left"),
    [
        ("local[*,8]", 1, "local[5,8]", 4),
        ("local[*,8]", 9, "local[8,8]", 4),
        ("local[2,8]", 3, "local[4,8]", 2),
        ("local[6]", 4, "local[10]", 6),
        ("local", 4, "local[2]", 1),
    ],
)
def test_a_local_spark_gets_slots_for_its_queries_and_epochs_keep_theirs(
    master, query_tasks, shared, left
):
    found = shared_spark(master, {}, query_tasks, cores=4)
    assert found.master == shared
    slots = int(re.findall(r"\d+", shared)[0])
    assert slots_of_epochs(slots, int(found.conf[QUERY_TASKS])) == left


@pytest.mark.parametrize("master", ["spark://east:7077", "local-cluster[2,1,1024]", "yarn"])
def test_on_a_cluster_queries_share_the_slots_that_there_are(master):
    found = shared_spark(master, {}, 4, cores=2)
    assert (found.master, found.conf[QUERY_TASKS]) == (master, "4")


@given(st.integers(1, 100), st.integers(1, 100))
def test_epochs_hold_half_of_the_slots_at_least_and_queries_get_one_where_there_are_two(
    slots, query_tasks
):
    left = slots_of_epochs(slots, query_tasks)
    assert left >= max(1, slots / 2)
    assert slots == 1 or 1 <= slots - left <= query_tasks


def test_settings_of_the_operator_override_ours():
    conf = {"spark.driver.memory": "4g"}
    found = shared_spark("local[2,8]", conf, 2).conf
    assert (found["spark.driver.memory"], found["spark.scheduler.mode"]) == ("4g", "FAIR")
