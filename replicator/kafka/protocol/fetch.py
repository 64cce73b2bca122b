"""Fetch by topic id (API key 1, version 13)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from aiokafka.protocol.abstract import AbstractType
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    CompactArray,
    CompactString,
    Int8,
    Int16,
    Int32,
    Int64,
    Schema,
    UnsignedVarInt32,
)

from replicator.kafka.protocol.fields import TAGS, by_topic, rows
from replicator.kafka.protocol.frame import Frame
from replicator.kafka.protocol.topic_id import TOPIC_ID


class Records(AbstractType[memoryview | None]):
    """Record batches as they stand in the log, read as Frame.view gives them."""

    @classmethod
    def encode(cls, value: memoryview | None) -> bytes:
        raise NotImplementedError("only answers have it")

    @classmethod
    def decode(cls, data: Frame) -> memoryview | None:
        size = UnsignedVarInt32.decode(data) - 1
        return None if size < 0 else data.view(size)


class FetchResponse(Response):
    """Fetch v13, by topic id. Field `records`: a partition's batches as they stand in the log."""

    API_KEY = 1
    API_VERSION = 13
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        ("session_id", Int32),
        by_topic(
            "topics",
            ("partition", Int32),
            ("error_code", Int16),
            ("high_watermark", Int64),
            ("last_stable_offset", Int64),
            ("log_start_offset", Int64),
            rows("aborted_transactions", ("producer_id", Int64), ("first_offset", Int64)),
            ("preferred_read_replica", Int32),
            ("records", Records),
            topic=TOPIC_ID,
        ),
        TAGS,
    )


class FetchStruct(RequestStruct):
    API_KEY = 1
    API_VERSION = 13
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = FetchResponse
    SCHEMA = Schema(
        ("replica_id", Int32),
        ("max_wait_ms", Int32),
        ("min_bytes", Int32),
        ("max_bytes", Int32),
        ("isolation_level", Int8),
        ("session_id", Int32),
        ("session_epoch", Int32),
        by_topic(
            "topics",
            ("partition", Int32),
            ("current_leader_epoch", Int32),
            ("fetch_offset", Int64),
            ("last_fetched_epoch", Int32),
            ("log_start_offset", Int64),
            ("partition_max_bytes", Int32),
            topic=TOPIC_ID,
        ),
        rows("forgotten_topics_data", TOPIC_ID, ("partitions", CompactArray(Int32))),
        ("rack_id", CompactString()),
        TAGS,
    )


@dataclass(frozen=True, slots=True)
class FetchPosition:
    """Position to fetch from in one partition.

    A leader of another epoch than `leader_epoch` (-1: any) answers 74 or 75, so that the position
    is checked against its log first.
    """

    topic: UUID
    partition: int
    offset: int
    bytes_max: int
    leader_epoch: int = -1


class FetchRequest(Request[FetchStruct]):
    """Fetch by topic id: a recreated topic is never taken for the old one.

    Args:
        session: its id and epoch; (0, -1) for a Fetch without a session.
        forgotten: partitions that the session leaves out from now on.
        bytes_min: the answer waits until there are so many, or `wait_ms` are over.
    """

    API_KEY = 1

    def __init__(
        self,
        positions: Iterable[FetchPosition],
        *,
        session: tuple[int, int] = (0, -1),
        forgotten: Iterable[tuple[UUID, int]] = (),
        wait_ms: int,
        bytes_max: int,
        read_committed: bool,
        bytes_min: int = 1,
    ):
        topics: dict[UUID, list[Any]] = {}
        for at in positions:
            row: Any = (at.partition, at.leader_epoch, at.offset, -1, -1, at.bytes_max, {})
            topics.setdefault(at.topic, []).append(row)
        self._topics: list[Any] = [(topic, some, {}) for topic, some in topics.items()]
        self._session = session
        self._forgotten: list[Any] = [(topic, [number], {}) for topic, number in forgotten]
        self._wait_ms = wait_ms
        self._bytes_max = bytes_max
        self._bytes_min = bytes_min
        self._isolation = 1 if read_committed else 0

    def build(self, request_struct_class: type[FetchStruct]) -> FetchStruct:
        return request_struct_class(
            -1,
            self._wait_ms,
            self._bytes_min,
            self._bytes_max,
            self._isolation,
            *self._session,
            self._topics,
            self._forgotten,
            "",
            {},
        )
