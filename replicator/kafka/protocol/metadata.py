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
)

from replicator.kafka.protocol.fields import TAGS, TOPIC, rows
from replicator.kafka.protocol.topic_id import NO_TOPIC_ID, TOPIC_ID


class MetadataResponse(Response):
    """Metadata v12: the first field of each topic's row is its error code."""

    API_KEY = 3
    API_VERSION = 12
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        rows(
            "brokers",
            ("node_id", Int32),
            ("host", CompactString()),
            ("port", Int32),
            ("rack", CompactString()),
        ),
        ("cluster_id", CompactString()),
        ("controller_id", Int32),
        rows(
            "topics",
            ("error_code", Int16),
            TOPIC,
            TOPIC_ID,
            ("is_internal", Boolean),
            rows(
                "partitions",
                ("error_code", Int16),
                ("partition", Int32),
                ("leader", Int32),
                ("leader_epoch", Int32),
                ("replicas", CompactArray(Int32)),
                ("isr", CompactArray(Int32)),
                ("offline_replicas", CompactArray(Int32)),
            ),
            ("authorized_operations", Int32),
        ),
        TAGS,
    )


class MetadataStruct(RequestStruct):
    API_KEY = 3
    API_VERSION = 12
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = MetadataResponse
    SCHEMA = Schema(
        rows("topics", TOPIC_ID, TOPIC),
        ("allow_auto_topic_creation", Boolean),
        ("include_topic_authorized_operations", Boolean),
        TAGS,
    )


class MetadataRequest(Request[MetadataStruct]):
    """Brokers, and leaders, leader epochs and ids of the named topics; never creates a topic."""

    API_KEY = 3

    def __init__(self, topics: Sequence[str]):
        self._topics = topics

    def build(self, request_struct_class: type[MetadataStruct]) -> MetadataStruct:
        topics: list[Any] = [(NO_TOPIC_ID, name, {}) for name in self._topics]
        return request_struct_class(topics, False, False, {})
