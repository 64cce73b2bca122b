"""Equality of records between a source and its mirror."""

import pytest
from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Message,
)

from deploy.lab.dump import collected, compare_dumps

NOON_MS = 1_356_998_400_000


def message(timestamp_type, timestamp_ms=NOON_MS, value=b"v", offset=0):
    return Message(
        topic="t",
        partition=0,
        offset=offset,
        key=b"k",
        value=value,
        headers=[("h", b"1")],
        timestamp=(timestamp_type, timestamp_ms),
    )


def verdict(source, target):
    return compare_dumps({"west>east": collected(source, [0])}, collected(target, [0]), "t")


@pytest.mark.parametrize(
    "at_source", [TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, TIMESTAMP_NOT_AVAILABLE]
)
def test_a_source_may_stamp_its_records_and_they_arrive_with_the_time_it_gave(at_source):
    assert verdict([message(at_source)], [message(TIMESTAMP_CREATE_TIME)]).is_right


@pytest.mark.parametrize("at_source", [TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME])
def test_a_record_that_the_target_stamped_counts_as_changed_even_at_the_same_millisecond(at_source):
    sent = [message(at_source, offset=0), message(at_source, value=b"w", offset=1)]
    arrived = [
        message(TIMESTAMP_LOG_APPEND_TIME, offset=0),
        message(TIMESTAMP_CREATE_TIME, value=b"w", offset=1),
    ]
    found = verdict(sent, arrived)
    assert not found.is_right
    assert sum(route.changed for route in found.routes.values()) == 1


@pytest.mark.parametrize(
    "other",
    [
        message(TIMESTAMP_CREATE_TIME, NOON_MS + 1),
        message(TIMESTAMP_CREATE_TIME, value=b"w"),
    ],
)
def test_another_time_or_value_is_another_record(other):
    assert not verdict([message(TIMESTAMP_CREATE_TIME)], [other]).is_right
