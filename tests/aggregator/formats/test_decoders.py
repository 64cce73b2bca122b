"""The result of a record is a function of that record: alone, in a crowd, in any grouping."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats import json_documents, row_batches
from aggregator.formats.avro_datums import AvroDatums
from aggregator.formats.protobuf_records import ProtobufRecords
from aggregator.formats.row_batch_type import WrittenColumn
from aggregator.tables.native_block import MixedRows, native, rows_of_inserts
from aggregator.tables.table_schema import Column, TableSchema
from replicator.config.schema_folder import SchemaFolder
from tests.aggregator.formats.datums import encoded
from tests.aggregator.formats.protos import folder_of, message_class, row_batch
from tests.aggregator.formats.slices import TIMESTAMP, slice_of
from tests.aggregator.tables.engine import engine, texts_of
from tests.aggregator.tables.test_native_block import read_by_driver

COLUMNS = (
    Column("number", "Int32"),
    Column("seven", "Int32", "DEFAULT", "7"),
    Column("five", "Nullable(Int32)", "DEFAULT", "5"),
    Column("open", "Nullable(Int32)"),
    Column("list", "Array(Int32)", "DEFAULT", "[1, 2]"),
    Column("day", "Date", "DEFAULT", "'2020-02-29'"),
    Column("id", "UUID", "DEFAULT", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'"),
    Column("price", "Decimal(9, 2)", "DEFAULT", "1.5"),
    Column("at", "DateTime", "DEFAULT", "now()"),
    Column("next", "Int32", "DEFAULT", "number + 1"),
    Column("maybe", "Nullable(Int32)", "DEFAULT", "number + 2"),
)
SCHEMA = TableSchema("t", COLUMNS)
NAMES = [column.name for column in COLUMNS]
BY_SERVER = "by the server"
ID = UUID("61f0c404-5cb3-11e7-907b-a6006ad3dba0")
DEFAULTS = {
    "number": 0,
    "seven": 7,
    "five": 5,
    "open": None,
    "list": (1, 2),
    "day": "2020-02-29",
    "id": ID,
    "price": Decimal("1.50"),
    "next": BY_SERVER,
    "maybe": BY_SERVER,
}
NULLABLE = ("five", "open", "maybe")
INTEGERS = st.integers(-(2**31), 2**31 - 1)
VALUES = {
    "list": st.lists(INTEGERS, max_size=3),
    "day": st.sampled_from(["1970-01-01", "2021-12-31"]),
    "id": st.uuids().map(str),
    "at": st.sampled_from(["2020-01-01 00:00:00", "2021-01-01 00:00:00"]),
    "price": st.integers(-9999, 9999),
}
given_values = {name: VALUES.get(name, INTEGERS) for name in NAMES}
with_nulls = st.fixed_dictionaries(
    {}, optional={name: st.none() | values for name, values in given_values.items()}
)
without_nulls = st.fixed_dictionaries({}, optional=given_values)


def stored(decoded):
    """Returns what the table holds of each record, by offset; None for a dead one."""
    found: dict = {each.offset: None for each in decoded.dead}
    for rows in rows_of_inserts(decoded, SCHEMA):
        part = decoded.where(rows)
        block = native(part, SCHEMA, cluster="c", topic="t", partition=0)
        cells = dict.fromkeys(NAMES, None)
        if len(part):
            read = read_by_driver(block.bytes_of(revision=0), 0)
            named = [name for name, _ in read.columns_with_types]
            cells |= dict(zip(named, read.data, strict=True))
        for at, (offset, row) in enumerate(
            zip(part.offset.tolist(), part.row.tolist(), strict=True)
        ):
            cell = {
                name: _plain(values[at]) if values is not None else DEFAULTS[name]
                for name, values in cells.items()
            }
            found.setdefault(offset, {})[row] = cell
    return dict(sorted(found.items()))


def _plain(value):
    if isinstance(value, list):
        return tuple(value)
    return str(value)[:19] if hasattr(value, "year") else value


def expected(row, offset):
    """Returns the row of a record, without a library; None if it holds null where none may be."""
    if any(row[name] is None for name in row if name not in NULLABLE):
        return None
    values = {**DEFAULTS, "at": _time((TIMESTAMP + offset) // 1000), **row}
    shown = {
        "list": tuple,
        "id": lambda value: UUID(str(value)),
        "price": lambda value: Decimal(value).quantize(Decimal("0.01")),
    }
    return {0: {name: shown.get(name, lambda it: it)(values[name]) for name in NAMES}}


def _time(seconds):
    return str(datetime.fromtimestamp(seconds, UTC))[:19]


def json_value(row):
    return json.dumps(row).encode()


AVRO_TYPES = dict.fromkeys(NAMES, "int") | {
    "list": {"type": "array", "items": "int"},
    "day": "string",
    "id": "string",
    "at": "string",
    "price": "int",
}


def avro_schema(names):
    fields = [{"name": name, "type": [AVRO_TYPES[name], "null"]} for name in names]
    return {"type": "record", "name": "row", "fields": fields}


def avro_names(number):
    return [name for at, name in enumerate(NAMES) if number >> at & 1]


def avro_value(row):
    number = sum(1 << at for at, name in enumerate(NAMES) if name in row)
    datum = encoded(avro_schema(avro_names(number)), row)
    return b"\0" + number.to_bytes(4, "big") + datum


AVRO = AvroDatums(
    SchemaFolder(
        Path("schemas"),
        {
            f"{number}.avsc": json.dumps(avro_schema(avro_names(number))).encode()
            for number in range(1 << len(NAMES))
        },
    )
)
PROTO = folder_of(
    t="message t {\n"
    + "\n".join(
        f"optional {'string' if name in ('day', 'id', 'at') else 'int32'} {name} = {at};"
        for at, name in enumerate((name for name in NAMES if name != "list"), 1)
    )
    + "\n}"
)
MESSAGE = message_class(PROTO, "t")


def batch_value(row):
    columns = [WrittenColumn(each.name, each.type) for each in COLUMNS if each.name in row]
    codes = {
        "day": {"1970-01-01": 0, "2021-12-31": 18992},
        "at": {"2020-01-01 00:00:00": 1577836800, "2021-01-01 00:00:00": 1609459200},
    }
    fields = {name: codes[name][value] if name in codes else value for name, value in row.items()}
    if "id" in fields:
        fields["id"] = UUID(fields["id"]).bytes
    if "price" in fields:
        fields["price"] = str(fields["price"])
    return row_batch(columns, [fields])


def without_list(row):
    return {name: value for name, value in row.items() if name != "list"}


FORMATS = {
    "json": (json_documents.decode, with_nulls, json_value),
    "avro": (AVRO, with_nulls, avro_value),
    "protobuf": (
        ProtobufRecords(PROTO),
        without_nulls.map(without_list),
        lambda row: MESSAGE(**row).SerializeToString(),
    ),
    "row_batches": (
        row_batches.decode,
        without_nulls.map(lambda row: {"number": 3, **row}),
        batch_value,
    ),
}


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_a_record_becomes_the_same_in_any_grouping(name, data):
    decode, rows, written = FORMATS[name]
    drawn = data.draw(st.lists(rows, min_size=1, max_size=6))
    values = [written(row) for row in drawn]
    wanted = {at: expected(row, at) for at, row in enumerate(drawn)}
    inner = data.draw(st.lists(st.integers(0, len(values)), max_size=3))
    whole = slice_of(values)
    groups = [whole.at(slice(*limits)) for limits in pairwise(sorted({0, len(values), *inner}))]
    assert stored(decode(groups, SCHEMA)) == wanted
    apart = {}
    for group in groups:
        apart |= stored(decode([group], SCHEMA))
    assert apart == wanted


def test_rows_that_leave_other_columns_to_the_server_are_no_single_insert():
    decoded = json_documents.decode([slice_of([b"{}", b'{"next": 3}'])], SCHEMA)
    assert [rows.tolist() for rows in rows_of_inserts(decoded, SCHEMA)] == [
        [False, True],
        [True, False],
    ]
    with pytest.raises(MixedRows, match="some rows of t have no next"):
        native(decoded, SCHEMA, cluster="c", topic="t", partition=0)


def test_the_server_computes_what_a_record_leaves_out_whatever_its_neighbours_hold(tmp_path):
    defaults = ", ".join(
        f"{each.name} {each.type} {each.default_kind} {each.default_expression}" for each in COLUMNS
    )
    engine().query(f"CREATE TABLE beside ({defaults}) ENGINE = MergeTree ORDER BY number")
    rows = [
        {"number": 1},
        {"number": 2, "next": 20},
        {"number": 3, "maybe": None},
        {"number": 4, "maybe": 40, "next": 41},
        {"number": 5},
    ]
    decoded = json_documents.decode([slice_of([*map(json_value, rows)])], SCHEMA)
    for at, part in enumerate(rows_of_inserts(decoded, SCHEMA)):
        block = native(decoded.where(part), SCHEMA, cluster="c", topic="t", partition=0)
        file = tmp_path / f"{at}.native"
        file.write_bytes(block.bytes_of(revision=0))
        names = ", ".join(block.names)
        engine().query(f"INSERT INTO beside ({names}) FROM INFILE '{file}' FORMAT Native")
    found = texts_of("SELECT number, next, maybe, seven, list FROM beside ORDER BY number")
    assert found == [
        ["1", "2", "3", "7", "[1,2]"],
        ["2", "20", "4", "7", "[1,2]"],
        ["3", "4", r"\N", "7", "[1,2]"],
        ["4", "41", "40", "7", "[1,2]"],
        ["5", "6", "7", "7", "[1,2]"],
    ]
