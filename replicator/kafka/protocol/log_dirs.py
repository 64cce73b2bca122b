"""DescribeLogDirs: the number of bytes that the logs of a broker take on its disks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    Array,
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
    String,
)

from balancer.topic_partition import TopicPartition
from replicator.kafka.protocol.fields import TAGS, TOPIC, Field, by_topic, rows

_PARTITION = (
    ("partition", Int32),
    ("size_bytes", Int64),
    ("offset_lag", Int64),
    ("is_future", Boolean),
)


def _described(*volume: Field) -> Field:
    """Returns the flexible answer's directories, with fields about each directory's volume."""
    topics = by_topic("topics", *_PARTITION)
    return rows("log_dirs", ("error_code", Int16), ("log_dir", CompactString()), topics, *volume)


class LogDirsResponse_v1(Response):  # noqa: N801
    API_KEY = 35
    API_VERSION = 1
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "log_dirs",
            Array(
                ("error_code", Int16),
                ("log_dir", String("utf-8")),
                ("topics", Array(("topic", String("utf-8")), ("partitions", Array(*_PARTITION)))),
            ),
        ),
    )


class LogDirsResponse_v2(Response):  # noqa: N801
    API_KEY = 35
    API_VERSION = 2
    SCHEMA = Schema(("throttle_time_ms", Int32), _described(), TAGS)


class LogDirsResponse_v3(Response):  # noqa: N801
    API_KEY = 35
    API_VERSION = 3
    SCHEMA = Schema(("throttle_time_ms", Int32), ("error_code", Int16), _described(), TAGS)


class LogDirsResponse_v4(Response):  # noqa: N801
    API_KEY = 35
    API_VERSION = 4
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        _described(("total_bytes", Int64), ("usable_bytes", Int64)),
        TAGS,
    )


class LogDirsStruct_v1(RequestStruct):  # noqa: N801
    API_KEY = 35
    API_VERSION = 1
    RESPONSE_TYPE = LogDirsResponse_v1
    SCHEMA = Schema(("topics", Array(("topic", String("utf-8")), ("partitions", Array(Int32)))))


class LogDirsStruct_v2(RequestStruct):  # noqa: N801
    API_KEY = 35
    API_VERSION = 2
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = LogDirsResponse_v2
    SCHEMA = Schema(rows("topics", TOPIC, ("partitions", CompactArray(Int32))), TAGS)


class LogDirsStruct_v3(RequestStruct):  # noqa: N801
    API_KEY = 35
    API_VERSION = 3
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = LogDirsResponse_v3
    SCHEMA = LogDirsStruct_v2.SCHEMA


class LogDirsStruct_v4(RequestStruct):  # noqa: N801
    API_KEY = 35
    API_VERSION = 4
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = LogDirsResponse_v4
    SCHEMA = LogDirsStruct_v2.SCHEMA


LogDirsStruct = LogDirsStruct_v1 | LogDirsStruct_v2 | LogDirsStruct_v3 | LogDirsStruct_v4


class LogDirsRequest(
    Request[LogDirsStruct_v1 | LogDirsStruct_v2 | LogDirsStruct_v3 | LogDirsStruct_v4]
):
    """Sizes of these partitions' logs on the broker that is asked.

    Needs the right Describe on the cluster. A broker that has no log of a partition leaves it out.
    """

    API_KEY = 35

    def __init__(self, partitions: Iterable[TopicPartition]):
        self._topics: dict[str, list[int]] = {}
        for topic, number in partitions:
            self._topics.setdefault(topic, []).append(number)

    def build(self, request_struct_class: type[LogDirsStruct]) -> LogDirsStruct:
        # An empty list asks for no topic; only null asks for all that the broker has.
        if request_struct_class is LogDirsStruct_v1:
            return request_struct_class(list(self._topics.items()))
        return request_struct_class([(*row, {}) for row in self._topics.items()], {})


def log_sizes(response: Any) -> dict[TopicPartition, int]:
    """Returns the bytes of each log in the answer.

    A log that moves to another disk of its broker counts with its present size only. Without the
    right the answer names no log, and neither does a disk that failed.
    """
    return {
        TopicPartition(topic, number): size_bytes
        for code, _, topics, *_ in response.log_dirs
        if not code
        for topic, partitions, *_ in topics
        for number, size_bytes, _, is_future, *_ in partitions
        if not is_future
    }
