"""The second reader and the loaders' decoders share no code, and say the same of every format."""

import json
from decimal import Context, Decimal
from ipaddress import IPv4Address
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats import json_documents, row_batches
from aggregator.formats.avro_datums import AvroDatums
from aggregator.tables.column_type import column_type
from aggregator.verifier.plain_records import AvroRows, ProtobufRows, batch_rows, json_rows
from aggregator.verifier.row_values import RowValues
from replicator.config.schema_folder import SchemaFolder
from tests.aggregator.formats import test_protobuf_records as protobuf
from tests.aggregator.formats import test_row_batches as batches
from tests.aggregator.formats.datums import encoded, fields, nested, record_of
from tests.aggregator.formats.nested_types import kinds
from tests.aggregator.formats.slices import slice_of, table
from tests.aggregator.formats.test_json_numbers import FORMS, SCHEMA, numbers

EXACT = Context(prec=100)


def held(kind, value):
    """Returns a value of a decoder as a driver reads it from a table."""
    if value is None:
        return None
    if kind.fields:
        return tuple(held(each, value[name]) for name, each in kind.fields)
    if kind.element is not None:
        return [held(kind.element, each) for each in value]
    if kind.base == "DateTime64":
        return EXACT.scaleb(Decimal(value), -kind.scale)
    if kind.base == "UUID":
        return UUID(bytes=value)
    if kind.base == "IPv4":
        return str(IPv4Address(value)).encode()
    if kind.base == "Int128":
        return str(int.from_bytes(value, "little", signed=True)).encode()
    names = {number: name for name, number in kind.values}
    return names[value] if names else value


def stored(decoded, schema):
    """Yields the rows of a table, as they are read for a comparison; without missing values."""
    for at in range(len(decoded)):
        cells = {
            name: held(column_type(each.type), decoded.columns[name][at].as_py())
            for each in schema.inserted
            if (name := each.name) in decoded.columns and not decoded.is_missing(name)[at]
        }
        yield int(decoded.offset[at]), int(decoded.row[at]), cells


def compared(schema, values, decode, read):
    records = slice_of(values)
    decoded = decode([records], schema)
    found = RowValues(schema, read)
    expected = set(zip(decoded.offset.tolist(), decoded.row.tolist(), strict=True))
    found.compare(records, expected, list(stored(decoded, schema)))
    return decoded, found


@given(st.lists(st.tuples(st.sampled_from([*FORMS]), numbers()), min_size=1, max_size=6))
def test_of_json_numbers(drawn):
    values = [f'{{"n": 1, "{name}": {FORMS[name] % text}}}'.encode() for name, text in drawn]
    _, found = compared(SCHEMA, values, json_documents.decode, json_rows)
    assert (found.differences, found.doubts) == ([], [])


@given(st.data())
@settings(deadline=None)
def test_of_avro_datums(data):
    drawn = data.draw(st.lists(fields | nested, min_size=1, max_size=3))
    kinds, strategies, columns, _ = zip(*drawn, strict=True)
    schema = record_of(kinds)
    row = st.fixed_dictionaries({f"f{at}": each for at, each in enumerate(strategies)})
    values = [encoded(schema, each) for each in data.draw(st.lists(row, min_size=1, max_size=4))]
    folder = SchemaFolder(Path("schemas"), {"t.avsc": json.dumps(schema).encode()})
    kept = table(**{f"f{at}": kind for at, kind in enumerate(columns)})
    decoded, found = compared(kept, values, AvroDatums(folder), AvroRows(folder))
    assert decoded.dead == ()
    assert (found.differences, found.doubts) == ([], [])


@pytest.mark.parametrize(
    ("kind", "column", "number"),
    [
        (("long", "timestamp-millis"), "DateTime64(3)", 2**63 - 1),
        (("long", "timestamp-millis"), "DateTime64(0)", -(10**15)),
        (("long", "timestamp-micros"), "DateTime64(6)", 2**63 - 1),
        (("long", "local-timestamp-millis"), "DateTime64(3)", 10**14),
        (("int", "date"), "DateTime64(0)", 2**31 - 1),
        (("long", "time-micros"), "Int64", -1),
        (("bytes", "decimal"), "Decimal(38, 2)", 10**36 - 1),
    ],
)
def test_what_python_or_fastavro_has_no_value_for_is_read_all_the_same(kind, column, number):
    base, logical = kind
    typed = {"type": base, "logicalType": logical, "precision": 9, "scale": 2}
    folder = SchemaFolder(
        Path("schemas"), {"t.avsc": json.dumps(record_of(["int", typed])).encode()}
    )
    octets = number.to_bytes(20, "big", signed=True) if base == "bytes" else number
    value = encoded(record_of(["int", base]), {"f0": 1, "f1": octets})
    for kept in (table(f0="Int32", f1=column), table(f0="Int32")):
        # A column that the table does not have hides no other one.
        decoded, found = compared(kept, [value], AvroDatums(folder), AvroRows(folder))
        assert decoded.dead == () or "f1" in decoded.dead[0].reason
        assert (found.differences, found.doubts) == ([], [])


