"""Headers of Confluent's serializer are taken off where they name the table's message."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.confluent_header import without_headers

BODY = b"\x08\x01"
ID = b"\0\0\0\1\2"


def bodies(values, index=0):
    found, other = without_headers(pa.array(values, pa.binary()), index)
    assert len(found) == len(other)
    return [None if bad else body for body, bad in zip(found.to_pylist(), other, strict=True)]


@pytest.mark.parametrize("indexes", [b"\0", b"\2\0"])
def test_both_forms_of_the_first_message_are_known(indexes):
    assert bodies([ID + indexes + BODY]) == [BODY]


def test_another_message_is_named_by_its_index():
    assert bodies([ID + b"\2\2" + BODY], index=1) == [BODY]
    assert bodies([ID + b"\2\xc8\1" + BODY], index=100) == [BODY]


@pytest.mark.parametrize("indexes", [b"\0", b"\2\4", b"\4\2\0", b"\4\2", b""])
def test_a_header_that_names_no_or_another_message_is_seen(indexes):
    assert bodies([ID + indexes], index=1) == [None]


@pytest.mark.parametrize("value", [b"\0", ID, b"\0\0\0\0"])
def test_a_cut_header_is_seen(value):
    assert bodies([value]) == [None]


def test_a_header_without_a_message_leaves_an_empty_one():
    assert bodies([ID + b"\0"]) == [b""]


@given(st.lists(st.tuples(st.sampled_from([b"", ID + b"\0"]), st.binary(max_size=9))))
def test_values_with_and_without_headers_may_be_mixed(parts):
    # No message begins with a zero.
    parts = [(header, body.lstrip(b"\0")) for header, body in parts]
    assert bodies([header + body for header, body in parts]) == [body for _, body in parts]
