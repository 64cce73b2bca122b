"""Protobuf records against Google's own encoder, and every kind of field."""

import math
import struct
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats.protobuf_records import ProtobufRecords
from aggregator.tables.table_schema import COORDINATES
from aggregator.verifier.plain_records import ProtobufRows
from tests.aggregator.formats.protos import folder_of, message_class
from tests.aggregator.formats.slices import TIMESTAMP, slice_of, table

FOLDER = folder_of(
    t="""
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    enum Color { RED = 0; GREEN = 1; BLUE = 5; }
    message t {
      uint64 number = 1;
      optional int32 small = 2;
      optional string text = 3;
      bytes octets = 4;
      optional double real = 5;
      float single = 6;
      bool flag = 7;
      repeated sint64 list = 8;
      repeated string texts = 9;
      google.protobuf.Timestamp at = 10;
      google.protobuf.Int64Value wrapped = 11;
      Color color = 12;
      optional Color color_number = 13;
      repeated Color colors = 14;
      string unknown = 15;
      oneof choice { uint32 one = 16; string other = 17; }
      fixed64 wide = 18;
      sfixed32 narrow = 19;
      t nested = 20;
      repeated google.protobuf.Timestamp times = 21;
    }
    """
)
TYPES = {
    "number": "UInt64",
    "small": "Nullable(Int32)",
    "text": "String",
    "octets": "String",
    "real": "Float64",
    "single": "Float32",
    "flag": "UInt8",
    "list": "Array(Int64)",
    "texts": "Array(String)",
    "wrapped": "Nullable(Int64)",
    "color": "Enum8('RED' = 1, 'GREEN' = 2, 'BLUE' = 3)",
    "color_number": "Int8",
    "colors": "Array(String)",
    "one": "UInt8",
    "wide": "UInt64",
    "narrow": "Int32",
    **COORDINATES,
}
SCHEMA = table(**TYPES)
MESSAGE = message_class(FOLDER, "t")
DECODE = ProtobufRecords(FOLDER)
COLORS = {0: ("RED", 1), 1: ("GREEN", 2), 5: ("BLUE", 3)}
FLOATS = st.floats(width=32, allow_nan=False)

SET = st.fixed_dictionaries(
    {},
    optional={
        "number": st.integers(0, 2**64 - 1),
        "small": st.integers(-(2**31), 2**31 - 1),
        "text": st.text(max_size=5),
        "octets": st.binary(max_size=5),
        "real": st.floats(allow_nan=False),
        "single": FLOATS,
        "flag": st.booleans(),
        "list": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
        "texts": st.lists(st.text(max_size=3), max_size=3),
        "wrapped": st.integers(-(2**63), 2**63 - 1),
        "color": st.sampled_from([*COLORS]),
        "color_number": st.sampled_from([*COLORS]),
        "colors": st.lists(st.sampled_from([*COLORS]), max_size=3),
        "unknown": st.text(max_size=3),
        "one": st.integers(0, 255),
        "wide": st.integers(0, 2**64 - 1),
        "narrow": st.integers(-(2**31), 2**31 - 1),
    },
)


def encoded(**values):
    wrapped = values.pop("wrapped", None)
    message = MESSAGE(**values)
    if wrapped is not None:
        message.wrapped.value = wrapped
    return message.SerializeToString()


def naive(value):
    """Returns the row of one record's value, by Google's library."""
    found = MESSAGE.FromString(value)
    row = {
        "number": found.number,
        "small": found.small if found.HasField("small") else None,
        "text": found.text.encode() if found.HasField("text") else None,
        "octets": found.octets,
        "real": found.real if found.HasField("real") else None,
        "single": found.single,
        "flag": int(found.flag),
        "list": list(found.list),
        "texts": [text.encode() for text in found.texts],
        "wrapped": found.wrapped.value if found.HasField("wrapped") else None,
        "color": COLORS[found.color][1],
        "color_number": found.color_number if found.HasField("color_number") else None,
        "colors": [COLORS[each][0].encode() for each in found.colors],
        "one": found.one if found.HasField("one") else None,
        "wide": found.wide,
        "narrow": found.narrow,
    }
    return {name: value for name, value in row.items() if value is not None}


def rows_of(decoded):
    columns = {name: values.to_pylist() for name, values in decoded.columns.items()}
    return [
        {name: values[at] for name, values in columns.items() if values[at] is not None}
        for at in range(len(decoded))
    ]


def one(column_type, field, **values):
    """Returns the value of one column after one record; raises AssertionError if it is dead."""
    decoded = DECODE([slice_of([encoded(**values)])], table(**{field: column_type}))
    assert not decoded.dead, decoded.dead[0].reason
    return rows_of(decoded)[0].get(field)


def reason(column_type, field, **values):
    [dead] = DECODE([slice_of([encoded(**values)])], table(**{field: column_type})).dead
    return dead.reason


