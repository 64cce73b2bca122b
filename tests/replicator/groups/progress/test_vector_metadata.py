"""Vectors as metadata, and metadata of others."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.groups.progress.vector_metadata import (
    BYTES_MAX,
    committed_text,
    decode,
    encode,
    is_foreign,
    vector_of,
)
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

OFFSETS = st.integers(0, (1 << 63) - 1)
VECTORS = st.dictionaries(st.from_regex(r"[a-z0-9][a-z0-9-]{0,9}", fullmatch=True), OFFSETS)


@given(VECTORS)
def test_a_vector_comes_back_as_it_was_written(vector):
    assert decode(encode(vector)) == vector
    assert decode(encode(vector) + "\0") == vector


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["sluice", "vector"]), inner),
)


@given(st.text() | JSON.map(json.dumps) | st.just("[" * 4096))
def test_foreign_metadata_is_no_vector(metadata):
    vector = decode(metadata)
    assert all(isinstance(offset, int) and 0 <= offset < 1 << 63 for offset in vector.values())
    if vector:
        assert json.loads(metadata.removesuffix("\0")) == {"sluice": 1, "vector": vector}


def test_the_end_that_librdkafka_writes_behind_it_does_no_harm():
    assert decode(encode({"west": 12}) + "\0") == {"west": 12}


def test_offsets_below_zero_and_versions_to_come_are_no_vector():
    assert decode('{"sluice":1,"vector":{"west":-1}}') == {}
    assert decode('{"sluice":2,"vector":{"west":1}}') == {}


def test_a_vector_that_no_broker_would_take_is_refused():
    with pytest.raises(ValueError, match=f"300 regions .* brokers take {BYTES_MAX}"):
        encode({f"region-{number}": 10**12 for number in range(300)})


@given(VECTORS)
def test_a_vector_is_committed_with_the_zero_byte_up_to_which_librdkafka_reads(vector):
    text = committed_text(vector)
    assert text == encode(vector) + "\0"
    assert decode(text) == vector and not is_foreign(text)


STREAMS = "AgAAAZNy3kAAAAAA"
OURS = encode({"west": 9})


@pytest.mark.parametrize(
    "text", [STREAMS, "{}", "[1]", '{"vector":{}}', "ü", " ", STREAMS + "\0", "[" * 4096]
)
def test_metadata_of_an_application_is_told_from_a_vector(text):
    assert is_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"sluice":"gate 7"}',
        '{"sluice":1}',
        '{"sluice":true,"vector":{"west":1}}',
        '{"sluice":1.0,"vector":{"west":1}}',
        '{"sluice":0,"vector":{"west":1}}',
        '{"sluice":1,"vector":{"west":1},"task":"0_1"}',
        '{"sluice":1,"vector":{"west":"1"}}',
        '{"sluice":1,"vector":{"west":-1}}',
        '{"sluice":1,"vector":{"west":9223372036854775808}}',
        '{"sluice":1,"vector":[1]}',
    ],
)
def test_metadata_of_an_application_that_looks_like_a_vector_is_the_applications(text):
    """Each of these was replaced by a vector of Sluice."""
    for each in (text, text + "\0"):
        assert is_foreign(each) and decode(each) == {}


@pytest.mark.parametrize("text", ["", "\0", OURS, OURS + "\0", '{"sluice":2,"later":[]}'])
def test_vectors_of_any_version_and_nothing_are_no_metadata_of_an_application(text):
    assert not is_foreign(text)


def test_a_vector_beside_a_commit_counts_at_the_same_offset_only():
    beside = OffsetAndMetadata(7, OURS)
    assert vector_of(OffsetAndMetadata(7, STREAMS), beside) == {"west": 9}
    assert vector_of(OffsetAndMetadata(8, STREAMS), beside) == {}
    assert vector_of(OffsetAndMetadata(6, STREAMS), beside) == {}
    assert vector_of(OffsetAndMetadata(7, STREAMS)) == {}


def test_a_vector_in_the_commit_itself_counts_and_a_client_that_leaves_it_out_has_none():
    beside = OffsetAndMetadata(7, encode({"west": 1}))
    assert vector_of(OffsetAndMetadata(7, OURS), beside) == {"west": 9}
    assert vector_of(OffsetAndMetadata(7, ""), beside) == {}
