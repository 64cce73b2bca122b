"""Kafka requests that aiokafka does not bring, as data for its own encoder.

Only the layout of each message stands here; framing, versions, TLS and SASL stay aiokafka's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, ClassVar
from uuid import UUID

from aiokafka.protocol.abstract import AbstractType
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    Array,
    Boolean,
    CompactArray,
    CompactBytes,
    CompactString,
    Int8,
    Int16,
    Int32,
    Int64,
    Schema,
    String,
    TaggedFields,
    UnsignedVarInt32,
)

NO_TOPIC_ID = UUID(int=0)


class TopicId(AbstractType[UUID]):
    """A topic id as it stands in Kafka's messages: 16 bytes."""

    @classmethod
    def encode(cls, value: UUID) -> bytes:
        return value.bytes

    @classmethod
    def decode(cls, data: BytesIO) -> UUID:
        return UUID(bytes=data.read(16))


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
    """Brokers, and the leaders, leader epochs and ids of the named topics; never creates one."""

    API_KEY = 3

    def __init__(self, topics: Sequence[str]):
        self._topics = topics

    def build(self, request_struct_class: type[MetadataStruct]) -> MetadataStruct:
        topics: list[Any] = [(NO_TOPIC_ID, name, {}) for name in self._topics]
        return request_struct_class(topics, False, False, {})


class LeaderEpochResponse(Response):
    API_KEY = 23
    API_VERSION = 3
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "topics",
            Array(
                ("topic", String("utf-8")),
                (
                    "partitions",
                    Array(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader_epoch", Int32),
                        ("end_offset", Int64),
                    ),
                ),
            ),
        ),
    )


class LeaderEpochStruct(RequestStruct):
    API_KEY = 23
    API_VERSION = 3
    RESPONSE_TYPE = LeaderEpochResponse
    SCHEMA = Schema(
        ("replica_id", Int32),
        (
            "topics",
            Array(
                ("topic", String("utf-8")),
                (
                    "partitions",
                    Array(
                        ("partition", Int32),
                        ("current_leader_epoch", Int32),
                        ("leader_epoch", Int32),
                    ),
                ),
            ),
        ),
    )


class LeaderEpochRequest(Request[LeaderEpochStruct]):
    """OffsetForLeaderEpoch: where a leader epoch ends in today's log (KIP-320)."""

    API_KEY = 23

    def __init__(self, topic: str, partition: int, leader_epoch: int):
        self._topics = [(topic, [(partition, -1, leader_epoch)])]

    def build(self, request_struct_class: type[LeaderEpochStruct]) -> LeaderEpochStruct:
        return request_struct_class(-1, self._topics)


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
    """What the leader remembers of the idempotent producers of some partitions of one topic."""

    API_KEY = 61

    def __init__(self, topic: str, partitions: Sequence[int]):
        self._topics: list[Any] = [(topic, list(partitions), {})]

    def build(self, request_struct_class: type[DescribeProducersStruct]) -> DescribeProducersStruct:
        return request_struct_class(self._topics, {})


