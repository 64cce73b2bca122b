"""Counts of objects: endings, records that are in none, and what the store was asked."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from botocore.exceptions import EndpointConnectionError

from aggregator.intents.table_range import Manifest
from aggregator.loader.counters import (
    OBJECT_BYTES,
    OBJECT_ENDINGS,
    OBJECT_LOOKS,
    OBJECT_RECORDS,
    OBJECT_SECONDS,
    OBJECTS,
    OBJECTS_NOT_WRITTEN,
    RECORDS_LEFT_OUT,
    RECORDS_REFUSED,
    STORE_REQUESTS,
)
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.object_counts import ObjectCounts
from aggregator.loader.refused_records import RefusedRecords
from aggregator.objects.rotation import Ending
from aggregator.s3.object_store import StoreAddress
from aggregator.s3.object_verdict import Verdict
from aggregator.tables.decoded import DeadRecord
from balancer.topic_partition import TopicPartition
from deploy.lab.process import free_port

PLACE = TopicPartition("t", 0)


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
