"""A group's vector as the metadata of its commit: it stands and goes with the offset.

A client that commits by itself leaves it out, which is right: from that offset on it has read
whatever it met. `replicator.resume` writes it with every commit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

VERSION = 1
BYTES_MAX = 4000
"""Under the broker's offset.metadata.max.bytes (4096)."""


def encode(vector: Mapping[str, int]) -> str:
    """Raises ValueError when it is more than a broker takes: hundreds of regions."""
    text = json.dumps({"sluice": VERSION, "vector": dict(vector)}, separators=(",", ":"))
    if len(text) > BYTES_MAX:
        raise ValueError(
            f"the vector of {len(vector)} regions needs {len(text)} bytes; brokers take {BYTES_MAX}"
        )
    return text


def decode(metadata: str) -> dict[str, int]:
    """Nothing where the metadata is somebody else's, or of a version to come."""
    try:
        # librdkafka sends the end of its C string as well.
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
