"""Values of JSON that a decoder of many records may read wrongly, by name."""

import json
from decimal import Decimal

import pytest

from aggregator.formats.json_documents import decode
from aggregator.tables.table_schema import COORDINATES, Column, TableSchema
from tests.aggregator.formats.json_oracle import SCHEMA, TYPES, text_of
from tests.aggregator.formats.slices import TIMESTAMP, slice_of, table


def dead_reason(value):
    """Returns why a record is dead that stands between two good ones, which are loaded."""
    decoded = decode([slice_of([b'{"number":1}', value, b'{"number":3}'])], SCHEMA)
    assert decoded.offset.tolist() == [0, 2]
    assert decoded.columns["number"].to_pylist() == [1, 3]
    [dead] = decoded.dead
    assert dead.offset == 1
    return dead.reason


def row_of(value, **types):
    decoded = decode([slice_of([value])], table(**(types or TYPES)))
    assert decoded.dead == () and len(decoded) == 1
    return {name: text_of(values[0].as_py()) for name, values in decoded.columns.items()}


def test_two_documents_in_a_record_are_a_dead_letter():
    assert dead_reason(b'{"number":5}{"number":6}')
    assert dead_reason(b'{"number":5}\n{"_offset":6}')


def test_documents_that_only_count_right_shift_no_row():
    values = [b'{"number":1}', b'{"number":', b'{"small":1}}', b'{"x":1}{"y":2}', b'{"number":5}']
    decoded = decode([slice_of(values)], SCHEMA)
    assert decoded.offset.tolist() == [0, 4]
    assert decoded.columns["number"].to_pylist() == [1, 5]
    assert [each.offset for each in decoded.dead] == [1, 2, 3]


def test_an_empty_value_is_a_dead_letter():
    assert dead_reason(b"") == dead_reason(b" \n") == "an empty value"


def test_null_is_a_dead_letter():
    assert dead_reason(b"null") == "neither an object nor an array of objects"


def test_an_array_of_numbers_is_a_dead_letter():
    assert dead_reason(b"[1]") == "an array with elements that are no objects"


def test_a_number_is_a_dead_letter():
    assert dead_reason(b"5")


def test_a_text_for_a_number_is_a_dead_letter():
    assert dead_reason(b'{"number":"5"}') == "Expected `int | null`, got `str` - at `$.number`"


def test_a_negative_number_for_uint64_is_a_dead_letter():
    assert dead_reason(b'{"number":-1}') == "number: -1 is out of the range of UInt64"


@pytest.mark.parametrize("number", ["1.5", "1e3", "1.0"])
def test_a_fraction_or_exponent_for_an_integer_is_a_dead_letter(number):
    assert dead_reason(b'{"number":%s}' % number.encode())


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        ("Int8", 128),
        ("Int8", -129),
        ("UInt8", 256),
        ("Int16", 2**15),
        ("UInt16", 2**16),
        ("Int32", 2**31),
        ("UInt32", 2**32),
        ("Int64", 2**63),
        ("UInt64", 2**64),
    ],
)
def test_an_integer_out_of_range_is_a_dead_letter(kind, bad):
    good = bad + 1 if bad < 0 else bad - 1
    decoded = decode([slice_of([b'{"a":%d}' % bad, b'{"a":%d}' % good])], table(a=kind))
    assert decoded.columns["a"].to_pylist() == [good]
    assert [each.offset for each in decoded.dead] == [0]


@pytest.mark.parametrize("value", ["5", "-1.5", "true", "false", "[1]", '["x"]', '{"a":"b"}'])
def test_a_number_boolean_or_list_for_a_string_is_a_dead_letter(value):
    assert dead_reason(b'{"text":%s}' % value.encode())
    assert dead_reason(b'{ "text" :\t%s }' % value.encode())


@pytest.mark.parametrize("value", ["5", "-1.5", "true", "false", "[1]", '{"a": 1}'])
def test_a_text_that_looks_like_a_number_is_a_text(value):
    assert row_of(json.dumps({"text": value, "kind": value}).encode()) == {
        "text": value,
        "kind": value,
    }


def test_a_number_under_a_name_in_escapes_is_a_dead_letter():
    assert dead_reason(b'{"te\\u0078t":5}')


def test_a_number_in_an_array_of_strings_is_a_dead_letter():
    assert dead_reason(b'{"texts":["x",null,5]}')
    assert row_of(b'{"texts":["x",null,"5"]}') == {"texts": ["x", None, "5"]}


