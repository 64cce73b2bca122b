"""Produce, by topic id or by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import UUID

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

from replicator.kafka.protocol.fields import TAGS, TOPIC, Field, by_topic, rows
from replicator.kafka.protocol.frame import InParts
from replicator.kafka.protocol.topic_id import TOPIC_ID


def _produced(topic: Field) -> Schema:
    return Schema(
        by_topic(
            "responses",
            ("partition", Int32),
            ("error_code", Int16),
            ("base_offset", Int64),
            ("log_append_time_ms", Int64),
            ("log_start_offset", Int64),
            rows("record_errors", ("batch_index", Int32), ("message", CompactString())),
            ("error_message", CompactString()),
            topic=topic,
        ),
        ("throttle_time_ms", Int32),
        TAGS,
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """Answer for one batch.

    Args:
        base_offset: target offset of its first record; -1 if the broker does not know it.
        log_append_time_ms: the timestamp that the broker gave to all records of a topic with
            LogAppendTime; for a duplicate the largest timestamp of the batch in the log; else -1.
        refused_records: indexes of the records for which the batch was refused, if the broker names
            them.
        message: the broker's error text.
    """

    code: int
    base_offset: int
    log_append_time_ms: int = -1
    refused_records: tuple[int, ...] = ()
    message: str = ""


def outcomes(response: Any) -> dict[tuple[str | UUID, int], Outcome]:
    """Returns the outcomes by topic, or topic id, and partition."""
    found = {}
    for topic, partitions, _ in response.responses:
        for number, code, base_offset, append_time_ms, _, errors, message, _ in partitions:
            records = tuple(index for index, _, _ in errors or ())
            text = next((text for _, text, _ in errors or () if text), message) or ""
            found[topic, number] = Outcome(code, base_offset, append_time_ms, records, text)
    return found


class ProduceByNameResponse(Response):
    API_KEY = 0
    API_VERSION = 9
    SCHEMA = _produced(TOPIC)


class ProduceByIdResponse(Response):
    API_KEY = 0
    API_VERSION = 13
    SCHEMA = _produced(TOPIC_ID)


class _ProduceStruct(InParts, RequestStruct):
    """Request in parts: aiokafka's schemas would copy the payload once per level of nesting."""

    API_KEY = 0
    API_VERSION = 9
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE: ClassVar[type[Response]] = ProduceByNameResponse
    SCHEMA = Schema(("topics", CompactArray(Int8)), ("timeout_ms", Int32))
    topics: Sequence[tuple[bytes, Sequence[Produced]]]
    timeout_ms: int
    transactional_id: str | None = None
    """None: the batches are idempotent and not transactional."""

    def encode(self) -> bytes:
        return b"".join(self.parts())

    def parts(self) -> list[Bytes]:
        parts: list[Bytes] = [
            CompactString().encode(self.transactional_id),
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
        return parts

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({sum(len(batches) for _, batches in self.topics)} partitions)"
        )


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


Bytes = bytes | bytearray | memoryview

Produced = tuple[int, Bytes]
"""partition, batch"""


class ProduceRequest(Request[ProduceByNameStruct | ProduceByIdStruct]):
    """Produce with acks=all, by topic id if the broker supports that (Kafka 4.1), else by name.

    By id, a recreated topic is refused.

    Args:
        transactional_id: of batches that belong to its open transaction.
    """

    API_KEY = 0

    def __init__(
        self,
        batches: Mapping[tuple[str, UUID], Sequence[Produced]],
        *,
        timeout_ms: int,
        transactional_id: str | None = None,
    ):
        self._batches = batches
        self._timeout_ms = timeout_ms
        self._transactional_id = transactional_id

    def build(
        self, request_struct_class: type[ProduceByNameStruct | ProduceByIdStruct]
    ) -> ProduceByNameStruct | ProduceByIdStruct:
        by_id = request_struct_class is ProduceByIdStruct
        topics = [
            (topic_id.bytes if by_id else CompactString().encode(name), batches)
            for (name, topic_id), batches in self._batches.items()
        ]
        struct = request_struct_class(topics, self._timeout_ms)
        struct.transactional_id = self._transactional_id
        return struct
