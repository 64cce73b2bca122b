"""Commits of groups, in every version that brokers write."""

from __future__ import annotations

import struct

import pytest

from aggregator.verifier.group_commit import GroupCommit, GroupCommits
from replicator.kafka.protocol.commit_record import Commit, Committed

GROUP = "sluice.feed.flights.0"
READ = GroupCommits(frozenset([GROUP]), "sluice.").read
COMMITTED = Committed(GROUP, "topic", 3)


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def key(group=GROUP, version=1):
    return struct.pack(">h", version) + text(group) + text("topic") + struct.pack(">i", 3)


def value(version, offset=7, metadata="{}", at_ms=900):
    head = struct.pack(">hq", version, offset)
    if version >= 3:
        head += struct.pack(">i", 5)
    if version == 4:
        return head + bytes([len(metadata) + 1]) + metadata.encode() + struct.pack(">qb", at_ms, 0)
    tail = struct.pack(">q", at_ms) + (struct.pack(">q", 1_000) if version == 1 else b"")
    return head + text(metadata) + tail


@pytest.mark.parametrize("key_version", [0, 1])
@pytest.mark.parametrize("version", range(5))
def test_a_commit_of_every_version_is_read(version, key_version):
    epoch = 5 if version >= 3 else -1
    expected = GroupCommit(COMMITTED, Commit(7, "{}", 900, epoch), 1_000)
    assert READ(key(version=key_version), value(version), 1_000) == expected


def test_a_deletion_is_a_commit_of_nothing():
    assert READ(key(), None, 1_000) == GroupCommit(COMMITTED, None, 1_000)


def test_a_commit_of_a_newer_format_is_a_flaw_and_not_passed_over():
    found = READ(key(), struct.pack(">hq", 5, 7), 1_000)
    assert found is not None
    assert found.commit is None and "format 5" in found.flaw
    cut = READ(key(), value(3)[:-4], 1_000)
    assert cut is not None and "cut or malformed" in cut.flaw


@pytest.mark.parametrize(
    "record_key",
    [
        None,
        b"",
        b"\x00",
        key(group="orders"),
        key(group="sluice.feed.flights.9"),
        key(group="sluice.feed.flights.0.more"),
        key(version=2),
        key()[:-2],
    ],
)
def test_records_about_something_else_are_passed_over(record_key):
    assert READ(record_key, value(3), 1_000) is None
