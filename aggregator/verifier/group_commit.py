"""Commit of a group, as its record in `__consumer_offsets` tells it."""

from __future__ import annotations

from typing import NamedTuple

from replicator.kafka.protocol.commit_record import (
    Commit,
    Committed,
    UnknownCommit,
    commit_of,
    key_of,
)

VERSIONS_OF_COMMITS = (b"\x00\x00", b"\x00\x01")


class GroupCommit(NamedTuple):
    """Commit that was made, or (None) deleted.

    Args:
        at_ms: time of the record in the log.
        flaw: reason why the commit cannot be read; empty when it can.
    """

    committed: Committed
    commit: Commit | None
    at_ms: int = 0
    flaw: str = ""


class GroupCommits:
    """Reads the records of some groups; all others are passed over unopened.

    Args:
        prefix: begin of the names of all these groups.
    """

    def __init__(self, groups: frozenset[str], prefix: str) -> None:
        self._groups = groups
        self._prefix = prefix.encode()

    def read(self, key: bytes | None, value: bytes | None, at_ms: int) -> GroupCommit | None:
        """Returns the commit of a record; None if it is about something else."""
        # A busy cluster has thousands of other groups' commits a second: a look at bytes is cheap.
        if not key or key[:2] not in VERSIONS_OF_COMMITS or not key.startswith(self._prefix, 4):
            return None
        try:
            committed = key_of(key)
        except UnknownCommit:
            return None
        if committed is None or committed.group not in self._groups:
            return None
        try:
            commit = None if value is None else commit_of(value)
        except UnknownCommit as unknown:
            return GroupCommit(committed, None, at_ms, str(unknown))
        return GroupCommit(committed, commit, at_ms)
