"""Protobuf reader: messages of a schema folder, and their fields."""

import pyarrow as pa
import pytest
from google.protobuf.message import DecodeError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aggregator.formats import proto_reader
from aggregator.formats.proto_messages import NoMessage, ProtoMessages, index_of
from aggregator.formats.proto_reader import ProtoReader
from tests.aggregator.formats.protos import folder_of, message_class

# -- Messages are read one by one in effect: what cannot be read changes nothing about the
# others.

FOLDER = folder_of(
    t="""
    message Part { optional sint64 n = 1; string s = 2; }
    message Whole { uint64 a = 1; optional string b = 2; repeated Part parts = 3; }
    """
)
WHOLE = message_class(FOLDER, "Whole")
READER = ProtoReader(WHOLE.DESCRIPTOR)
GOOD = st.builds(
    lambda a, b, parts: WHOLE(a=a, b=b, parts=parts).SerializeToString(),
    st.integers(0, 2**64 - 1),
    st.none() | st.text(),
    st.lists(
        st.fixed_dictionaries(
            {}, optional={"n": st.integers(-(2**63), 2**63 - 1), "s": st.text(max_size=3)}
        ),
        max_size=3,
    ),
)
# A length of almost 2**64 makes ptars panic.
PANIC = b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
BAD = st.sampled_from(
    [b"\xff", b"\x12\x05ab", b"\x12\x01\xff", b"\x00\x01", b"\x1a\x01\x08", PANIC]
)


def naive(message: bytes):
    try:
        found = WHOLE.FromString(message)
    except DecodeError:
        return None
    return {
        "a": found.a,
        "b": found.b if found.HasField("b") else None,
        "parts": [{"n": p.n if p.HasField("n") else None, "s": p.s} for p in found.parts],
    }


def read(messages):
    found = READER.read(pa.array(messages, pa.binary()))
    assert sorted([*found.which.tolist(), *found.refused]) == list(range(len(messages)))
    return found


@settings(deadline=None)
@given(st.lists(GOOD | BAD, max_size=20))
@example([])
@example([b""])
@example([PANIC])
def test_each_message_is_read_as_googles_library_reads_it_or_refused(messages):
    found = read(messages)
    expected = [naive(message) for message in messages]
    assert sorted(found.refused) == [at for at, each in enumerate(expected) if each is None]
    rows = [each for each in expected if each is not None]
    assert found.columns.to_pylist() == rows


@settings(deadline=None)
@given(st.lists(GOOD | BAD | st.binary(max_size=12), min_size=1, max_size=12))
def test_a_message_is_read_the_same_whatever_stands_beside_it(messages):
    found = read(messages)
    rows = dict(zip(found.which.tolist(), found.columns.to_pylist(), strict=True))
    for at, message in enumerate(messages):
        alone = read([message])
        assert alone.columns.to_pylist() == ([rows[at]] if at in rows else [])
        assert alone.refused.get(0) == found.refused.get(at)


@given(st.lists(GOOD | BAD, max_size=8), st.integers(1, 40))
def test_pieces_do_not_show(messages, size):
    whole = read(messages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proto_reader, "PIECE_BYTES", size)
        pieces = read(messages)
    assert pieces.columns.to_pylist() == whole.columns.to_pylist()
    assert pieces.refused == whole.refused


def test_a_part_of_a_longer_column_can_be_read():
    messages = pa.array([b"\xff", WHOLE(a=1).SerializeToString(), b"\xff"], pa.binary())
    assert READER.read(messages[1:2]).columns.column("a").to_pylist() == [1]


def test_a_refusal_says_why():
    assert "EOF" in read([b"\x12\x05ab"]).refused[0]


def test_deep_nesting_is_refused_and_the_process_lives_on():
    good = WHOLE(a=1).SerializeToString()
    found = read([good, b"\x3b" * 1_000_000, good])
    assert list(found.refused) == [1]
    assert found.which.tolist() == [0, 2]


# -- Each table has one message, found by its name or by that of its file, or none.

MANY = ProtoMessages(
    folder_of(
        air="""
        package air;
        import "google/protobuf/timestamp.proto";
        message Other { google.protobuf.Timestamp at = 1; }
        message flights { message inner { int32 a = 1; } inner a = 1; }
        """,
        alone="message Named { int32 a = 1; }",
        pair="message One { int32 a = 1; } message Two { int32 a = 1; }",
        sea="package sea; message ships { int32 a = 1; }",
        land="package land; message ships { int32 a = 1; }",
    )
)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("flights", "air.flights"),
        ("air.flights", "air.flights"),
        ("Other", "air.Other"),
        ("alone", "Named"),
        ("One", "One"),
        ("sea.ships", "sea.ships"),
    ],
)
def test_a_message_is_found_by_the_name_of_its_table(table, message):
    assert MANY.of_table(table).full_name == message


@pytest.mark.parametrize("table", ["Flights", "inner", "Timestamp", "pair", "air", "none"])
def test_a_table_without_a_message_is_told_what_to_add(table):
    with pytest.raises(NoMessage, match=f"no message {table}, and no file {table}.proto"):
        MANY.of_table(table)


def test_of_two_messages_with_the_same_name_none_is_chosen():
    with pytest.raises(NoMessage, match="several messages .*: land.ships, sea.ships"):
        MANY.of_table("ships")


def test_the_index_of_a_message_counts_those_before_it():
    assert index_of(MANY.of_table("flights")) == 1
    assert index_of(MANY.of_table("Other")) == 0