def test_the_first_of_repeated_fields_counts():
    assert row_of(b'{"number":1,"number":2}') == {"number": 1}
    many = b",".join(b'"f%d":%d' % (at, at) for at in range(100))
    assert row_of(b'{"number":1,%s,"number":2}' % many) == {"number": 1}


def test_the_first_of_repeated_fields_counts_beside_a_bad_record():
    decoded = decode([slice_of([b'{"number":1,"number":"x"}', b'{"number":"x"}'])], SCHEMA)
    assert decoded.columns["number"].to_pylist() == [1]


def test_half_a_surrogate_pair_is_a_dead_letter():
    assert dead_reason(b'{"text":"\\ud800"}')
    assert dead_reason(b'{"text":"\\uDC00"}')
    assert row_of(b'{"text":"\\ud83d\\ude00"}') == {"text": "😀"}


def test_bytes_that_are_not_utf8_are_a_dead_letter():
    assert dead_reason(b'{"text":"\xff"}')
    assert dead_reason(b'{"unknown":"\xff"}')


def test_a_raw_newline_between_tokens_is_white_space_and_within_a_string_a_dead_letter():
    assert row_of(b'{\n"text"\r\n:\n"a"\n}\n') == {"text": "a"}
    assert dead_reason(b'{"text":"a\nb"}')
    assert row_of(b'{"text":"a\\nb"}') == {"text": "a\nb"}


@pytest.mark.parametrize("value", [b'{"real":NaN}', b'\xef\xbb\xbf{"real":1}', b'{"real":1,}'])
def test_what_is_no_json_is_a_dead_letter(value):
    assert dead_reason(value)


