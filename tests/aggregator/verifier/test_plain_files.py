"""Stored files are read row by row, with every digit."""

import gzip
import io
from decimal import Decimal

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aggregator.verifier.plain_files import (
    BATCH_ROWS,
    container_rows,
    parquet_rows,
    plain_stream,
    plain_values,
)

NANOS = 1_577_836_800_123_456_789


@pytest.mark.parametrize(
    ("kind", "values", "plain"),
    [
        (pa.timestamp("ns", "UTC"), [NANOS, None, -1], [NANOS, None, -1]),
        (pa.timestamp("ms"), [5], [5_000_000]),
        (pa.date32(), [-1, None], [-1, None]),
        (pa.decimal128(38, 4), [Decimal("12345678901234567.1234")],
         [Decimal("12345678901234567.1234")]),
        (pa.list_(pa.int32()), [[1, None], None, []], [[1, None], None, []]),
        (pa.map_(pa.string(), pa.int32()), [[("a", 1), ("b", None)], None],
         [[("a", 1), ("b", None)], None]),
        (pa.struct([("a", pa.int32()), ("b", pa.list_(pa.timestamp("us")))]),
         [{"a": 1, "b": [2]}, None, {"a": None, "b": None}],
         [{"a": 1, "b": [2000]}, None, {"a": None, "b": None}]),
    ],
)  # fmt: skip
def test_columns_are_plain_values_also_behind_the_beginning_of_an_array(kind, values, plain):
    column = pa.array(values, kind)
    assert plain_values(column) == plain
    assert plain_values(column.slice(1)) == plain[1:]


def test_parquet_is_read_in_batches():
    out, count = io.BytesIO(), BATCH_ROWS + 5
    lists = [[at, at + 1] for at in range(count)]
    pq.write_table(pa.table({"a": range(count), "b": lists}), out)
    found = [*parquet_rows(out.getvalue())]
    assert found == [{"a": at, "b": each} for at, each in enumerate(lists)]


def test_datums_of_a_container_are_raw():
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]}
    out = io.BytesIO()
    fastavro.writer(out, schema, [{"a": Decimal("-0.01")}] * 3, codec="deflate")
    embedded, datums = container_rows(out.getvalue())
    assert embedded["name"] == "r"
    assert [*datums] == [{"a": b"\xff"}] * 3


@pytest.mark.parametrize(
    ("extension", "codec"), [("json.zst", "zstd"), ("bin.lz4", "lz4"), ("json.gz", None)]
)
def test_lines_are_those_of_the_compressed_file(extension, codec):
    text = b"one\ntwo\n\nfour\n"
    if codec is None:
        data = gzip.compress(text)
    else:
        out = pa.BufferOutputStream()
        with pa.CompressedOutputStream(out, codec) as stream:
            stream.write(text)
        data = out.getvalue().to_pybytes()
    assert [*plain_stream(data, extension)] == text.splitlines(keepends=True)
    assert [*plain_stream(text, "json")] == text.splitlines(keepends=True)
