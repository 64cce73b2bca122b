"""Rebuilt objects: records of a range, and the content of files."""

from __future__ import annotations

import gzip
import io
import math
import zlib
from types import SimpleNamespace
from typing import Any, cast

import cramjam
import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.files.admission import Admission
from aggregator.objects.told_object import ToldObject
from aggregator.verifier.object_content import UnreadableFile, file_of, is_same, rows_of
from aggregator.verifier.rebuilt_object import RebuiltObject, RebuiltObjects
from aggregator.verifier.topic_records import TopicRecords
from replicator.config.object_feed import CODECS
from replicator.kafka.client.cluster import Cluster
from tests.aggregator.formats.slices import slice_of
from tests.aggregator.loader.test_object_layout import layout, schema_layout
from tests.replicator.batches.source_batches import encoded, one_record

# -- Objects that are formed again take the records of their ranges, and no others.


class Joined:
    """Writer of a file that has the values, one behind the other."""

    size_bytes = 0
    schema = ""

    def write(self, slices):
        return b"".join(each.value_at(at) or b"" for each in slices for at in range(len(each)))

    def finish(self):
        return b"."


def told(begin, end, **more):
    fields = dict.fromkeys(
        ["partition", "records", "left_out", "size_bytes", "crc32c", "first_ms", "last_ms",
         "sealed_at_ms", "told_at_ms"], 0,
    )  # fmt: skip
    texts = dict.fromkeys(["key", "cluster", "topic", "schema", "digest"], "")
    return ToldObject(**{**fields, **texts, "begin": begin, "end": end, **more})


ALL = Admission()


def rebuilt(begin, end, admission=ALL, **more):
    return RebuiltObject(told(begin, end, **more), "", admission, Joined())


def all_of(*objects):
    found = RebuiltObjects()
    for each in sorted(objects, key=lambda each: each.told.begin):
        found.add(each)
    return found


limits = st.lists(st.integers(0, 60), min_size=2, max_size=10, unique=True).map(sorted)


@given(limits, st.sets(st.integers(0, 60), min_size=1))
def test_each_record_is_in_the_object_of_its_range_or_uncovered(limits, offsets):
    ends = list(zip(limits[::2], limits[1::2], strict=False))
    objects = all_of(*(rebuilt(*each) for each in ends))
    part = slice_of([b"v"] * 61).at(np.array(sorted(offsets)))
    for each, some in objects.within(part):
        each.add(some)
    for each in objects.rebuilt:
        within = [at for at in sorted(offsets) if each.told.begin <= at < each.told.end]
        assert each.finish().offset.tolist() == within
    covered = {at for begin, end in ends for at in range(begin, end)}
    found = objects.uncovered(np.array(sorted(offsets)))
    assert found.tolist() == sorted(offsets - covered)
    assert not list(objects.overlaps())


def test_objects_with_offsets_in_common_are_named():
    objects = all_of(rebuilt(5, 9), rebuilt(0, 6), rebuilt(9, 12))
    ((before, after),) = objects.overlaps()
    assert (before.begin, after.begin) == (0, 5)


def test_the_manifest_has_to_name_the_records_and_those_that_are_left_out():
    records = slice_of([b"a", None, b"c"])
    first = rebuilt(0, 3, Admission(omits_tombstones=True))
    first.add(records)
    again = rebuilt(
        0, 3, Admission(omits_tombstones=True), records=3, left_out=1, digest=first.digest.text
    )
    again.add(records)
    assert again.is_as_told and not first.is_as_told
    assert again.finish().offset.tolist() == [0, 2]
    assert again.size_bytes == len(b"ac.")


class Refusing(Joined):
    """Writer that refuses a value."""

    def write(self, slices):
        written = super().write(slices)
        if b"x" in written:
            raise ValueError("no x")
        return written

    def scratch(self):
        return Refusing()


def test_records_that_the_writer_refuses_have_to_be_dead_letters():
    part = slice_of([b"a", b"x", b"b", b"x"])
    failed, careful = (
        RebuiltObject(told(0, 4), "", ALL, Refusing(), is_careful=it) for it in (False, True)
    )
    failed.add(part)
    failed.finish()
    assert failed.error == "ValueError: no x"
    careful.add(part)
    assert careful.finish().offset.tolist() == [0, 2]
    assert (careful.error, careful.dead, careful.left_out) == ("", [1, 3], 2)
    assert sorted(careful.letters) == [1, 3]


# -- Records of a range are those within it, whatever a broker answers.


class Thinned:
    """Cluster whose log has lost the records below 60 by compaction."""

    name, trouble = "east aggregate", ""

    async def fetch(self, *_: Any, **__: Any) -> SimpleNamespace:
        batch = bytes(encoded([one_record(60, b"x"), one_record(61, b"y")]))
        return SimpleNamespace(records=memoryview(batch), aborted=(), stable_offset=62)


async def offsets(begin: int, end: int) -> list[list[int]]:
    records = TopicRecords(cast("Cluster", Thinned()), 5.0)
    return [part.offset.tolist() async for part in records.slices("flights", 0, begin, end)]


async def test_a_range_all_of_whose_records_are_gone_has_none():
    assert await offsets(40, 50) == []


async def test_records_behind_the_end_are_left_out():
    assert await offsets(40, 61) == [[60]]


# -- Files are compared by what a reader finds in them, whatever bytes a library makes of it.


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


@pytest.mark.parametrize(("file", "codec"), [(f, c) for f in CODECS for c in CODECS[f]])
def test_the_kind_of_each_file_that_a_feed_makes_is_known_by_its_extension(file, codec):
    make = schema_layout if file == "avro" else layout
    extension = make(file=file, codec=codec).extension
    assert file_of(extension) == file
    if codec != "none":
        with pytest.raises(UnreadableFile, match=r"no (file of|Parquet|Avro)"):
            is_same(b"no file", b"nor this", extension)


@pytest.mark.parametrize("extension", ["orc", "json.br", "bin.gz.gz", ""])
def test_a_file_of_no_known_kind_is_not_compared_as_plain_bytes(extension):
    with pytest.raises(UnreadableFile, match=r"no (kind of file|codec) has"):
        is_same(b"one", b"other", extension)


@pytest.mark.parametrize("extension", ["parquet", "avro", "json.gz", "json.zst", "json.lz4"])
def test_what_is_no_file_of_its_format_is_named(extension):
    with pytest.raises(UnreadableFile, match="no "):
        is_same(b"no file", b"nor this", extension)