def test_a_document_that_is_too_deep_is_a_dead_letter_and_no_crash():
    assert dead_reason(b'{"unknown":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    assert dead_reason(b"[" * 100_000 + b"]" * 100_000)


def test_a_tombstone_is_no_row_and_no_dead_letter():
    decoded = decode([slice_of([None, b'{"number":1}', None])], SCHEMA)
    assert decoded.offset.tolist() == [1]
    assert decoded.dead == ()
    nothing = decode([slice_of([None])], SCHEMA)
    assert (len(nothing), nothing.dead, dict(nothing.columns)) == (0, (), {})


def test_an_array_of_objects_is_several_rows_of_its_record():
    values = [b'{"number":1}', b'[{"number":2},\n{"number":3}]', b"[]", b'[{"number":4}]']
    decoded = decode([slice_of(values)], SCHEMA)
    assert decoded.columns["number"].to_pylist() == [1, 2, 3, 4]
    assert decoded.offset.tolist() == [0, 1, 1, 3]
    assert decoded.row.tolist() == [0, 0, 1, 0]
    assert decoded.timestamp_ms.tolist() == [TIMESTAMP + at for at in (0, 1, 1, 3)]


def test_one_bad_row_makes_the_whole_record_dead():
    assert dead_reason(b'[{"number":5},{"number":-6},{"small":999}]').startswith("number: -6")


def test_columns_that_no_record_holds_are_left_out():
    decoded = decode([slice_of([b'{"number":1}'])], SCHEMA)
    assert list(decoded.columns) == ["number"]


def test_null_is_no_missing_value():
    assert dead_reason(b'{"number":1,"small":null}') == "small: null is no Int8"


def test_a_table_without_a_column_of_the_record_gets_a_row():
    decoded = decode([slice_of([b'{"x":1}', b'{"x"'])], TableSchema("t", ()))
    assert (decoded.offset.tolist(), len(decoded.columns)) == ([0], 0)
    assert [each.offset for each in decoded.dead] == [1]


def test_coordinates_and_computed_columns_are_not_taken_from_the_record():
    schema = TableSchema(
        "t",
        (
            *(Column(name, kind) for name, kind in COORDINATES.items()),
            Column("a", "UInt8"),
            Column("b", "UInt8", "MATERIALIZED", "a + 1"),
        ),
    )
    value = b'{"_offset":"forged","_partition":5,"a":1,"b":9}'
    assert list(decode([slice_of([value])], schema).columns) == ["a"]


def test_a_column_whose_name_needs_escapes_gets_its_default():
    decoded = decode([slice_of([b'{"a\\"b":"5"}'])], table(**{'a"b': "String"}))
    assert (len(decoded), len(decoded.columns), decoded.dead) == (1, 0, ())


@pytest.mark.parametrize("name", ["a.b c", "Größe", "имя", "a'b", "a|b(c)[d]*"])
def test_names_of_columns_may_be_other_than_identifiers(name):
    value = json.dumps({name: "5"}).encode()
    decoded = decode([slice_of([value, json.dumps({name: 5}).encode()])], table(**{name: "String"}))
    assert decoded.columns[name].to_pylist() == [b"5"]
    assert [each.offset for each in decoded.dead] == [1]


def test_a_default_that_only_the_server_knows_may_be_missing_in_some_records():
    schema = TableSchema(
        "t", (Column("a", "UInt8"), Column("b", "Date", "DEFAULT", "toDate(time)"))
    )
    without = decode([slice_of([b'{"a":1}', b'{"a":2}'])], schema)
    assert list(without.columns) == ["a"] and without.dead == ()
    mixed = decode([slice_of([b'{"a":1}', b'{"a":2,"b":"2020-01-01"}'])], schema)
    assert (mixed.offset.tolist(), mixed.dead) == ([0, 1], ())
    assert mixed.is_missing("b").tolist() == [True, False]


def test_a_record_with_more_rows_than_an_insert_holds_is_a_dead_letter(monkeypatch):
    monkeypatch.setattr("aggregator.formats.json_lines.ROWS_MAX", 2)
    assert dead_reason(b"[{},{},{}]") == "3 rows in one record, more than 2"


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        ("Date", '"2013-01-31"', 15736),
        ("DateTime", '"1970-01-02 00:00:01"', 86401),
        ("DateTime", "1700000000", 1_700_000_000),
        ("DateTime", '"1700000000"', 1_700_000_000),
        ("DateTime('Europe/Berlin')", '"1970-01-02 01:00:01"', 86401),
        ("DateTime64(3)", '"1970-01-02 00:00:01.5"', 86_401_500),
        ("DateTime64(3)", "1.5", 1500),
        ("DateTime", '"2020-02-01T00:00:00.900Z"', 1_580_515_200),
        ("DateTime", "1.5", 1),
        ("Decimal(9, 4)", "1.2345000", Decimal("1.2345")),
        ("Enum8('a' = 1, 'b' = -2)", '"b"', -2),
        ("UUID", '"00010203-0405-0607-0809-0a0b0c0d0e0F"', bytes(range(16))),
        ("FixedString(3)", '"ab"', b"ab\0"),
        ("Bool", "true", 1),
        ("Float32", "0.5", 0.5),
        ("Array(Array(UInt8))", "[[1],[],[2,3]]", [[1], [], [2, 3]]),
        ("Array(DateTime)", '["1970-01-01 00:00:09",10]', [9, 10]),
        ("Nullable(Int8)", "-5", -5),
    ],
)
def test_values_are_stored_as_the_column_has_them(kind, value, stored):
    decoded = decode([slice_of([b'{"a":%s}' % value.encode()])], table(a=kind))
    assert decoded.dead == ()
    assert decoded.columns["a"].to_pylist() == [stored]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("Date", "15736"),
        ("Date", '"2013-02-29"'),
        ("Date", "true"),
        ("DateTime", "-1"),
        ("DateTime", "4294967296"),
        ("DateTime", "true"),
        ("DateTime", '"2013-01-01 00:00:60"'),
        ("Enum8('a' = 1)", '"b"'),
        ("Enum8('1' = 1)", "1"),
        ("UUID", '"00010203-0405-0607-0809-0a0b0c0d0e0"'),
        ("FixedString(3)", '"abcd"'),
        ("Array(UInt8)", "[256]"),
        ("Array(UInt8)", "[null]"),
        ("Array(UInt8)", "5"),
        ("Array(Date)", '["2013-02-29"]'),
        ("Bool", "1"),
        ("Decimal(9, 4)", "1.23456"),
        ("Decimal(9, 4)", '"1.23456"'),
        ("Array(Decimal(9, 4))", "[1.5, 1.23456]"),
        ("Float32", "1e39"),
    ],
)
def test_values_that_a_column_cannot_hold_are_dead_letters(kind, value):
    decoded = decode([slice_of([b'{"a":%s}' % value.encode(), b"{}"])], table(a=kind))
    assert decoded.offset.tolist() == [1]
    assert [each.offset for each in decoded.dead] == [0]
