"""Vectors as metadata, and metadata of others."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.groups.progress.vector_metadata import BYTES_MAX, decode, encode

VECTORS = st.dictionaries(st.from_regex(r"[a-z0-9][a-z0-9-]{0,9}", fullmatch=True), st.integers(0))


@given(VECTORS)
def test_a_vector_comes_back_as_it_was_written(vector):
    assert decode(encode(vector)) == vector
    assert decode(encode(vector) + "\0") == vector


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["sluice", "vector"]), inner),
)


@given(st.text() | JSON.map(json.dumps))
def test_foreign_metadata_is_no_vector(metadata):
    vector = decode(metadata)
    assert all(isinstance(offset, int) and offset >= 0 for offset in vector.values())
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
