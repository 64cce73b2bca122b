"""Tests of the tasks of ticks and bootstraps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aggregator.upsert.bootstrap import BootstrapPlan, Slice
from aggregator.upsert.fact_reader import UpsertFactReader
from aggregator.upsert.tick_posting import TickPosting, UnknownTick
from replicator.config.topology import Appliance
from tests.aggregator.upsert.tick_records import tick_of

NEWEST = tick_of((0, 100), (0, 100), block_rows=40)
BEFORE = replace(NEWEST, number=NEWEST.number - 1)
POSTING = TickPosting(1, 0, BEFORE.number, (BEFORE, NEWEST), is_new=True)
READER = UpsertFactReader(Appliance.model_construct(), "shop", "orders", 3)


def test_tasks_of_a_claimed_tick_write_nothing():
    assert {each.is_claimed for each in READER.tick_tasks(POSTING, BEFORE)} == {True}
    assert {each.is_claimed for each in READER.tick_tasks(POSTING, NEWEST)} == {False}


def test_only_the_newest_tick_is_new_and_only_while_nobody_has_begun_with_it():
    assert {each.is_new for each in READER.tick_tasks(POSTING, BEFORE)} == {False}
    assert {each.is_new for each in READER.tick_tasks(POSTING, NEWEST)} == {True}
    again = replace(POSTING, is_new=False)
    assert {each.is_new for each in READER.tick_tasks(again, NEWEST)} == {False}


def test_each_slice_of_a_bootstrap_is_of_one_task():
    slices = tuple(Slice(20_260_101, number, 7) for number in range(7))
    plan = BootstrapPlan("orders", 5, 0, (), (), slices=slices)
    tasks = replace(READER, plan=plan).bootstrap_tasks(1, 5)
    assert len(tasks) == 3
    assert sorted(each for task in tasks for each in task.slices) == list(slices)


def test_a_bootstrap_at_another_tick_than_the_planned_one_is_refused():
    with pytest.raises(UnknownTick, match="none is planned"):
        READER.bootstrap_tasks(1, 5)
    plan = BootstrapPlan("orders", 5, 0, (), ())
    with pytest.raises(UnknownTick, match="one at 5"):
        replace(READER, plan=plan).bootstrap_tasks(1, 6)
