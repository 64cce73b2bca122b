"""Records of `__consumer_offsets`, which a broker writes when a group commits.

Source: the schemas OffsetCommitKey (versions 0 and 1) and OffsetCommitValue (0 to 4) of
org.apache.kafka.coordinator.group. Keys of other versions describe groups, not commits.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from io import BytesIO
from typing import Any, NamedTuple

from aiokafka.protocol.types import CompactString, Int16, Int32, Int64, Schema, String

_VERSION = Schema(("version", Int16))
_KEY = Schema(("group", String()), ("topic", String()), ("partition", Int32))

_OFFSET, _LEADER_EPOCH, _COMMITTED_AT = (
    ("offset", Int64),
    ("leader_epoch", Int32),
    ("commit_timestamp", Int64),
)
_UP_TO_2 = Schema(_OFFSET, ("metadata", String()), _COMMITTED_AT)
_VALUES = {
    0: _UP_TO_2,
    1: _UP_TO_2,  # an expire timestamp follows
    2: _UP_TO_2,
    3: Schema(_OFFSET, _LEADER_EPOCH, ("metadata", String()), _COMMITTED_AT),
    4: Schema(_OFFSET, _LEADER_EPOCH, ("metadata", CompactString()), _COMMITTED_AT),  # then tags
}


class UnknownCommit(Exception):
    """A commit has a format that this Sluice cannot read: this Kafka is newer than this Sluice."""


class Committed(NamedTuple):
    """Key of a commit: group, topic and partition."""

    group: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Commit:
    """Value of a commit: the next offset to read, the client's metadata, and the time (ms)."""

    offset: int
    metadata: str
    at_ms: int
    leader_epoch: int = -1


def key_of(key: bytes) -> Committed | None:
    """Returns the key of a commit; None when the record is about something else.

    Raises UnknownCommit.
    """
    data = BytesIO(key)
    (version,) = _decoded(_VERSION, data)
    if version > 1:
        return None
    return Committed(*_decoded(_KEY, data))


def commit_of(value: bytes) -> Commit:
    """Returns the value of a commit; raises UnknownCommit."""
    data = BytesIO(value)
    (version,) = _decoded(_VERSION, data)
    if version not in _VALUES:
        raise UnknownCommit(f"a commit of format {version}: this version of Sluice reads 0 to 4")
    offset, *leader_epoch, metadata, at_ms = _decoded(_VALUES[version], data)
    return Commit(offset, metadata, at_ms, *leader_epoch)


def _decoded(schema: Schema, data: BytesIO) -> tuple[Any, ...]:
    """Returns the next fields. Errors name no content: the same reason is logged only once."""
    try:
        fields: tuple[Any, ...] = schema.decode(data)
    except UnicodeDecodeError as error:
        raise UnknownCommit("a text in a commit's record is not UTF-8") from error
    except (ValueError, struct.error) as error:
        size = len(data.getbuffer())
        raise UnknownCommit(f"a commit's record of {size} bytes is cut or malformed") from error
    if None in fields:
        raise UnknownCommit("a text in a commit's record is null")
    return fields
