"""The messages of a table's row batches follow its columns, and their text says the same."""

from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from aggregator.formats.row_batch_type import (
    WrittenColumn,
    proto_text,
    row_batch_file,
    row_fields,
    written_columns,
)
from aggregator.tables.table_schema import COORDINATES, Column, TableSchema
from replicator.config.schema_folder import descriptor_set
from tests.aggregator.formats.slices import table

TYPES = {
    "id": "UInt64",
    "small": "LowCardinality(Nullable(Int8))",
    "real": "Float64",
    "single": "Float32",
    "flag": "Bool",
    "text": "String",
    "code": "FixedString(3)",
    "uuid": "UUID",
    "kind": "Enum8('a' = 1)",
    "price": "Decimal(18, 2)",
    "day": "Date",
    "at": "DateTime",
    "fine": "DateTime64(3)",
    "list": "Array(UInt8)",
    "holes": "Array(Nullable(String))",
    "deep": "Array(Array(Array(Int32)))",
    "dep_delay": "Int32",
    "depDelay": "Int32",
    "größe": "Int32",
    "no such": "Tuple(Int8, JSON)",
    "_under": "Int32",
    "last": "Int32",
}
SCHEMA = table(**TYPES, **COORDINATES)


def fields(message):
    return [
        (field.name, field.number, field.type, field.label, field.type_name)
        for field in message.field
    ]


def test_the_printed_file_has_the_fields_that_are_read(tmp_path):
    (tmp_path / "row_batch.proto").write_text(proto_text(SCHEMA))
    compiled = FileDescriptorSet.FromString(descriptor_set(tmp_path, ["row_batch.proto"])).file[0]
    ours = row_batch_file(written_columns(SCHEMA))
    assert [message.name for message in compiled.message_type] == [
        message.name for message in ours.message_type
    ]
    for theirs, message in zip(compiled.message_type, ours.message_type, strict=True):
        assert fields(theirs) == fields(message)


def test_the_printed_file_names_the_hash_and_the_columns():
    text = proto_text(SCHEMA)
    assert f"schema_hash {SCHEMA.hash}" in text
    assert "  optional sint64 c_19 = 19;  // größe Int32\n" in text
    assert "\n  repeated uint64 list = 14;  // list Array(UInt8)\n" in text


def test_the_number_of_a_field_is_the_place_of_its_column():
    numbers = {field.name: field.column + 1 for field in row_fields(written_columns(SCHEMA))}
    assert numbers["id"] == 1
    assert numbers["last"] == 22
    assert not {"no such", "c_20"} & set(numbers)


def test_names_that_protobuf_does_not_take_are_replaced_by_numbers():
    names = [field.name for field in row_fields(written_columns(SCHEMA))]
    assert names[16:] == ["dep_delay", "c_18", "c_19", "c_21", "last"]


def test_coordinates_and_computed_columns_are_not_written():
    columns = (
        Column("a", "UInt8"),
        Column("b", "UInt8", "MATERIALIZED", "a"),
        Column("c", "UInt8", "ALIAS", "a"),
        Column("d", "UInt8", "DEFAULT", "a"),
        Column("_offset", "UInt64"),
    )
    assert written_columns(TableSchema("t", columns)) == (
        WrittenColumn("a", "UInt8"),
        WrittenColumn("d", "UInt8"),
    )


def test_types_are_compact_and_hold_all_values():
    row = row_batch_file(written_columns(SCHEMA)).message_type[3]
    assert row.name == "Row"
    types = {field.name: field.type for field in row.field}
    assert types["id"] == Field.TYPE_UINT64
    assert types["small"] == types["kind"] == types["day"] == types["fine"] == Field.TYPE_SINT64
    assert (types["real"], types["single"]) == (Field.TYPE_DOUBLE, Field.TYPE_FLOAT)
    assert types["flag"] == Field.TYPE_BOOL
    assert types["text"] == types["code"] == types["uuid"] == Field.TYPE_BYTES
    assert types["price"] == Field.TYPE_STRING
