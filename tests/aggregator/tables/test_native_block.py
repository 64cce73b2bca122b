"""Native blocks: rows as a server reads them."""

import io
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from clickhouse_driver import defines
from clickhouse_driver.block import ColumnOrientedBlock
from clickhouse_driver.bufferedreader import BufferedSocketReader
from clickhouse_driver.bufferedwriter import BufferedSocketWriter
from clickhouse_driver.connection import ServerInfo
from clickhouse_driver.context import Context
from clickhouse_driver.streams.native import BlockInputStream, BlockOutputStream
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.tables import native_block
from aggregator.tables.column_type import UnsupportedType, column_type
from aggregator.tables.decoded import DEAD_BYTES, DeadRecord, Decoded
from aggregator.tables.native_block import TooManyRows, native
from aggregator.tables.table_schema import (
    COORDINATES,
    INCARNATION,
    OWN_COLUMNS,
    Column,
    TableSchema,
)
from aggregator.tables.value_limits import limits_of

# -- Native blocks against clickhouse-driver, which writes and reads them cell by cell.

few = settings(max_examples=settings.default.max_examples // 3)
"""For a test of which each type of a column is a case."""
REVISIONS = (0, 54_412, defines.CLIENT_REVISION)
IDENTITY = {"cluster": "west regional", "topic": "flights", "partition": 3}


class Pipe:
    """Socket of a driver's stream, in memory."""

    def __init__(self, data=b""):
        self.data = io.BytesIO(data)

    def sendall(self, data):
        self.data.write(data)

    def recv_into(self, buffer):
        return self.data.readinto(buffer)


def context(revision):
    made = Context()
    made.client_settings = {
        "use_numpy": False,
        "strings_as_bytes": True,
        "strings_encoding": "utf-8",
        "namedtuple_as_json": True,
        "server_side_params": False,
        "opentelemetry_traceparent": None,
    }
    made.settings = {}
    made.server_info = ServerInfo("", 0, 0, 0, revision, "UTC", "", revision)
    return made


def by_driver(names, types, columns, revision):
    pipe = Pipe()
    block = ColumnOrientedBlock(list(zip(names, types, strict=True)), [list(c) for c in columns])
    BlockOutputStream(BufferedSocketWriter(pipe, 1 << 16), context(revision)).write(block)
    return pipe.data.getvalue()


def read_by_driver(data, revision):
    stream = BlockInputStream(BufferedSocketReader(Pipe(data), 1 << 16), context(revision))
    return stream.read()


def decoded(columns, count, **others):
    return Decoded(
        columns=columns,
        offset=np.arange(count),
        row=np.zeros(count, np.int64),
        timestamp_ms=others.get("timestamp_ms", np.full(count, 1_700_000_000_123)),
    )


def block_of(kind, values):
    """Returns a block of one column, from values in the column's Arrow type."""
    schema = TableSchema("t", (Column("a", kind),))
    column = pa.array(values, column_type(kind).arrow)
    return native(decoded({"a": column}, len(values)), schema, **IDENTITY)


def integer(octets):
    return int.from_bytes(octets, "little", signed=True)


def natural(octets):
    return int.from_bytes(octets, "little")


strings = st.one_of(st.binary(max_size=5), st.sampled_from([b"x" * 127, b"x" * 128, b"y" * 20_000]))
# ClickHouse type, value in Arrow, the same value for the driver.
CASES = {
    "UInt8": (st.integers(0, 255), None),
    "Int16": (st.integers(-(2**15), 2**15 - 1), None),
    "UInt64": (st.integers(0, 2**64 - 1), None),
    "Int64": (st.integers(-(2**63), 2**63 - 1), None),
    "Float32": (st.floats(width=32, allow_nan=False), None),
    "Float64": (st.floats(allow_nan=False), None),
    "String": (strings, None),
    "FixedString(3)": (st.binary(min_size=3, max_size=3), None),
    "UUID": (st.binary(min_size=16, max_size=16), lambda value: UUID(bytes=value)),
    "Date": (st.integers(0, 60_000), lambda days: date.fromordinal(719_163 + days)),
    "DateTime": (
        st.integers(0, 2**32 - 1),
        lambda seconds: datetime.fromtimestamp(seconds, UTC),
    ),
    "Enum8('a' = 1, 'b' = -2)": (st.sampled_from([1, -2]), None),
    "Decimal(9, 2)": (st.decimals(-9999999, 9999999, places=2), None),
    "Decimal(18, 3)": (st.decimals(-(10**12), 10**12, places=3), None),
    "Decimal(38, 5)": (st.decimals(-(10**20), 10**20, places=5), None),
    "Decimal(76, 5)": (st.decimals(-(10**20), 10**20, places=5), None),
    "Int128": (st.binary(min_size=16, max_size=16), integer),
    "UInt128": (st.binary(min_size=16, max_size=16), natural),
    "Int256": (st.binary(min_size=32, max_size=32), integer),
    "UInt256": (st.binary(min_size=32, max_size=32), natural),
    "IPv4": (st.integers(0, 2**32 - 1), IPv4Address),
    "IPv6": (st.binary(min_size=16, max_size=16), IPv6Address),
}


@pytest.mark.parametrize("kind", CASES)
@few
@given(data=st.data())
def test_columns_have_the_bytes_that_the_driver_writes(kind, data):
    values, of_driver = CASES[kind]
    cells = data.draw(st.lists(values, min_size=1, max_size=6))
    plain = [of_driver(cell) if of_driver else cell for cell in cells]
    for revision in REVISIONS:
        expected = by_driver(["a"], [kind], [plain], revision)
        assert block_of(kind, cells).bytes_of(revision=revision) == expected


@pytest.mark.parametrize("kind", CASES)
@few
@given(data=st.data())
def test_a_null_is_a_zero_with_a_mark(kind, data):
    values, of_driver = CASES[kind]
    cells = data.draw(st.lists(st.none() | values, min_size=1, max_size=6))
    plain = [of_driver(cell) if of_driver and cell is not None else cell for cell in cells]
    written = block_of(f"Nullable({kind})", cells).bytes_of(revision=0)
    if kind.startswith("FixedString"):
        # The driver cannot write a null among fixed strings as bytes.
        assert read_by_driver(written, 0).data == [tuple(cells)]
    else:
        assert written == by_driver(["a"], [f"Nullable({kind})"], [plain], 0)


nested = st.lists(
    st.lists(st.lists(st.none() | strings, max_size=3), max_size=3), min_size=1, max_size=4
)


@given(nested)
def test_arrays_have_the_bytes_that_the_driver_writes(cells):
    kind = "Array(Array(Nullable(String)))"
    assert block_of(kind, cells).bytes_of(revision=0) == by_driver(["a"], [kind], [cells], 0)


@given(st.lists(st.none() | strings, min_size=1, max_size=8))
def test_low_cardinality_is_read_as_it_was(cells):
    kind = "LowCardinality(Nullable(String))"
    written = block_of(kind, cells).bytes_of(revision=0)
    assert read_by_driver(written, 0).data == [tuple(cells)]
    plain = [cell or b"" for cell in cells]
    written = block_of("LowCardinality(String)", plain).bytes_of(revision=0)
    assert read_by_driver(written, 0).data == [tuple(plain)]


@pytest.mark.parametrize("count", [254, 255, 256, 70_000])
def test_low_cardinality_widens_its_index_with_the_number_of_keys(count):
    cells = [b"%d" % at for at in range(count)]
    written = block_of("LowCardinality(String)", cells).bytes_of(revision=0)
    assert read_by_driver(written, 0).data == [tuple(cells)]


@given(st.lists(st.lists(strings, max_size=3), min_size=1, max_size=4))
def test_arrays_of_low_cardinality_are_read_as_they_were(cells):
    kind = "Array(LowCardinality(String))"
    written = block_of(kind, cells).bytes_of(revision=defines.CLIENT_REVISION)
    found = read_by_driver(written, defines.CLIENT_REVISION).data
    assert [list(each) for each in found[0]] == cells


def test_slices_of_columns_are_written_as_they_are():
    schema = TableSchema("t", (Column("a", "UInt16"), Column("b", "Nullable(String)")))
    whole = {
        "a": pa.array(range(9), pa.uint16()),
        "b": pa.array([None, b"x", None, b"yy", b"", None, b"z", b"w", b"v"], pa.large_binary()),
    }
    part = {name: values[2:7] for name, values in whole.items()}
    fresh = {name: pa.array(values.to_pylist(), values.type) for name, values in part.items()}
    found = native(decoded(part, 5), schema, **IDENTITY)
    assert found.bytes_of(revision=0) == native(decoded(fresh, 5), schema, **IDENTITY).bytes_of(
        revision=0
    )


@pytest.mark.parametrize("text", ["String", "LowCardinality(String)"])
def test_coordinates_are_filled_from_the_identity(text):
    types = COORDINATES | {"_cluster": text, "_topic": text, "_row": "UInt16"}
    columns = tuple(Column(name, kind) for name, kind in types.items())
    rows = Decoded(
        offset=np.array([7, 7, 2**40]), row=np.array([0, 1, 0]), timestamp_ms=np.zeros(3, int)
    )
    block = native(rows, TableSchema("t", columns), **IDENTITY)
    found = read_by_driver(block.bytes_of(revision=54_412), 54_412)
    assert found.columns_with_types == list(types.items())
    assert found.get_rows() == [
        (b"west regional", b"flights", 3, 7, 0),
        (b"west regional", b"flights", 3, 7, 1),
        (b"west regional", b"flights", 3, 2**40, 0),
    ]


@pytest.mark.parametrize("incarnation", [0, 1_764_288_000_000])
def test_the_log_of_a_row_is_filled_in_where_the_table_has_the_column(incarnation):
    rows = Decoded(offset=np.array([7]), row=np.array([0]), timestamp_ms=np.zeros(1, int))
    columns = tuple(Column(name, kind) for name, kind in OWN_COLUMNS.items())
    block = native(rows, TableSchema("t", columns), **IDENTITY, incarnation=incarnation)
    found = read_by_driver(block.bytes_of(revision=54_412), 54_412)
    assert found.get_rows() == [(b"west regional", b"flights", 3, 7, 0, incarnation)]
    without = native(rows, TableSchema("t", columns[:-1]), **IDENTITY, incarnation=incarnation)
    assert INCARNATION not in without.names
    other = TableSchema("t", (*columns[:-1], Column(INCARNATION, "String")))
    assert INCARNATION not in native(rows, other, **IDENTITY, incarnation=incarnation).names


def test_columns_that_no_row_holds_are_left_out_unless_they_are_the_records_time():
    schema = TableSchema(
        "t",
        (
            Column("a", "UInt8"),
            Column("b", "UInt8"),
            Column("at", "DateTime", "DEFAULT", "now()"),
            Column("day", "Date", "DEFAULT", "today()"),
            Column("sum", "UInt8", "DEFAULT", "a + b"),
            Column("twice", "UInt8", "MATERIALIZED", "a * 2"),
        ),
    )
    block = native(decoded({"a": pa.array([1], pa.uint8())}, 1), schema, **IDENTITY)
    found = read_by_driver(block.bytes_of(revision=0), 0)
    assert [name for name, _ in found.columns_with_types] == ["a", "at", "day"]
    [(_, at, day)] = found.get_rows()
    assert at.timestamp() == 1_700_000_000 and day == date(2023, 11, 14)


def test_a_missing_value_among_others_is_the_default():
    schema = TableSchema(
        "t",
        (
            Column("a", "UInt8"),
            Column("b", "UInt8", "DEFAULT", "7"),
            Column("c", "Nullable(UInt8)"),
            Column("d", "Array(UInt8)"),
        ),
    )
    columns = {
        "a": pa.array([None, 1], pa.uint8()),
        "b": pa.array([None, 1], pa.uint8()),
        "c": pa.array([None, 1], pa.uint8()),
        "d": pa.array([None, [1]], pa.large_list(pa.uint8())),
    }
    block = native(decoded(columns, 2), schema, **IDENTITY)
    found = read_by_driver(block.bytes_of(revision=0), 0)
    assert found.get_rows() == [(0, 7, None, []), (1, 1, 1, [1])]


def test_rows_that_hold_nothing_are_sent_with_one_column_of_defaults():
    schema = TableSchema("t", (Column("x", "Map(String, JSON)"), Column("a", "String")))
    block = native(decoded({}, 2), schema, **IDENTITY)
    assert (block.names, block.columns, block.rows) == (("a",), (b"\0\0",), 2)
    with pytest.raises(UnsupportedType):
        native(decoded({}, 2), TableSchema("t", schema.columns[:1]), **IDENTITY)


def test_columns_that_cannot_be_loaded_are_left_to_the_server():
    schema = TableSchema("t", (Column("x", "Map(String, JSON)"), Column("a", "UInt8")))
    block = native(decoded({"a": pa.array([1], pa.uint8())}, 1), schema, **IDENTITY)
    assert block.names == ("a",)


def test_more_rows_than_an_insert_holds_are_refused(monkeypatch):
    monkeypatch.setattr(native_block, "ROWS_MAX", 1)
    with pytest.raises(TooManyRows, match="2 rows"):
        native(decoded({}, 2), TableSchema("t", (Column("a", "UInt8"),)), **IDENTITY)


def test_a_block_without_rows_has_its_coordinates():
    schema = TableSchema("t", (Column("_offset", "UInt64"), Column("a", "String")))
    block = native(Decoded(), schema, **IDENTITY)
    assert (block.rows, block.size_bytes) == (0, 0)


def test_decimals_keep_their_digits():
    block = block_of("Decimal(9, 2)", [Decimal("-1.25")])
    assert block.columns == (struct.pack("<i", -125),)


# -- Decoded block: its memory is that of all its columns, masks and reasons.


def test_the_memory_of_decoded_rows_grows_with_each_thing_that_they_hold():
    count = 1000
    offsets = np.arange(count)
    bare = Decoded(offset=offsets, row=offsets, timestamp_ms=offsets)
    assert bare.size_bytes == 3 * offsets.nbytes
    texts = pa.array(["x" * 100] * count)
    rows = Decoded(
        {"text": texts},
        offset=offsets,
        row=offsets,
        timestamp_ms=offsets,
        nulls={"text": np.zeros(count, np.bool_)},
    )
    assert rows.size_bytes >= bare.size_bytes + 101 * count
    dead = Decoded(dead=(DeadRecord(1, "no such table"),))
    assert dead.size_bytes == DEAD_BYTES + len("no such table")


# -- Limits of values in columns.


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
def test_limits_of_a_slice_are_those_in_the_whole_data(kind):
    column = pa.array(["a", "bcd", None, "ef"], kind)
    assert limits_of(column).tolist() == [0, 1, 4, 4, 6]
    assert limits_of(column[1:3]).tolist() == [1, 4, 4]
