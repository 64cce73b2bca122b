"""Requests as a broker reads them, and answers as it writes them, in the real protocol's bytes.

The structs are those that the clients use: a request that the product encodes wrongly cannot be
read here, and an answer is decoded by the product's own code.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from uuid import UUID

from aiokafka.protocol import admin, commit, coordination, metadata, offset, produce, transaction
from aiokafka.protocol.api import RequestStruct
from aiokafka.protocol.types import (
    CompactBytes,
    CompactString,
    Int16,
    Int32,
    String,
    TaggedFields,
    UnsignedVarInt32,
)

from replicator.kafka.protocol import (
    fetch,
    group_offsets,
    leader_epoch,
    producers,
    transactions,
)
from replicator.kafka.protocol import metadata as own_metadata
from replicator.kafka.protocol import produce as own_produce

LENGTH = struct.Struct(">i")

THEIRS = (admin, commit, coordination, metadata, offset, produce, transaction)
OURS = (fetch, group_offsets, leader_epoch, own_metadata, own_produce, producers, transactions)
NEWEST = {3: 12, 0: 13, 32: 0}
"""Newest version of an API that is served, where the structs know others."""
SERVED = frozenset({0, 1, 2, 3, 8, 9, 10, 18, 22, 23, 24, 25, 26, 28, 32, 61, 66})
"""API keys that a broker can serve."""
VERSIONS = 18
"""Key of ApiVersions, which every broker serves."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived.

    Args:
        body: struct of aiokafka or of ours, with the fields by name.
    """

    key: int
    version: int
    correlation_id: int
    client_id: str
    body: Any


@dataclass(frozen=True, slots=True)
class Produced:
    """Produce request: batches by topic (a name or an id) and partition."""

    transactional_id: str | None
    acks: int
    timeout_ms: int
    batches: list[tuple[Any, int, bytes]]


def _structs() -> Iterator[type[RequestStruct]]:
    for module in (*THEIRS, *OURS):
        for value in vars(module).values():
            is_struct = isinstance(value, type) and issubclass(value, RequestStruct)
            if is_struct and hasattr(value, "API_KEY") and not value.__name__.startswith("_"):
                yield value


STRUCTS: dict[tuple[int, int], type[RequestStruct]] = {
    (it.API_KEY, it.API_VERSION): it for it in _structs() if it.API_KEY in SERVED
}
"""Structs by API key and version; ours come last, and replace those of aiokafka."""


def versions(keys: Collection[int]) -> list[tuple[int, int, int]]:
    """Returns key, oldest and newest version of each API that a broker with these handlers
    serves."""
    found = []
    for key in sorted({*keys, VERSIONS}):
        numbers = [version for one, version in STRUCTS if one == key]
        found.append((key, min(numbers), NEWEST.get(key, max(numbers))))
    return found


def read(frame: bytes) -> Asked:
    """Returns the request of a frame without its length."""
    data = BytesIO(frame)
    key, version, correlation_id = Int16.decode(data), Int16.decode(data), Int32.decode(data)
    client_id = String("utf-8").decode(data) or ""
    found = STRUCTS[key, version]
    if found.FLEXIBLE_VERSION:
        TaggedFields.decode(data)
    body: Any = _produced(data, version) if key == 0 and version >= 9 else found.decode(data)
    return Asked(key, version, correlation_id, client_id, body)


def _produced(data: BytesIO, version: int) -> Produced:
    """Reads a Produce request in the encoding with tags, which our struct only writes."""
    transactional_id = CompactString().decode(data)
    acks, timeout_ms = Int16.decode(data), Int32.decode(data)
    batches: list[tuple[Any, int, bytes]] = []
    for _ in range(UnsignedVarInt32.decode(data) - 1):
        topic = UUID(bytes=data.read(16)) if version >= 13 else CompactString().decode(data)
        for _ in range(UnsignedVarInt32.decode(data) - 1):
            number = Int32.decode(data)
            batches.append((topic, number, CompactBytes.decode(data) or b""))
            TaggedFields.decode(data)
        TaggedFields.decode(data)
    return Produced(transactional_id, acks, timeout_ms, batches)


def written(asked: Asked, body: Any) -> bytes:
    """Returns the frame of an answer, with its length."""
    found = STRUCTS[asked.key, asked.version]
    header = Int32.encode(asked.correlation_id)
    if found.FLEXIBLE_VERSION:
        header += b"\0"
    encoded = body if isinstance(body, bytes) else found.RESPONSE_TYPE.SCHEMA.encode(body)
    return LENGTH.pack(len(header) + len(encoded)) + header + encoded