HEADER = b"\0" + struct.pack(">I", 7) + b"\0"
BROKEN = st.sampled_from([b"\xff", b"\x1a\x05ab", HEADER[:5], b"\0\0\0\0\7\2\2", b"\x1a\1\xff"])


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), SET), min_size=1, max_size=6))
def test_what_googles_library_wrote_is_what_it_reads(given_):
    values = [encoded(**fields) for _, fields in given_]
    sent = [HEADER + each if has else each for each, (has, _) in zip(values, given_, strict=True)]
    decoded = DECODE([slice_of(sent)], SCHEMA)
    assert rows_of(decoded) == [naive(value) for value in values]
    assert decoded.dead == ()
    assert decoded.offset.tolist() == list(range(len(values)))
    assert decoded.row.tolist() == [0] * len(values)
    assert decoded.timestamp_ms.tolist() == [TIMESTAMP + at for at in range(len(values))]


@settings(deadline=None)
@given(st.lists(st.one_of(BROKEN, st.none(), SET), max_size=12), st.integers(0, 12))
def test_a_bad_record_shifts_no_row_of_another(given_, cut):
    values = [encoded(**each) if isinstance(each, dict) else each for each in given_]
    parts = [(values[:cut], 0), (values[cut:], cut)]
    decoded = DECODE([slice_of(part, first=at) for part, at in parts if part], SCHEMA)
    good = [at for at, each in enumerate(given_) if isinstance(each, dict)]
    assert decoded.offset.tolist() == good
    assert rows_of(decoded) == [naive(values[at]) for at in good]
    assert [dead.offset for dead in decoded.dead] == [
        at for at, each in enumerate(given_) if isinstance(each, bytes)
    ]


@pytest.mark.parametrize("kind", ["DateTime", "DateTime64(3)", "DateTime64(9)"])
def test_a_timestamp_is_a_moment(kind):
    at = {"seconds": 1_700_000_000, "nanos": 123_456_789}
    digits = int(kind[11:-1] or 0) if "64" in kind else 0
    assert one(kind, "at", at=at) == 1_700_000_000_123_456_789 // 10 ** (9 - digits)
    assert one(kind, "at") is None
    assert one(f"Array({kind})", "times", times=[at, {}]) == [one(kind, "at", at=at), 0]


def test_a_timestamp_far_from_now_is_exact_or_refused():
    far = int(datetime(2299, 12, 31, tzinfo=UTC).timestamp())
    assert one("DateTime64(3)", "at", at={"seconds": far}) == far * 1000
    assert one("Date32", "at", at={"seconds": far}) == far // 86400
    assert "is no DateTime64(9)" in reason("DateTime64(9)", "at", at={"seconds": far})
    fine = table(at="DateTime64(3)", times="Array(DateTime64(3))", other="DateTime64(9)")
    for values in ({"at": {"seconds": far}}, {"times": [{"seconds": far}]}):
        # Another column asks for nanoseconds, which have no room for this time.
        [dead] = DECODE([slice_of([encoded(**values)])], fine).dead
        assert "DateTime64(3)" in dead.reason
    kind = "Array(DateTime64(9))"
    assert f"is no {kind}" in reason(kind, "times", times=[{}, {"seconds": far}])


def test_an_enum_is_its_name_or_its_number_as_the_column_asks():
    assert one("String", "color", color=5) == b"BLUE"
    assert one("Int16", "color", color=5) == 5
    assert one("Enum8('GREEN' = 9)", "color", color=1) == 9
    assert "'RED' is no Enum8" in reason("Enum8('GREEN' = 9)", "color")
    assert one("String", "color", color=4) == b"4"
    assert "'4' is no Enum8" in reason(TYPES["color"], "color", color=4)
    assert one("Array(Int8)", "colors", colors=[5, 0]) == [5, 0]


def test_an_unset_field_without_presence_is_zero_and_one_with_presence_is_missing():
    [row] = rows_of(DECODE([slice_of([b""])], SCHEMA))
    assert row["number"] == 0 and row["octets"] == b"" and row["list"] == []
    assert not {"small", "text", "real", "wrapped", "one"} & set(row)


@pytest.mark.parametrize(
    ("kind", "field", "values", "text"),
    [
        ("Int8", "number", {"number": 128}, "number: 128 is no Int8"),
        ("UInt64", "text", {"text": "5"}, "text: '5' is no UInt64"),
        ("String", "number", {"number": 5}, "number: 5 is no String"),
        ("UInt64", "nested", {"nested": {"number": 1}}, "is no UInt64"),
        ("UInt64", "list", {"list": [1]}, "list: [1] is no UInt64"),
        ("Array(UInt64)", "list", {"list": [1, -1]}, "list: [1, -1] is no Array(UInt64)"),
    ],
)
def test_a_value_that_the_column_cannot_hold_is_named(kind, field, values, text):
    assert text in reason(kind, field, **values)