class FetchResponse(Response):
    """Fetch v13, by topic id; a partition's last field is its records, as they stand in the log."""

    API_KEY = 1
    API_VERSION = 13
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        ("session_id", Int32),
        (
            "topics",
            CompactArray(
                ("topic_id", TopicId),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("error_code", Int16),
                        ("high_watermark", Int64),
                        ("last_stable_offset", Int64),
                        ("log_start_offset", Int64),
                        (
                            "aborted_transactions",
                            CompactArray(
                                ("producer_id", Int64),
                                ("first_offset", Int64),
                                ("tags", TaggedFields),
                            ),
                        ),
                        ("preferred_read_replica", Int32),
                        ("records", CompactBytes),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
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
        (
            "topics",
            CompactArray(
                ("topic_id", TopicId),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("current_leader_epoch", Int32),
                        ("fetch_offset", Int64),
                        ("last_fetched_epoch", Int32),
                        ("log_start_offset", Int64),
                        ("partition_max_bytes", Int32),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        (
            "forgotten_topics_data",
            CompactArray(
                ("topic_id", TopicId), ("partitions", CompactArray(Int32)), ("tags", TaggedFields)
            ),
        ),
        ("rack_id", CompactString()),
        ("tags", TaggedFields),
    )


@dataclass(frozen=True, slots=True)
class FetchPosition:
    """What to fetch of one partition. A leader of another epoch than `leader_epoch` (-1: any)
    answers 74 or 75, so that the position is checked against its log first."""

    topic: UUID
    partition: int
    offset: int
    bytes_max: int
    leader_epoch: int = -1


class FetchRequest(Request[FetchStruct]):
    """Fetch by topic id: a topic created again under the same name is never taken for the old.

    Args:
        session: its id and epoch; (0, -1): none is wanted.
        forgotten: partitions that the session shall leave out from now on.
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
    ):
        topics: dict[UUID, list[tuple[Any, ...]]] = {}
        for at in positions:
            row: tuple[Any, ...] = (
                at.partition,
                at.leader_epoch,
                at.offset,
                -1,
                -1,
                at.bytes_max,
                {},
            )
            topics.setdefault(at.topic, []).append(row)
        self._topics: list[Any] = [(topic, rows, {}) for topic, rows in topics.items()]
        self._session = session
        self._forgotten: list[Any] = [(topic, [number], {}) for topic, number in forgotten]
        self._wait_ms = wait_ms
        self._bytes_max = bytes_max
        self._isolation = 1 if read_committed else 0

    def build(self, request_struct_class: type[FetchStruct]) -> FetchStruct:
        return request_struct_class(
            -1,
            self._wait_ms,
            1,
            self._bytes_max,
            self._isolation,
            *self._session,
            self._topics,
            self._forgotten,
            "",
            {},
        )


def _produced(topic: tuple[str, Any]) -> Schema:
    return Schema(
        (
            "responses",
            CompactArray(
                topic,
                (
                    "partition_responses",
                    CompactArray(
                        ("partition", Int32),
                        ("error_code", Int16),
                        ("base_offset", Int64),
                        ("log_append_time_ms", Int64),
                        ("log_start_offset", Int64),
                        (
                            "record_errors",
                            CompactArray(
                                ("batch_index", Int32),
                                ("message", CompactString()),
                                ("tags", TaggedFields),
                            ),
                        ),
                        ("error_message", CompactString()),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("throttle_time_ms", Int32),
        ("tags", TaggedFields),
    )


class ProduceByNameResponse(Response):
    API_KEY = 0
    API_VERSION = 9
    SCHEMA = _produced(("topic", CompactString()))


class ProduceByIdResponse(Response):
    API_KEY = 0
    API_VERSION = 13
    SCHEMA = _produced(("topic_id", TopicId))


class _ProduceStruct(RequestStruct):
    """Encodes itself: aiokafka's schemas would copy the payload once per level of nesting."""

    API_KEY = 0
    API_VERSION = 9
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE: ClassVar[type[Response]] = ProduceByNameResponse
    SCHEMA = Schema(("topics", CompactArray(Int8)), ("timeout_ms", Int32))
    topics: Sequence[tuple[bytes, Sequence[Produced]]]
    timeout_ms: int

    def encode(self) -> bytes:
        parts: list[bytes | bytearray] = [
            UnsignedVarInt32.encode(0),  # no transactional id: idempotent, not transactional
            Int16.encode(-1),  # acks=all
            Int32.encode(self.timeout_ms),
            UnsignedVarInt32.encode(len(self.topics) + 1),
        ]
        for topic, partitions in self.topics:
            parts += (topic, UnsignedVarInt32.encode(len(partitions) + 1))
            for partition, data in partitions:
                length = UnsignedVarInt32.encode(len(data) + 1)
                parts += (Int32.encode(partition), length, data, b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sum(len(rows) for _, rows in self.topics)} partitions)"


class ProduceByNameStruct(_ProduceStruct):
    API_KEY = 0
    API_VERSION = 9
    RESPONSE_TYPE = ProduceByNameResponse
    SCHEMA = _ProduceStruct.SCHEMA


class ProduceByIdStruct(_ProduceStruct):
    API_KEY = 0
    API_VERSION = 13
    RESPONSE_TYPE = ProduceByIdResponse
    SCHEMA = _ProduceStruct.SCHEMA


Produced = tuple[int, bytes | bytearray]
"""partition, batch"""


class ProduceRequest(Request[ProduceByNameStruct | ProduceByIdStruct]):
    """Produce with acks=all; by topic id where the broker knows that (Kafka 4.1), so that a topic
    created again under the same name is refused, else by name."""

    API_KEY = 0

    def __init__(self, batches: Mapping[tuple[str, UUID], Sequence[Produced]], *, timeout_ms: int):
        self._batches = batches
        self._timeout_ms = timeout_ms

    def build(
        self, request_struct_class: type[ProduceByNameStruct | ProduceByIdStruct]
    ) -> ProduceByNameStruct | ProduceByIdStruct:
        by_id = request_struct_class is ProduceByIdStruct
        topics = [
            (topic_id.bytes if by_id else CompactString().encode(name), rows)
            for (name, topic_id), rows in self._batches.items()
        ]
        return request_struct_class(topics, self._timeout_ms)
