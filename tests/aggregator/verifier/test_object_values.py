"""A second reader of objects agrees with the writers, and sees the faults of their decoders."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.files.avro_file import AvroFile
from aggregator.files.datum_columns import DatumColumns
from aggregator.files.decoded_slice import DecodedSlice
from aggregator.files.document_columns import DocumentColumns
from aggregator.files.file_writer import FileWriter
from aggregator.files.typed_parquet import TypedParquet
from aggregator.formats.avro_projection import Fields, projection
from aggregator.formats.avro_schema import avro_type
from aggregator.formats.record_slice import RecordSlice
from aggregator.loader.object_layout import ObjectLayout
from aggregator.verifier.object_values import ObjectValues
from balancer.topic_partition import TopicPartition
from replicator.config.schema_folder import SchemaFolder
from tests.aggregator.files.schema_records import row, value
from tests.aggregator.formats.datums import encoded, fields, logical, record_of
from tests.aggregator.formats.slices import slice_of
from tests.aggregator.formats.test_avro_rewriting import records
from tests.aggregator.formats.test_json_columns import FIELDS, documents
from tests.aggregator.loader.test_object_layout import PLACE, layout, schema_layout
from tests.aggregator.verifier.test_object_comparison import differing, written


def folder(*schemas: Any, **named: Any) -> SchemaFolder:
    """Returns schemas with the ids 1, 2 ..., and those of topics."""
    texts = {f"{at}.avsc": each for at, each in enumerate(schemas, 1)}
    texts |= {f"{name}.avsc": each for name, each in named.items()}
    files = {name: json.dumps(each).encode() for name, each in texts.items()}
    return SchemaFolder(Path("schemas"), files)


def headed(schema_id: int, datum: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + datum


def compared(made: ObjectLayout, records: RecordSlice) -> tuple[ObjectValues, int]:
    """Returns the comparison of an object of these records, and how many it has."""
    writer = made.writer(PLACE, "key")
    admitted = made.admission(PLACE, "partition=3", writer.decode)(records).records
    content = writer.write([admitted]) + writer.finish()
    found = ObjectValues(made, PLACE, content, made.extension)
    for at in range(0, len(admitted), 7):
        found.compare(RecordSlice.at(admitted, slice(at, at + 7)))
    if len(admitted):  # an empty object is not written
        found.finish()
    return found, len(admitted)


def assert_same(made: ObjectLayout, records: RecordSlice, count: int | None = None) -> None:
    found, held = compared(made, records)
    assert (found.differences, found.unread) == ([], 0)
    assert count in (None, held)


FILES = [
    {"file": "avro", "codec": "deflate", "record_columns": ("key", "headers", "timestamp")},
    {"file": "avro"},
    {"file": "parquet"},
]


@pytest.mark.parametrize("file", FILES)
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_datums_of_every_type_are_the_same_for_both(file, data):
    kinds, strategies, _, _ = zip(*data.draw(st.lists(fields, min_size=1, max_size=4)), strict=True)
    schema = record_of(kinds)
    rows = st.fixed_dictionaries({f"f{at}": each for at, each in enumerate(strategies)})
    values = [encoded(schema, each) for each in data.draw(st.lists(rows, min_size=1, max_size=9))]
    made = schema_layout(**file, schemas=folder(flights=schema))
    assert_same(made, slice_of(values), len(values))


@pytest.mark.parametrize("file", FILES)
@settings(max_examples=50, deadline=None)
@given(records(), st.data())
def test_datums_that_became_those_of_another_schema_are_the_same_for_both(file, evolution, data):
    before, after, values = evolution
    drawn = data.draw(st.lists(values, min_size=1, max_size=9))
    # The first record decides the schema.
    first = data.draw(st.sampled_from(fastavro_rows(before, after, drawn)))
    datums = [headed(2, first), *(headed(1, encoded(before, each)) for each in drawn)]
    made = schema_layout(**file, compatibility="backward", schemas=folder(before, after))
    assert_same(made, slice_of(datums))


def fastavro_rows(before: Any, after: Any, rows: list[Any]) -> list[bytes]:
    """Returns datums of the later schema, as fastavro makes them of earlier ones."""
    parsed = [fastavro.parse_schema(json.loads(json.dumps(each))) for each in (before, after)]
    datums = [encoded(before, each) for each in rows]
    read = [fastavro.schemaless_reader(io.BytesIO(each), *parsed) for each in datums]
    return [encoded(after, each) for each in read]


@given(st.lists(documents, min_size=1, max_size=8))
@settings(deadline=None)
def test_documents_are_the_same_for_both(rows):
    known: Any = FIELDS
    listed = [{"name": name, "type": kind, **more} for name, kind, more in known]
    made = layout(
        format="json",
        schemas=folder(flights={"type": "record", "name": "r", "fields": listed}),
    )
    assert_same(made, slice_of([json.dumps(each).encode() for each in rows]))


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("float", ["0.1", "1e38", "-0.0", "3", "16777217", "0.30000001192092896"]),
        ("double", ["0.1", "1e308", "-0.0", "3", "12345678901234567890123"]),
        ("long", ["9223372036854775807", "-9223372036854775808", "0"]),
        (logical("bytes", "decimal", precision=38, scale=9), ["1.5", '"1.5"', "1e3", "12345"]),
        (logical("long", "timestamp-millis"), ['"1969-12-31T23:59:59.999Z"', "-1", '"2020-01-01"']),
        (logical("long", "timestamp-micros"), ['"2020-01-01T00:00:00.123456+02:00"', "5"]),
        (logical("long", "timestamp-nanos"), ['"2020-01-01 00:00:00.123456789Z"', "-5"]),
        (logical("long", "local-timestamp-millis"), ['"2020-01-01T00:00:00.5"', "5"]),
        (logical("int", "date"), ['"1969-12-31"', "18262"]),
        ("bytes", ['"\\u00ff"', '"a"']),
        ("string", ['"\\u00ff\\u0000"', '"\\ud83d\\ude00"']),
    ],
)
def test_texts_and_numbers_of_documents_mean_the_same_for_both(kind, texts):
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]}
    made = layout(format="json", schemas=folder(flights=schema))
    found, count = compared(made, slice_of([f'{{"a": {each}}}'.encode() for each in texts]))
    assert found.differences == []
    assert count - found.unread >= len(texts) - 1


HEADERS = (("a", b"x" * 200), ("é", None), ("a", b"")), (), (("content-type", b"\xff"),)


@pytest.mark.parametrize(
    "made",
    [
        layout(),
        layout(codec="none", record_columns=("key", "headers", "timestamp")),
        layout(file="json_lines", codec="zstd"),
        layout(file="json_lines", codec="gzip"),
        layout(file="bytes", codec="lz4", separator="||"),
        layout(file="bytes", codec="none", separator=""),
    ],
)
def test_values_without_a_schema_are_the_same_for_both(made):
    values = [b'{"a":\n1.50, "a": [null]}', None, b"5"]
    assert_same(made, slice_of(values, headers=HEADERS))


def test_tombstones_before_and_behind_the_first_value_are_rows_of_nulls():
    made = schema_layout(file="parquet", compatibility="backward")
    values = [None, value(1, 1), value(2, 1), None]
    assert_same(made, slice_of(values), 4)


NAMED = {"type": "record", "name": "in", "namespace": "a.b", "fields": []}
UNION = {
    "type": "record",
    "name": "r",
    "fields": [
        {
            "name": "u",
            "type": [
                {**NAMED, "name": "x", "fields": [{"name": "n", "type": "int"}]},
                "null",
                {**NAMED, "name": "y", "fields": [{"name": "n", "type": ["null", "a.b.x"]}]},
                "string",
                "bytes",
                "long",
                {"type": "enum", "name": "a.b.e", "symbols": ["A", "B"]},
            ],
        },
        {"name": "m", "type": {"type": "map", "values": ["null", "a.b.y"]}},
    ],
}


def test_unions_of_records_and_maps_of_them_are_the_same_for_both():
    members = [
        ("a.b.x", {"n": 1}),
        None,
        ("a.b.y", {"n": None}),
        ("a.b.y", {"n": {"n": 5}}),
        "text",
        b"bytes",
        -7,
        ("a.b.e", "B"),
    ]
    rows = [{"u": each, "m": {"k": None, "l": {"n": {"n": at}}}} for at, each in enumerate(members)]
    datums = [encoded(UNION, each) for each in rows]
    for file in FILES:
        assert_same(schema_layout(**file, schemas=folder(flights=UNION)), slice_of(datums), 8)


INNER = {
    **NAMED,
    "name": "z",
    "fields": [
        {"name": "raw", "type": "bytes", "default": "\u00fe"},
        {"name": "letter", "type": {"type": "enum", "name": "l", "symbols": ["A"]}, "default": "A"},
        {"name": "m", "type": {"type": "map", "values": "l"}, "default": {"k": "A"}},
        {"name": "n", "type": ["null", "long"], "default": None},
    ],
}
DEFAULTS: list[tuple[Any, Any]] = [
    ("bytes", "\u0000\u0080\u00ff"),
    ({"type": "fixed", "name": "f", "size": 2}, "\u00ff\u0000"),
    ({"type": "fixed", "name": "f", "size": 12, "logicalType": "duration"}, "\u00ff" * 12),
    (logical("bytes", "decimal", precision=9, scale=2), "\u00ff\u0001"),
    (
        {"type": "fixed", "name": "f", "size": 3, "logicalType": "decimal", "precision": 5},
        "\u0000ab",
    ),
    (logical("long", "timestamp-nanos"), -1),
    (logical("long", "time-micros"), 5),
    (logical("int", "date"), -719162),
    (logical("string", "uuid"), "123e4567-e89b-12d3-a456-426614174000"),
    (["null", "bytes"], None),
    (["bytes", "null"], "\u00e9"),
    (["string", "bytes"], "é"),
    (["null", "int", INNER], None),
    ([INNER, "null"], {"raw": "\u0081"}),
    (INNER, {}),
    ({"type": "array", "items": INNER}, [{}, {"n": 5, "m": {}}]),
    ({"type": "map", "values": {"type": "array", "items": "bytes"}}, {"é": ["\u00ff"]}),
    ("float", 0.1),
    ("double", 3),
    ("long", 2**62),
]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(("kind", "default"), DEFAULTS)
def test_defaults_of_every_type_are_the_same_for_both(file, kind, default):
    old = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}
    new = {**old, "fields": [*old["fields"], {"name": "d", "type": kind, "default": default}]}
    made = schema_layout(**file, compatibility="backward", schemas=folder(old, new))
    projected = projection(*(avro_type(json.dumps(each).encode()) for each in (old, new)))
    assert isinstance(projected, Fields)
    [_, of_default] = projected.sources
    assert isinstance(of_default, bytes)
    datums = [headed(2, b"\x02" + of_default), headed(1, encoded(old, {"a": 7}))]
    assert_same(made, slice_of(datums), 2)


PRICE = logical("bytes", "decimal", precision=38, scale=4)
ROW = {"type": "record", "name": "row", "fields": [{"name": "n", "type": "int"}]}
OPTIONAL = {**ROW, "fields": [{"name": "n", "type": ["int", "null"], "default": 5}]}
RENAMED = {
    **ROW,
    "fields": [
        {"name": "number", "type": "int", "aliases": ["n"], "default": 0},
        {"name": "raw", "type": "bytes", "default": "\u00ff"},
    ],
}


@dataclass(frozen=True, slots=True)
class Wrong:
    """Decoder with a fault: it changes the table of columns."""

    right: Any
    change: Callable[[pa.Table], pa.Table]

    @property
    def schema(self) -> str:
        return str(self.right.schema)

    @property
    def fields(self) -> pa.Schema:
        found: pa.Schema = self.right.fields
        return found

    def __call__(self, records: RecordSlice) -> tuple[pa.Table, dict[int, str]]:
        table, reasons = self.right(records)
        return self.change(table), reasons


@dataclass(frozen=True)
class WrongLayout(ObjectLayout):
    """Layout whose files are written by a decoder with a fault, by loaders and by `verify`."""

    change: Callable[[pa.Table], pa.Table] = lambda table: table

    def writer(self, place: TopicPartition, key: str = "") -> FileWriter:
        is_json = self.feed.format == "json"
        right = (DocumentColumns if is_json else DatumColumns)(self.schemas, place.topic)
        decoder = Wrong(right, self.change)
        return TypedParquet(decoder, *place, columns=self.feed.columns, codec=self.feed.codec)


def with_column(name: str, change: Callable[[pa.Array], Any]) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        at = table.column_names.index(name)
        column = change(table[name].combine_chunks()).cast(table.schema.field(at).type)
        return table.set_column(at, table.schema.field(at), column)

    return changed


def through_a_double(column: pa.Array) -> pa.Array:
    lists = [[Decimal(float(each)).quantize(Decimal("0.0001")) for each in row] for row in
             column.to_pylist()]  # fmt: skip
    return pa.array(lists, column.type)


PRICES = {**ROW, "fields": [{"name": "prices", "type": {"type": "array", "items": PRICE}}]}
OLD = [headed(2, encoded(RENAMED, {"number": 1, "raw": b"x"})), headed(1, encoded(ROW, {"n": 7}))]
FAULTS: dict[str, Any] = {
    "decimals go through a double": (
        {"schemas": folder(flights=PRICES)},
        [encoded(PRICES, {"prices": [Decimal("12345678901234567.1234")]})],
        with_column("prices", through_a_double),
        "offset 0: prices: the record has",
    ),
    "null becomes the default": (
        {"format": "json", "schemas": folder(flights=OPTIONAL)},
        [b'{"n": null}'],
        with_column("n", lambda column: pc.fill_null(column, 5)),
        "offset 0: n: the record has None, and the file 5",
    ),
    "a missing field becomes null": (
        {"format": "json", "schemas": folder(flights=OPTIONAL)},
        [b"{}"],
        with_column("n", lambda column: pa.nulls(len(column), column.type)),
        "offset 0: n: the record has 5, and the file None",
    ),
    "aliases are not followed": (
        {"compatibility": "backward", "schemas": folder(ROW, RENAMED)},
        OLD,
        with_column("number", lambda column: pc.if_else(pc.equal(column, 7), 0, column)),
        "offset 1: number: the record has 7, and the file 0",
    ),
    "a default of bytes is read as UTF-8": (
        {"compatibility": "backward", "schemas": folder(ROW, RENAMED)},
        OLD,
        with_column("raw", lambda column: pc.replace_substring(column, b"\xff", "ÿ".encode())),
        r"offset 1: raw: the record has b'\xff', and the file b'\xc3\xbf'",
    ),
    "doubles are rounded to 32 bits": (
        {"schemas": folder(flights={**ROW, "fields": [{"name": "x", "type": "double"}]})},
        [encoded({**ROW, "fields": [{"name": "x", "type": "double"}]}, {"x": 0.1})],
        with_column("x", lambda column: column.cast(pa.float32())),
        "offset 0: x: the record has 0.1, and the file 0.10000000149011612",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_loaders_decoder_is_seen_in_objects_that_it_makes_twice_alike(fault):
    set_to, values, change, text = FAULTS[fault]
    right = schema_layout(**{"file": "parquet", "record_columns": ("offset",), **set_to})
    assert differing(written(right, values).compared(right)[0]) == {}
    wrong = WrongLayout(right.feed, right.cluster, change=change)
    count, _ = written(wrong, values).compared(wrong)
    assert (differing(count), count.found) == ({"changed": 1}, len(values))
    assert count.examples[0].startswith(f"changed: {text}")


@dataclass(frozen=True)
class WrongContainers(ObjectLayout):
    """Layout of containers whose datums are changed after they were decoded."""

    change: Callable[[bytes], bytes] = bytes

    def writer(self, place: TopicPartition, key: str = "") -> FileWriter:
        return WrongContainer(self.schemas, *place, columns=(), codec="none", key=key).with_change(
            self.change
        )


class WrongContainer(AvroFile):
    """Writer of a container with a fault."""

    change: Callable[[bytes], bytes] = bytes

    def with_change(self, change: Callable[[bytes], bytes]) -> WrongContainer:
        self.change = change
        return self

    def scratch(self) -> WrongContainer:
        raise NotImplementedError("nothing is refused")

    def decode(self, records: RecordSlice) -> tuple[DecodedSlice, dict[int, str]]:
        found, reasons = super().decode(records)
        datums = [each and self.change(each) for each in found.values["datum"].to_pylist()]
        return DecodedSlice.of(records, pa.table({"datum": pa.array(datums, pa.binary())})), reasons


def test_a_fault_of_the_loaders_decoder_is_seen_in_containers():
    set_to = {"compatibility": "backward", "schemas": folder(ROW, RENAMED)}
    right = schema_layout(**set_to)
    assert differing(written(right, OLD).compared(right)[0]) == {}
    wrong = WrongContainers(
        right.feed, right.cluster, change=lambda datum: datum.replace(b"\x0e", b"\0")
    )
    count, _ = written(wrong, OLD).compared(wrong)
    assert differing(count) == {"changed": 1}
    assert "offset 1: the value: the record has {'number': 7, 'raw'" in count.examples[0]


def test_rows_that_are_missing_or_surplus_and_broken_files_are_told():
    made = layout(codec="none", record_columns=("offset",))
    records = slice_of([b"a", b"b", b"c"])
    writer = made.writer(PLACE)
    content = writer.write([records.at(slice(0, 2))]) + writer.finish()
    cases = {
        (3, content): ["offset 2: no row is left in the file"],
        (2, content): [],
        (1, content): ["a row behind those of its records"],
    }
    for (count, data), wanted in cases.items():
        found = ObjectValues(made, PLACE, data, made.extension)
        found.compare(records.at(slice(0, count)))
        found.finish()
        assert found.differences == wanted
    found = ObjectValues(made, PLACE, content[:-9], made.extension)
    found.compare(records)
    assert found.differences[0].startswith("offset 0: the file cannot be read: ArrowInvalid")


def test_what_the_second_reader_cannot_tell_is_counted_and_not_a_difference():
    aliases = [{"name": "n", "type": "int", "aliases": ["m"]}]
    schema = {"type": "record", "name": "r", "fields": aliases}
    made = layout(format="json", schemas=folder(flights=schema))
    found, count = compared(made, slice_of([b'{"n": 1, "m": 2}', b'{"m": 3}']))
    assert (found.differences, found.unread, count) == ([], 1, 2)
    assert row(1)["number"] == 1
