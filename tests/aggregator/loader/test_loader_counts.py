"""Counts of a loader: what is counted, and the refused records among it."""

from __future__ import annotations

import json
import logging
import re
from types import SimpleNamespace

import pytest
from botocore.exceptions import EndpointConnectionError
from hypothesis import given
from hypothesis import strategies as st

from aggregator.intents.table_range import Manifest
from aggregator.loader import counters
from aggregator.loader.counters import (
    BLOCKS,
    COMMIT_FAILURES,
    COMMITS,
    COUNTERS,
    INSERT_ERRORS,
    LOSS_KINDS,
    LOSSES,
    OBJECT_BYTES,
    OBJECT_ENDINGS,
    OBJECT_LOOKS,
    OBJECT_RECORDS,
    OBJECT_SECONDS,
    OBJECTS,
    OBJECTS_NOT_WRITTEN,
    OF_PARTITION,
    OF_TABLE,
    RECORDS_LEFT_OUT,
    RECORDS_READ,
    RECORDS_REFUSED,
    RESTARTS,
    STORE_REQUESTS,
    LoaderCounter,
    kind_label,
)
from aggregator.loader.loader_counts import LoaderCounts, LoaderTotals
from aggregator.loader.object_counts import ObjectCounts
from aggregator.loader.refused_records import RefusedRecords
from aggregator.objects.rotation import Ending
from aggregator.s3.object_store import StoreAddress
from aggregator.s3.object_verdict import Verdict
from aggregator.tables.decoded import DeadRecord
from balancer.topic_partition import TopicPartition
from deploy.lab.process import free_port
from replicator.kafka.client.loss import LossKind

# -- Counts of a loader never decrease, show what can be counted as 0, and survive encoding.

THIRD = TopicPartition("t", 3)
any_counts = st.dictionaries(
    st.text(min_size=1),
    st.dictionaries(
        st.lists(st.text(), max_size=3).map(tuple), st.integers(0, 2**53).map(float), min_size=1
    ),
)


@given(st.builds(LoaderTotals, st.text(), st.text(), any_counts))
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
        loader_counts.show_partition(THIRD)
        loader_counts.show_table("t", "hits")
        loader_counts.add_of(THIRD, RECORDS_READ, 5)
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


# -- Counters: each has one name, a meaning, and labels that none of its feed and cluster
# repeats.


def test_every_counter_is_exported_once():
    defined = {each for each in vars(counters).values() if isinstance(each, LoaderCounter)}
    assert defined == set(COUNTERS)
    assert len({each.name for each in COUNTERS}) == len(COUNTERS)


def test_names_are_those_of_feeds_and_end_without_the_suffix_that_prometheus_adds():
    for each in COUNTERS:
        assert re.fullmatch(r"sluice_feed_[a-z_]+", each.name)
        assert not each.name.endswith("_total")
        assert not {"feed", "cluster"} & set(each.labels)


def test_every_time_has_a_count_of_its_own():
    names = {each.name for each in COUNTERS}
    counts = {
        "sluice_feed_block_loading_seconds": "sluice_feed_blocks",
        "sluice_feed_commit_seconds": "sluice_feed_commits",
        "sluice_feed_object_completing_seconds": "sluice_feed_objects",
        "sluice_feed_quorum_wait_seconds": "sluice_feed_quorum_waits",
        "sluice_feed_row_lag_seconds": "sluice_feed_rows",
        "sluice_feed_takeover_seconds": "sluice_feed_takeovers",
    }
    assert {name for name in names if name.endswith("_seconds")} == counts.keys()
    assert set(counts.values()) <= names
    by_name = {each.name: each.labels for each in COUNTERS}
    assert all(by_name[time] == by_name[count] for time, count in counts.items())


def test_kinds_of_loss_are_words_of_a_label():
    assert {kind_label(kind) for kind in LOSS_KINDS} >= {"source_went_back", "block_doubtful"}


# -- Refused records are counted by what is wrong, and logged when the reason is news.

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


# -- Counts of objects: endings, records that are in none, and what the store was asked.


@pytest.fixture
def loader_counts():
    return LoaderCounts()


@pytest.fixture
def counts(loader_counts):
    return ObjectCounts(
        loader_counts, RefusedRecords(SimpleNamespace(log_fields="feed=f"), loader_counts)
    )


def manifest(records=10, left_out=0):
    return Manifest(0, 10, records, sealed_at_ms=5_000, left_out=left_out, size_bytes=700, crc32c=1)


def test_a_sealed_object_counts_by_its_ending_and_by_what_is_not_in_it(counts, loader_counts):
    dead = (DeadRecord(3, "no JSON"),)
    counts.sealed(PLACE, Ending.HELD_BACK, manifest(left_out=3), dead)
    assert loader_counts.value(OBJECT_ENDINGS, "t", "held back") == 1
    assert loader_counts.value(RECORDS_LEFT_OUT, "t") == 2
    assert loader_counts.value(RECORDS_REFUSED, "t", "", "record") == 1
    assert loader_counts.value(OBJECTS_NOT_WRITTEN, "t") == 0
    counts.sealed(PLACE, Ending.AGE, manifest(left_out=10), ())
    assert loader_counts.value(OBJECTS_NOT_WRITTEN, "t") == 1


def test_a_complete_object_counts_with_what_is_in_it_and_the_time_it_took(counts, loader_counts):
    counts.completed(PLACE, manifest(left_out=1), 5_250)
    found = [loader_counts.value(each, "t") for each in (OBJECTS, OBJECT_RECORDS, OBJECT_BYTES)]
    assert found == [1, 9, 700]
    assert loader_counts.value(OBJECT_SECONDS, "t") == 0.25


def test_what_can_be_counted_is_shown_as_none_from_the_beginning(counts, loader_counts):
    counts.show_topic("t")
    found = loader_counts.totals("f", "c").counts
    assert set(found[OBJECT_ENDINGS.name]) == {("t", each.value) for each in Ending}
    assert set(found[OBJECT_LOOKS.name]) == {(each.name.lower(),) for each in Verdict}
    assert found[OBJECTS.name] == {("t",): 0}


def test_a_request_that_nobody_answers_counts_by_its_operation(counts, loader_counts):
    url = f"http://127.0.0.1:{free_port()}"
    address = StoreAddress(bucket="bucket", endpoint=url, path_style=True, extra={})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        client = counts.client(address)
    with pytest.raises(EndpointConnectionError):
        client.head_object(Bucket="bucket", Key="key")
    assert loader_counts.value(STORE_REQUESTS, "HeadObject", "none") == 1
