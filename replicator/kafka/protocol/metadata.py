"""Metadata: brokers, topics and the partitions' leaders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Schema,
    TaggedFields,
)

from replicator.kafka.protocol.topic_id import NO_TOPIC_ID, TopicId


class MetadataResponse(Response):
    """Metadata v12: the first field of each topic's row is its error code."""

    API_KEY = 3
    API_VERSION = 12
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            CompactArray(
                ("node_id", Int32),
                ("host", CompactString()),
                ("port", Int32),
                ("rack", CompactString()),
                ("tags", TaggedFields),
            ),
        ),
        ("cluster_id", CompactString()),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16),
                ("name", CompactString()),
                ("topic_id", TopicId),
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline_replicas", CompactArray(Int32)),
                        ("tags", TaggedFields),
                    ),
                ),
                ("authorized_operations", Int32),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class MetadataStruct(RequestStruct):
    API_KEY = 3
    API_VERSION = 12
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = MetadataResponse
    SCHEMA = Schema(
        (
            "topics",
            CompactArray(("topic_id", TopicId), ("name", CompactString()), ("tags", TaggedFields)),
        ),
        ("allow_auto_topic_creation", Boolean),
        ("include_topic_authorized_operations", Boolean),
        ("tags", TaggedFields),
    )


class MetadataRequest(Request[MetadataStruct]):
    """Brokers, and leaders, leader epochs and ids of the named topics; never creates a topic."""

    API_KEY = 3

    def __init__(self, topics: Sequence[str]):
        self._topics = topics

    def build(self, request_struct_class: type[MetadataStruct]) -> MetadataStruct:
        topics: list[Any] = [(NO_TOPIC_ID, name, {}) for name in self._topics]
        return request_struct_class(topics, False, False, {})
