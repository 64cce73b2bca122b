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
    TaggedFields,
)


class DescribeProducersResponse(Response):
    API_KEY = 61
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "topics",
            CompactArray(
                ("name", CompactString()),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("error_code", Int16),
                        ("error_message", CompactString()),
                        (
                            "active_producers",
                            CompactArray(
                                ("producer_id", Int64),
                                ("producer_epoch", Int32),
                                ("last_sequence", Int32),
                                ("last_timestamp", Int64),
                                ("coordinator_epoch", Int32),
                                ("current_txn_start_offset", Int64),
                                ("tags", TaggedFields),
                            ),
                        ),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class DescribeProducersStruct(RequestStruct):
    API_KEY = 61
    API_VERSION = 0
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = DescribeProducersResponse
    SCHEMA = Schema(
        (
            "topics",
            CompactArray(
                ("name", CompactString()),
                ("partitions", CompactArray(Int32)),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class DescribeProducersRequest(Request[DescribeProducersStruct]):
    """Asks for the leader's memory of the idempotent producers of some partitions of one topic."""

    API_KEY = 61

    def __init__(self, topic: str, partitions: Sequence[int]):
        self._topics: list[Any] = [(topic, list(partitions), {})]

    def build(self, request_struct_class: type[DescribeProducersStruct]) -> DescribeProducersStruct:
        return request_struct_class(self._topics, {})