@given(st.lists(protobuf.SET, min_size=1, max_size=4))
@settings(deadline=None)
def test_of_protobuf_messages(rows):
    values = [protobuf.encoded(**row) for row in rows]
    read = ProtobufRows(protobuf.FOLDER)
    _, found = compared(protobuf.SCHEMA, values, protobuf.DECODE, read)
    assert (found.differences, found.doubts) == ([], [])


@given(st.lists(st.lists(protobuf.SET, min_size=1, max_size=3), min_size=1, max_size=4), st.data())
@settings(deadline=None)
def test_of_protobuf_messages_that_were_joined(drawn, data):
    """The last one counts of a field that is there twice, and of the fields of a oneof."""
    others = st.sampled_from([{}, {"other": "x"}])
    values = [
        b"".join(protobuf.encoded(**row) + protobuf.encoded(**data.draw(others)) for row in rows)
        for rows in drawn
    ]
    schema = table(**{**protobuf.TYPES, "one": "Nullable(UInt8)", "other": "Nullable(String)"})
    read = ProtobufRows(protobuf.FOLDER)
    _, found = compared(schema, values, protobuf.DECODE, read)
    assert (found.differences, found.doubts) == ([], [])


@given(st.lists(st.lists(batches.ROW, max_size=3), min_size=1, max_size=3))
@settings(deadline=None)
def test_of_row_batches(drawn):
    values = [batches.batch(rows) for rows in drawn]
    _, found = compared(batches.SCHEMA, values, row_batches.decode, batch_rows)
    assert (found.differences, found.doubts) == ([], [])


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_of_nested_json(data):
    kind, values = data.draw(kinds)
    drawn = data.draw(st.lists(values, min_size=1, max_size=4))
    records = [json.dumps({"c": each}).encode() for each in drawn]
    decoded, found = compared(table(c=kind), records, json_documents.decode, json_rows)
    assert decoded.dead == ()
    assert (found.differences, found.doubts) == ([], [])


def test_of_nested_row_batches():
    written = batches.written_columns(batches.NESTED)
    entry = {"key": 7, "value": b"seven"}
    prices = [{"value": [{"key": b"a", "value": "1.25"}]}, {}]
    rows = [{"point": each, "names": [entry], "maps": prices} for each in batches.POINTS]
    values = [batches.batch(rows, written), batches.batch([{}], written)]
    decoded, found = compared(batches.NESTED, values, row_batches.decode, batch_rows)
    assert decoded.dead == ()
    assert (found.differences, found.doubts) == ([], [])


@pytest.mark.parametrize(
    ("kind", "document", "stored"),
    [
        ("Tuple(a UInt8, b String)", b'{"c": {"a": 1}}', (2, b"")),
        ("Tuple(a UInt8, b String)", b'{"c": {"a": 1}}', (1, b"x")),
        ("Tuple(Decimal(20, 10))", b'{"c": [0.1234567891]}', (Decimal("0.123456789"),)),
        ("Map(String, UInt8)", b'{"c": {"a": 1, "b": 2}}', [(b"a", 1)]),
        ("Map(UInt8, UInt8)", b'{"c": {"1": 1, "2": 2}}', [(2, 2), (1, 2)]),
        ("Array(Tuple(UInt8))", b'{"c": [[1]]}', [(2,), (1,)]),
    ],
)
def test_a_nested_value_that_is_another_one_is_found(kind, document, stored):
    found = RowValues(table(c=kind), json_rows)
    found.compare(slice_of([document]), {(0, 0)}, [(0, 0, {"c": stored})])
    assert len(found.differences) == 1


def test_the_order_of_a_map_is_no_difference():
    found = RowValues(table(c="Map(UInt8, UInt8)"), json_rows)
    document = b'{"c": {"1": 1, "2": 2}}'
    found.compare(slice_of([document]), {(0, 0)}, [(0, 0, {"c": [(2, 2), (1, 1)]})])
    assert (found.differences, found.doubts) == ([], [])


@pytest.mark.parametrize("header", [b"\0\0\0\0\7\0", b"\0\0\0\0\7\2\0", b""])
def test_a_header_of_a_message_is_passed(header):
    value = header + protobuf.MESSAGE(number=5).SerializeToString()
    [row] = ProtobufRows(protobuf.FOLDER)(value, protobuf.SCHEMA)
    assert row["number"] == 5


def test_a_header_of_another_message_is_an_error():
    with pytest.raises(ValueError, match="another message"):
        ProtobufRows(protobuf.FOLDER)(b"\0\0\0\0\7\2\2", protobuf.SCHEMA)
