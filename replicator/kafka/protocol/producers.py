"""DescribeProducers: a leader's memory of producers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
)

from replicator.kafka.protocol.fields import TAGS, TOPIC, by_topic, rows


class DescribeProducersResponse(Response):
    API_KEY = 61
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        by_topic(
            "topics",
            ("partition", Int32),
            ("error_code", Int16),
            ("error_message", CompactString()),
            rows(
                "active_producers",
                ("producer_id", Int64),
                ("producer_epoch", Int32),
                ("last_sequence", Int32),
                ("last_timestamp", Int64),
                ("coordinator_epoch", Int32),
                ("current_txn_start_offset", Int64),
            ),
        ),
        TAGS,
    )


class DescribeProducersStruct(RequestStruct):
    API_KEY = 61
    API_VERSION = 0
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = DescribeProducersResponse
    SCHEMA = Schema(rows("topics", TOPIC, ("partitions", CompactArray(Int32))), TAGS)


class DescribeProducersRequest(Request[DescribeProducersStruct]):
    """Asks for the leader's memory of the idempotent producers of some partitions of one topic."""

    API_KEY = 61

    def __init__(self, topic: str, partitions: Sequence[int]):
        self._topics: list[Any] = [(topic, list(partitions), {})]

    def build(self, request_struct_class: type[DescribeProducersStruct]) -> DescribeProducersStruct:
        return request_struct_class(self._topics, {})
