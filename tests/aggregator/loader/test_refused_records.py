"""Refused records are counted by what is wrong, and logged when the reason is news."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from aggregator.loader.counters import RECORDS_REFUSED
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.refused_records import RefusedRecords
from aggregator.tables.decoded import DeadRecord
from balancer.topic_partition import TopicPartition

PLACE = TopicPartition("t", 0)
DEAD = (DeadRecord(7, "no JSON"), DeadRecord(9, "no JSON"))


@pytest.fixture
def refused():
    return RefusedRecords(SimpleNamespace(log_fields="feed=f"), LoaderCounts())


@pytest.mark.parametrize(
    ("table", "has_table", "label", "wrong"),
    [("hits", True, "hits", "record"), ("hits", False, "", "table"), ("", False, "", "header")],
)
def test_records_count_by_what_is_wrong_and_by_tables_that_exist(
    refused, table, has_table, label, wrong
):
    refused.note(PLACE, table, DEAD, has_table=has_table)
    assert refused.loader_counts.value(RECORDS_REFUSED, "t", label, wrong) == 2
    assert refused.loader_counts.by_label(RECORDS_REFUSED, "reason") == {wrong: 2}


def test_a_block_without_dead_letters_counts_and_logs_nothing(refused, caplog):
    refused.note(PLACE, "hits", (), has_table=True)
    assert not refused.loader_counts.by_label(RECORDS_REFUSED, "reason")
    assert not caplog.records


def test_a_reason_is_logged_once_and_counted_each_time(refused, caplog):
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            refused.note(PLACE, "hits", DEAD, has_table=True)
    assert refused.loader_counts.value(RECORDS_REFUSED, "t", "hits", "record") == 6
    assert len(caplog.records) == 1
    assert "event=dead-letters feed=f t-0 table=hits records=2 such as offset 7" in caplog.text
