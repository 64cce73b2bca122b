"""Records of `__consumer_offsets`, built here field by field after Kafka's schemas."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.kafka.protocol.commit_record import (
    Commit,
    Committed,
    UnknownCommit,
    commit_of,
    key_of,
)

TEXT = st.text(max_size=300)
OFFSETS = st.integers(0, 2**63 - 2)  # value_of adds 1 to a time


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def compact_text(value: str) -> bytes:
    data = value.encode()
    size, varint = len(data) + 1, b""
    while size >= 0x80:
        varint += bytes([size & 0x7F | 0x80])
        size >>= 7
    return varint + bytes([size]) + data


def value_of(version: int, commit: Commit) -> bytes:
    fields = struct.pack(">hq", version, commit.offset)
    if version >= 3:
        fields += struct.pack(">i", commit.leader_epoch)
    fields += compact_text(commit.metadata) if version >= 4 else text(commit.metadata)
    fields += struct.pack(">q", commit.at_ms)
    if version == 1:
        fields += struct.pack(">q", commit.at_ms + 1)  # expireTimestamp
    return fields + (b"\0" if version >= 4 else b"")  # no tagged fields


@given(st.sampled_from([0, 1]), TEXT, TEXT, st.integers(0, 2**31 - 1))
def test_a_key_holds_group_topic_and_partition(version, group, topic, partition):
    key = struct.pack(">h", version) + text(group) + text(topic) + struct.pack(">i", partition)
    assert key_of(key) == Committed(group, topic, partition)


def test_a_key_about_a_group_is_no_commit():
    assert key_of(struct.pack(">h", 2) + text("group")) is None


@given(st.integers(0, 4), OFFSETS, TEXT, OFFSETS, st.integers(-1, 2**31 - 1))
def test_a_value_of_every_version_is_decoded(version, offset, metadata, at_ms, epoch):
    commit = Commit(offset, metadata, at_ms, epoch if version >= 3 else -1)
    assert commit_of(value_of(version, commit)) == commit


def test_an_unknown_version_is_named():
    with pytest.raises(UnknownCommit, match="format 5"):
        commit_of(struct.pack(">hq", 5, 0))


@given(st.integers(0, 4), st.data())
def test_a_value_cut_short_is_refused(version, data):
    whole = value_of(version, Commit(7, "metadata", 1, 2))
    needed = len(whole) - {1: 8, 4: 1}.get(version, 0)
    cut = data.draw(st.integers(0, needed - 1))
    with pytest.raises(UnknownCommit):
        commit_of(whole[:cut])


def test_a_text_that_is_not_utf_8_is_refused():
    with pytest.raises(UnknownCommit, match="not UTF-8"):
        key_of(struct.pack(">hh", 1, 2) + b"\xff\xff" + text("topic") + struct.pack(">i", 0))


@pytest.mark.parametrize("version", [3, 4])
def test_a_text_that_is_null_is_refused(version):
    metadata = b"\xff\xff" if version == 3 else b"\0"
    value = struct.pack(">hqi", version, 7, 2) + metadata + struct.pack(">q", 1)
    with pytest.raises(UnknownCommit, match="null"):
        commit_of(value)


def test_a_reason_names_no_content_so_that_it_is_logged_once_for_many_records():
    reasons = set()
    for offset in (1, 2):
        with pytest.raises(UnknownCommit) as caught:
            commit_of(struct.pack(">hqi", 3, offset, 2))
        reasons.add(str(caught.value))
    assert len(reasons) == 1
