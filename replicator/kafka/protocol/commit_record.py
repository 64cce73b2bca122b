"""Records of `__consumer_offsets`, which a broker writes when a group commits.

Source: the schemas OffsetCommitKey (versions 0 and 1) and OffsetCommitValue (0 to 4) of
org.apache.kafka.coordinator.group. Keys of other versions describe groups, not commits.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple


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
    at = _Cursor(key)
    if at.number(">h") > 1:
        return None
    return Committed(at.text(), at.text(), at.number(">i"))


def commit_of(value: bytes) -> Commit:
    """Returns the value of a commit; raises UnknownCommit."""
    at = _Cursor(value)
    version = at.number(">h")
    if not 0 <= version <= 4:
        raise UnknownCommit(f"a commit of format {version}: this version of Sluice reads 0 to 4")
    offset = at.number(">q")
    leader_epoch = at.number(">i") if version >= 3 else -1
    metadata = at.compact_text() if version >= 4 else at.text()
    return Commit(offset, metadata, at.number(">q"), leader_epoch)


class _Cursor:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, form: str) -> int:
        try:
            (value,) = struct.unpack_from(form, self._data, self._at)
        except struct.error as error:
            raise UnknownCommit(f"a commit's record ends after {len(self._data)} bytes") from error
        self._at += struct.calcsize(form)
        return int(value)

    def text(self) -> str:
        return self._take(self.number(">h"))

    def compact_text(self) -> str:
        size = place = 0
        while True:
            octet = self.number(">B")
            size |= (octet & 0x7F) << place
            place += 7
            if octet < 0x80:
                return self._take(size - 1)

    def _take(self, size: int) -> str:
        begin, self._at = self._at, self._at + size
        if size < 0 or self._at > len(self._data):
            raise UnknownCommit(f"a text of {size} bytes in a record of {len(self._data)}")
        try:
            return self._data[begin : self._at].decode()
        except UnicodeDecodeError as error:
            raise UnknownCommit(f"a text of {size} bytes that is not UTF-8") from error
