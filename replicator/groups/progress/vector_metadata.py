"""Vector of a group as the metadata of its commit: it comes and goes with the offset.

A client that commits by itself leaves the vector out. That is right: from that offset on it has
read all that it met. `replicator.groups.resume` writes the vector with every commit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

VERSION = 1
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


def decode(metadata: str) -> dict[str, int]:
    """Returns the vector of a commit's metadata.

    Empty where the metadata is foreign, or of a later version.
    """
    try:
        # librdkafka also sends the terminating NUL of its C string.
        found = json.loads(metadata.removesuffix("\0"))
    except ValueError:
        return {}
    if not isinstance(found, dict) or found.get("sluice") != VERSION:
        return {}
    vector = found.get("vector")
    if not isinstance(vector, dict):
        return {}
    is_sound = all(type(offset) is int and offset >= 0 for offset in vector.values())
    return vector if is_sound else {}