def test_texts_are_read_as_those_of_json_are():
    assert one("Date", "text", text="1970-01-03") == 2
    assert one("DateTime", "text", text="1970-01-01 00:01:00") == 60
    uuid = "00112233-4455-6677-8899-aabbccddeeff"
    assert one("UUID", "text", text=uuid) == bytes.fromhex(uuid.replace("-", ""))
    assert str(one("Decimal(9, 2)", "text", text="1.25")) == "1.25"


def test_bytes_are_not_texts():
    assert one("FixedString(3)", "octets", octets=b"\xff") == b"\xff\0\0"
    assert one("UUID", "octets", octets=bytes(range(16))) == bytes(range(16))
    assert "is no DateTime" in reason("DateTime", "octets", octets=b"1970-01-01 00:01:00")


def test_a_table_without_a_message_has_dead_records_but_none_for_null_values():
    other = table(a="UInt64").__class__("other", table(a="UInt64").columns)
    decoded = DECODE([slice_of([b"", None])], other)
    assert [(dead.offset, "no message other" in dead.reason) for dead in decoded.dead] == [
        (0, True)
    ]
    assert len(decoded) == 0


def test_a_header_of_another_message_is_named():
    [dead] = DECODE([slice_of([b"\0\0\0\0\7\2\2"])], SCHEMA).dead
    assert dead.reason == "its header names no t"


def test_a_column_that_the_message_does_not_have_is_left_to_its_default():
    decoded = DECODE([slice_of([encoded(number=1)])], table(number="UInt64", more="String"))
    assert [*decoded.columns] == ["number"]


def test_of_a_oneof_the_field_that_was_set_last_counts():
    schema = table(number="UInt64", one="Nullable(UInt8)", other="Nullable(String)")
    values = [
        encoded(number=1, one=5) + encoded(other="x"),
        encoded(one=6),
        encoded(other="y") + encoded(one=7, number=2),
        encoded(one=8) + encoded(other="z") + encoded(one=9),
        encoded(number=3),
    ]
    found = DECODE([slice_of(values)], schema)
    assert found.columns["one"].to_pylist() == [None, 6, 7, 9, None]
    assert found.columns["other"].to_pylist() == [b"x", None, None, None, None]
    assert found.columns["number"].to_pylist() == [1, 0, 2, 0, 3]


PROTO2 = folder_of(
    syntax="proto2",
    t="""
enum Color { RED = 1; BLUE = 5; }
message Inner { required int32 x = 1; }
message t {
  optional int32 number = 1 [default = 7];
  optional string text = 2 [default = "x"];
  optional bytes octets = 3 [default = "\\xff"];
  optional Color color = 4 [default = BLUE];
  optional double real = 5 [default = -inf];
  optional int64 plain = 6;
  repeated int32 list = 7 [packed = true];
  oneof any { int32 one = 8 [default = 3]; int32 other = 9; }
  required int32 needed = 10;
  repeated Inner inner = 11;
}
""",
)
TYPES_2 = {
    "number": "Int32",
    "text": "String",
    "octets": "Nullable(String)",
    "color": "Enum8('RED' = 1, 'BLUE' = 5)",
    "real": "Float64",
    "plain": "Int64",
    "list": "Array(Int32)",
    "one": "Int32",
}


def encoded_2(**fields):
    return message_class(PROTO2, "t")(**fields).SerializePartialToString()


def test_a_field_that_is_not_set_has_the_default_of_its_message():
    values = [encoded_2(needed=1), encoded_2(needed=1, number=0, text="", color=1, real=0.5)]
    found = ProtobufRecords(PROTO2)([slice_of(values)], table(**TYPES_2))
    assert rows_of(found) == [
        {"number": 7, "text": b"x", "octets": b"\xff", "color": 5, "real": -math.inf, "list": []},
        {"number": 0, "text": b"", "octets": b"\xff", "color": 1, "real": 0.5, "list": []},
    ]


def test_a_message_without_a_required_field_is_dead_and_no_other():
    values = [
        encoded_2(needed=1),
        encoded_2(number=1),
        encoded_2(needed=1, inner=[{"x": 1}, {}]),
        b"",
        encoded_2(needed=2, inner=[{"x": 1}]),
    ]
    found = ProtobufRecords(PROTO2)([slice_of(values)], table(number="Int32"))
    assert found.offset.tolist() == [0, 4]
    assert [(dead.offset, dead.reason) for dead in found.dead] == [
        (1, "needed is required, and not set"),
        (2, "inner[1].x is required, and not set"),
        (3, "needed is required, and not set"),
    ]


def test_the_second_reader_reads_messages_of_proto2_in_the_same_way():
    read = ProtobufRows(PROTO2)
    [row] = read(encoded_2(needed=1), table(**TYPES_2))
    assert (row["number"], row["text"], row["octets"]) == (7, "x", b"\xff")
    assert row["color"].name == "BLUE"
    assert not {"plain", "one", "other"} & set(row)
    with pytest.raises(ValueError, match="required"):
        read(encoded_2(number=1), table(**TYPES_2))
