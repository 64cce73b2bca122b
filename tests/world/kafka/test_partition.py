"""Partitions of a world change what their topic's configs say, and refuse what these exclude."""

import time
from uuid import UUID

import pytest

from replicator.kafka.protocol.error_codes import Code
from tests.replicator.batches.source_batches import Record, decoded, encoded
from tests.world.kafka.log_batch import Batch, Refused, batch_of
from tests.world.kafka.partition import Partition

KEYS = (b"k", None, b"k", None)


def partition(*, is_compacted: bool = False) -> Partition:
    return Partition("orders", UUID(int=1), 0, [1], is_compacted=is_compacted)


def batch() -> Batch:
    return batch_of(encoded([Record(at, 5 + at, key, b"v") for at, key in enumerate(KEYS)]))


def test_a_topic_with_log_append_time_gives_all_records_its_own_time():
    found, began = partition(), int(time.time() * 1000)
    found.stamps_append_time = True
    found.append(1, batch())
    times = {record.timestamp for record in decoded(found.logs[1].batches[0].data)}
    assert len(times) == 1 and times.pop() >= began


def test_a_compacted_topic_names_the_records_without_a_key():
    with pytest.raises(Refused) as refused:
        partition(is_compacted=True).append(1, batch())
    assert refused.value.code == Code.INVALID_RECORD
    assert refused.value.records == (1, 3)


def test_a_topic_keeps_the_times_of_its_producers_by_default():
    found = partition()
    found.append(1, batch())
    assert [it.timestamp for it in decoded(found.logs[1].batches[0].data)] == [5, 6, 7, 8]
