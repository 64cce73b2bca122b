"""Counts of a loader never decrease, show what can be counted as 0, and survive encoding."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.loader.counters import (
    BLOCKS,
    COMMIT_FAILURES,
    COMMITS,
    INSERT_ERRORS,
    LOSSES,
    OF_PARTITION,
    OF_TABLE,
    RECORDS_READ,
    RESTARTS,
)
from aggregator.loader.loader_counts import LoaderCounts, LoaderTotals
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import LossKind

PLACE = TopicPartition("t", 3)

counts = st.dictionaries(
    st.text(min_size=1),
    st.dictionaries(
        st.lists(st.text(), max_size=3).map(tuple), st.integers(0, 2**53).map(float), min_size=1
    ),
)


@given(st.builds(LoaderTotals, st.text(), st.text(), counts))
def test_totals_read_back_are_the_same(sent):
    assert LoaderTotals.from_json(sent.to_json()) == sent


@pytest.mark.parametrize("text", ["", "[]", "{}", "5", '["f","c",{"a":5}]', '["f","c",{"a":[[]]}]'])
def test_what_is_no_totals_is_refused(text):
    with pytest.raises(ValueError):
        LoaderTotals.from_json(text)


def test_a_loader_shows_from_the_beginning_what_it_may_count():
    found = LoaderCounts().totals("flights", "west regional").counts
    assert found[COMMITS.name] == {(): 0}
    assert found[RESTARTS.name] == {("fenced",): 0, ("unreachable",): 0, ("failed",): 0}
    assert found[COMMIT_FAILURES.name] == {("fenced",): 0, ("other",): 0}
    assert found[LOSSES.name]["retention_passed",] == 0


def test_partitions_and_tables_are_shown_once_they_are_there_and_keep_their_counts():
    loader_counts = LoaderCounts()
    assert RECORDS_READ.name not in loader_counts.totals("f", "c").counts
    for _ in range(2):
        loader_counts.show_partition(PLACE)
        loader_counts.show_table("t", "hits")
        loader_counts.add_of(PLACE, RECORDS_READ, 5)
        loader_counts.add(BLOCKS, "t", "hits")
    found = loader_counts.totals("f", "c").counts
    assert found[RECORDS_READ.name] == {("t", "3"): 10}
    assert found[BLOCKS.name] == {("t", "hits"): 2}
    assert {each.name for each in (*OF_PARTITION, *OF_TABLE)} <= found.keys()


def test_counts_are_summed_up_by_one_label():
    loader_counts = LoaderCounts()
    loader_counts.add(INSERT_ERRORS, "t", "hits", "286")
    loader_counts.add(INSERT_ERRORS, "t", "clicks", "286", amount=2)
    loader_counts.add(INSERT_ERRORS, "t", "clicks", "socket")
    assert loader_counts.by_label(INSERT_ERRORS, "code") == {"286": 3, "socket": 1}
    assert loader_counts.value(INSERT_ERRORS, "t", "hits", "286") == 1
    assert loader_counts.value(INSERT_ERRORS, "t", "hits", "252") == 0


def test_a_parked_partition_counts_under_its_kind_of_loss():
    loader_counts = LoaderCounts()
    loader_counts.lost(LossKind.SOURCE_WENT_BACK)
    assert loader_counts.value(LOSSES, "source_went_back") == 1


def test_totals_do_not_change_afterwards():
    loader_counts = LoaderCounts()
    before = loader_counts.totals("f", "c")
    loader_counts.add(COMMITS)
    assert before.counts[COMMITS.name] == {(): 0}


def test_a_partition_and_a_table_cost_few_bytes():
    """A loader writes its totals every second."""
    loader_counts = LoaderCounts()
    empty = len(loader_counts.totals("f", "c").to_json())
    for number in range(1000):
        loader_counts.show_partition(TopicPartition("a-topic-of-some-length", number))
        for counter in OF_PARTITION:
            loader_counts.add_of(
                TopicPartition("a-topic-of-some-length", number), counter, 123_456_789
            )
    text = loader_counts.totals("f", "c").to_json()
    assert len(text) - empty < 1000 * 250
    assert json.loads(text)[2].keys() >= {each.name for each in OF_PARTITION}
