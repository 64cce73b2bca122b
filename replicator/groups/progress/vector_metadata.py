"""Vector of a group as the metadata of a commit: it comes and goes with the offset.

A client that commits by itself leaves the vector out. That is right: from that offset on it has
read all that it met. `replicator.groups.resume` writes the vector with every commit.

An application may have metadata of its own, as Kafka Streams keeps the times of its partitions
there. Then the group's commit has the application's metadata, byte for byte, and the vector is the
metadata of a commit beside it: of the group `sluice.vectors.<group>`, at the same offset. It is
written first, and counts as long as both offsets are equal (decision 0062).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

VERSION = 1
OFFSET_MAX = (1 << 63) - 1
BYTES_MAX = 4000
"""Largest text in bytes, below the broker's offset.metadata.max.bytes (4096)."""


def encode(vector: Mapping[str, int]) -> str:
    """Returns the metadata of a vector.

    Raises ValueError when a broker would not take it, as with hundreds of regions.
    """
    text = json.dumps({"sluice": VERSION, "vector": dict(vector)}, separators=(",", ":"))
    if len(text) > BYTES_MAX:
        raise ValueError(
            f"the vector of {len(vector)} regions needs {len(text)} bytes; brokers take {BYTES_MAX}"
        )
    return text


def committed_text(vector: Mapping[str, int]) -> str:
    """Returns a vector's metadata as librdkafka sends it: with the zero byte of a C string.

    librdkafka's consumers read metadata up to a zero byte. Without one they read on into other
    memory, and the vector is not found. Raises ValueError as encode() does.
    """
    return encode(vector) + "\0"


def is_foreign(metadata: str) -> bool:
    """Returns True for metadata of an application: neither empty nor of Sluice in any version.

    An application's own may look like a vector, and is kept all the same.
    """
    if not metadata.removesuffix("\0"):
        return False
    found = _parsed(metadata)
    version = _version_of(found)
    return version < VERSION or (version == VERSION and _vector_in(found) is None)


def vector_of(commit: OffsetAndMetadata, beside: OffsetAndMetadata | None = None) -> dict[str, int]:
    """Returns the vector of a group's commit.

    Args:
        beside: commit of the group that keeps its vectors, on the same partition.
    """
    if not is_foreign(commit.metadata):
        return decode(commit.metadata)
    if beside is None or beside.offset != commit.offset:
        return {}
    return decode(beside.metadata)


def decode(metadata: str) -> dict[str, int]:
    """Returns the vector of a commit's metadata.

    Empty where the metadata is foreign, or of a later version.
    """
    found = _parsed(metadata)
    return (_vector_in(found) or {}) if _version_of(found) == VERSION else {}


def _parsed(metadata: str) -> dict[str, Any]:
    """Returns the JSON object that metadata is; an empty one for anything else."""
    try:
        # librdkafka also sends the terminating NUL of its C string.
        found = json.loads(metadata.removesuffix("\0"))
    except (ValueError, RecursionError):  # brackets of an application's own
        return {}
    return found if isinstance(found, dict) else {}


def _version_of(found: Mapping[str, Any]) -> int:
    version = found.get("sluice")
    return version if type(version) is int else 0


def _vector_in(found: Mapping[str, Any]) -> dict[str, int] | None:
    """Returns the vector of an object of this version; None where it has none that we write."""
    vector = found.get("vector")
    if found.keys() != {"sluice", "vector"} or not isinstance(vector, dict):
        return None
    is_sound = all(type(it) is int and 0 <= it <= OFFSET_MAX for it in vector.values())
    return vector if is_sound else None
