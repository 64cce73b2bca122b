"""Target topic: one that would lose or change records is refused, with what to set."""

from __future__ import annotations

from uuid import UUID

import pytest

from aggregator.restore.restore_plan import CannotRestore
from aggregator.restore.target_topic import batch_bytes_max, check_topic, new_topic
from replicator.kafka.admin.topic import Configs, Topic

NOW_MS = 1_000_000
DAY = {"retention.ms": "500000", "message.timestamp.before.max.ms": str(2**63 - 1)}


def topic(**configs: str) -> Topic:
    named = {key.replace("_", "."): value for key, value in configs.items()}
    return Topic("t", UUID(int=1), 3, Configs({**DAY, **named}))


@pytest.mark.parametrize(
    ("configs", "partitions", "oldest_ms", "text"),
    [
        ({}, 4, NOW_MS, "has 3 partitions, the source has 4"),
        ({"message_timestamp_type": "LogAppendTime"}, 3, NOW_MS, "CreateTime"),
        ({}, 3, 499_999, "retention.ms=-1, or above 500001"),
        ({"message_timestamp_before_max_ms": "10"}, 3, NOW_MS - 11, "before.max.ms above 11"),
    ],
)
def test_a_topic_that_cannot_take_the_records_is_refused(configs, partitions, oldest_ms, text):
    with pytest.raises(CannotRestore, match=text):
        check_topic(topic(**configs), partitions, oldest_ms, NOW_MS)


@pytest.mark.parametrize(
    ("configs", "oldest_ms"),
    [
        ({}, 500_000),
        ({"retention_ms": "-1"}, 0),
        ({"cleanup_policy": "compact"}, 0),
        ({}, -1),
    ],
)
def test_a_topic_that_keeps_them_is_taken(configs, oldest_ms):
    check_topic(topic(**configs), 3, oldest_ms, NOW_MS)


def test_a_created_topic_keeps_records_of_any_age():
    made = new_topic("t", 3, 2)
    assert (made.topic, made.partitions, made.replication_factor) == ("t", 3, 2)
    found = Topic("t", UUID(int=1), 3, Configs(dict(made.configs)))
    check_topic(found, 3, 0, NOW_MS)


def test_batches_are_as_large_as_the_topic_takes():
    configs = Configs({"max.message.bytes": "900"})
    assert batch_bytes_max(Topic("t", UUID(int=1), 3, configs)) == 900
    assert batch_bytes_max(topic()) == 1 << 20
