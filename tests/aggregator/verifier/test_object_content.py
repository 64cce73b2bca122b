"""Files are compared by what a reader finds in them, whatever bytes a library makes of it."""

import gzip
import io
import math
import zlib

import cramjam
import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aggregator.verifier.object_content import UnreadableFile, is_same, rows_of


def parquet(offsets, codec="zstd", **columns):
    out = io.BytesIO()
    pq.write_table(pa.table({"offset": offsets, **columns}), out, compression=codec)
    return out.getvalue()


def test_parquet_is_compared_by_its_columns():
    assert is_same(parquet([1, 2]), parquet([1, 2], "gzip"), "zstd.parquet")
    assert not is_same(parquet([1, 2]), parquet([1, 3]), "zstd.parquet")
    assert not is_same(parquet([1], value=[b"a"]), parquet([1], value=[b"b"]), "parquet")


@pytest.mark.parametrize(
    ("extension", "compress"),
    [
        ("json.gz", gzip.compress),
        ("json.zst", lambda data: bytes(cramjam.zstd.compress(data))),
        ("json.lz4", lambda data: bytes(cramjam.lz4.compress(data))),
        ("bin", bytes),
    ],
)
def test_lines_are_compared_as_they_are_read(extension, compress):
    assert is_same(compress(b"{}\n"), compress(b"{}\n"), extension)
    assert not is_same(compress(b"{}\n"), compress(b"[]\n"), extension)
    assert rows_of(compress(b"{}\n"), extension) is None


def test_other_levels_of_a_codec_have_the_same_content():
    data = b"line\n" * 1000
    streams = [zlib.compressobj(level, wbits=31) for level in (1, 9)]
    one, other = (each.compress(data) + each.flush() for each in streams)
    assert one != other and is_same(one, other, "json.gz")


def test_offsets_are_those_of_the_column():
    found = rows_of(parquet([3, 5, 5]), "parquet")
    assert found is not None and found.offset.tolist() == [3, 5, 5]
    out = io.BytesIO()
    pq.write_table(pa.table({"value": [1]}), out)
    assert rows_of(out.getvalue(), "parquet") is None


SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "offset", "type": "long"}]}


def container(offsets, codec="null", sync_interval=16000, schema=SCHEMA):
    out = io.BytesIO()
    rows = [{"offset": each} for each in offsets]
    fastavro.writer(out, schema, rows, codec, sync_interval)
    return out.getvalue()


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_containers_are_compared_by_their_datums(codec):
    one = container(range(100), codec)
    # Other blocks and marks.
    assert is_same(one, container(range(100), "deflate", 20), "avro")
    assert not is_same(one, container([*range(99), 7], codec), "avro")
    assert not is_same(one, container(range(99), codec), "avro")
    assert not is_same(one, container(range(100), schema={**SCHEMA, "name": "Other"}), "avro")
    found = rows_of(one, "avro")
    assert found is not None and found.offset.tolist() == [*range(100)]


def test_columns_with_values_that_equal_nothing_are_the_same_once_their_bits_are():
    one, other = (
        parquet([1], codec, x=[math.nan], y=[[{"z": math.nan}]]) for codec in ("zstd", "gzip")
    )
    assert is_same(one, other, "parquet")
    assert not is_same(one, parquet([1], x=[math.nan], y=[[{"z": 1.0}]]), "parquet")


@pytest.mark.parametrize("extension", ["parquet", "avro", "json.gz", "json.zst", "json.lz4"])
def test_what_is_no_file_of_its_format_is_named(extension):
    with pytest.raises(UnreadableFile, match="no "):
        is_same(b"no file", b"nor this", extension)
