"""OffsetFetch of many groups at once (version 8): all that each group has committed, or whether
offsets of some partitions are pending.

A broker answers for the groups that it coordinates, and names all others with an error code.
Thousands of rows are read in place: aiokafka's types take ten times as long.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Boolean, CompactArray, CompactString, Int32, Schema

from replicator.kafka.protocol.fields import TAGS, TOPIC, rows
from replicator.kafka.protocol.frame import Frame

_ROW = struct.Struct(">iqi")
_CODE = struct.Struct(">h")
_THROTTLE = struct.Struct(">i")

Commits = dict[str, list[tuple[int, int]]]
"""Committed offsets of one group: by topic, pairs of partition and next offset to read."""


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """Answer about one group.

    Args:
        code: Kafka's error code; 0 where the commits are known.
        refused: partitions without an answer, by topic and number, with the error code.
    """

    code: int
    commits: Commits
    refused: Mapping[tuple[str, int], int] = field(default_factory=dict)


class GroupOffsetsResponse(Response):
    """Answers by group; `throttle_time_ms` as in every answer."""

    API_KEY = 9
    API_VERSION = 8
    SCHEMA = Schema(("throttle_time_ms", Int32))

    groups: dict[str, GroupOffsets]

    @classmethod
    def decode(cls, data: BytesIO | bytes) -> Any:
        """Reads a whole answer, from a frame or from bytes."""
        reader = _Reader(bytes(data.rest()) if isinstance(data, Frame) else _read(data))
        answer = cls(reader.unpack(_THROTTLE)[0])
        answer.groups = dict(_group(reader) for _ in range(reader.count()))
        reader.skip_tags()
        return answer


class GroupOffsetsStruct(RequestStruct):
    API_KEY = 9
    API_VERSION = 8
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = GroupOffsetsResponse
    SCHEMA = Schema(
        rows(
            "groups",
            ("group_id", CompactString()),
            ("topics", CompactArray(TOPIC, ("partitions", CompactArray(Int32)), TAGS)),
        ),
        ("require_stable", Boolean),
        TAGS,
    )


class GroupOffsetsRequest(Request[GroupOffsetsStruct]):
    """Everything that these groups have committed."""

    API_KEY = 9

    def __init__(self, groups: Iterable[str]):
        self._groups = list(groups)

    def build(self, request_struct_class: type[GroupOffsetsStruct]) -> GroupOffsetsStruct:
        # Null instead of a list of topics asks for all of them.
        return request_struct_class([(group, None, {}) for group in self._groups], False, {})


class PendingOffsetsRequest(Request[GroupOffsetsStruct]):
    """Committed offsets of some partitions of a group; those that a transaction is about to
    replace are refused with UNSTABLE_OFFSET_COMMIT (KIP-447)."""

    API_KEY = 9

    def __init__(self, group: str, partitions: Iterable[tuple[str, Sequence[int]]]):
        self._group = group
        self._partitions: list[Any] = [(topic, list(numbers), {}) for topic, numbers in partitions]

    def build(self, request_struct_class: type[GroupOffsetsStruct]) -> GroupOffsetsStruct:
        return request_struct_class([(self._group, self._partitions, {})], True, {})


class _Reader:
    """Reader of fields in the encoding with tags."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def unpack(self, fields: struct.Struct) -> tuple[Any, ...]:
        found = fields.unpack_from(self._data, self._at)
        self._at += fields.size
        return found

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def count(self) -> int:
        """Returns the length of an array; 0 for null."""
        return max(0, self.varint() - 1)

    def text(self) -> str:
        size = self.count()
        self._at += size
        return self._data[self._at - size : self._at].decode()

    def skip_text(self) -> None:
        size = self.count()
        self._at += size

    def skip_tags(self) -> None:
        for _ in range(self.varint()):
            self.varint()
            size = self.varint()
            self._at += size


def _group(reader: _Reader) -> tuple[str, GroupOffsets]:
    group = reader.text()
    commits: Commits = {}
    refused: dict[tuple[str, int], int] = {}
    for _ in range(reader.count()):
        topic = reader.text()
        places = commits[topic] = []
        for _ in range(reader.count()):
            partition, offset, _ = reader.unpack(_ROW)
            reader.skip_text()
            (code,) = reader.unpack(_CODE)
            reader.skip_tags()
            if code:
                refused[topic, partition] = code
            elif offset >= 0:
                places.append((partition, offset))
        reader.skip_tags()
    (code,) = reader.unpack(_CODE)
    reader.skip_tags()
    return group, GroupOffsets(code, commits, refused)


def _read(data: BytesIO | bytes) -> bytes:
    return data if isinstance(data, bytes) else data.read()
