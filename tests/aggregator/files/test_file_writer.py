"""File writers: records that a file refuses are found one by one, and nothing of them is kept."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aggregator.files.avro_file import AvroFile
from aggregator.files.compression import STREAMS
from aggregator.files.file_writer import unwritable
from aggregator.files.line_file import LineFile, json_lines
from aggregator.files.parquet_file import ParquetFile
from aggregator.files.record_columns import record_table, schema_of
from aggregator.files.typed_parquet import TypedParquet
from aggregator.formats.record_fields import split
from replicator.batches.records import Records
from tests.aggregator.files.schema_records import KNOWN, admitted, file_of, value
from tests.aggregator.formats.header_samples import encoded_by_hand
from tests.aggregator.formats.slices import slice_of

BAD = (2, 5)


def with_broken_headers(count=8):
    """Returns records, of which those of BAD have headers that end behind them."""
    sound = b"\x01\x02v" + encoded_by_hand(((b"name", b"value"),))
    tails = [b"\x01\x02v\x02\x08name\x7e" if at in BAD else sound for at in range(count)]
    ends = np.cumsum([len(tail) for tail in tails])
    begins = ends - [len(tail) for tail in tails]
    zeros = np.zeros(count, np.int64)
    return split(Records(b"".join(tails), np.arange(count), zeros, begins, ends, 0))


def plain_parquet():
    def table(chunk):
        return record_table(chunk, "t", 0, ("headers", "value"))

    return ParquetFile(schema_of(("headers", "value")), table, "zstd")


def test_records_that_a_file_refuses_are_found_and_the_others_are_written():
    records, writer = with_broken_headers(), plain_parquet()
    found = unwritable(writer, records)
    assert [*found] == [*BAD]
    assert all("cannot be written: BrokenVarints: " in each for each in found.values())
    left = records.at(np.setdiff1d(np.arange(len(records)), BAD))
    data = writer.write([left]) + writer.finish()
    assert pq.read_table(io.BytesIO(data)).num_rows == len(left)


class Decoder:
    """Decoder that leaves a required field null."""

    schema, fields = "1", pa.schema([pa.field("r", pa.struct([pa.field("id", pa.int32(), False)]))])

    def __call__(self, records):
        rows = [{"id": None if at in BAD else at} for at in records.offset.tolist()]
        return pa.Table.from_arrays([pa.array(rows, self.fields[0].type)], schema=self.fields), {}


def test_typed_columns_that_a_file_refuses_are_found():
    writer = TypedParquet(Decoder(), "t", 0, columns=["offset"], codec="none")
    records = admitted(writer, slice_of([b"v"] * 8)).records
    found = unwritable(writer, records)
    assert [*found] == [*BAD]
    assert all("non-nullable" in each for each in found.values())


class Panic(BaseException):
    """Panic as native libraries raise it, which is no Exception."""


def test_a_record_at_which_a_native_library_panics_is_found():
    class Panicking(LineFile):
        def scratch(self):
            return Panicking(json_lines, STREAMS["none"]())

        def write(self, slices):
            if any(set(BAD) & {*each.offset.tolist()} for each in slices):
                raise Panic("index out of bounds")
            return super().write(slices)

    found = unwritable(Panicking(json_lines, STREAMS["gzip"]()), slice_of([b"{}"] * 8))
    assert found == dict.fromkeys(BAD, "cannot be written: Panic: index out of bounds")


WRITERS = {
    "avro": lambda: AvroFile(KNOWN, "t", 0, columns=["key"], codec="deflate", key="k"),
    "lines": lambda: LineFile(json_lines, STREAMS["gzip"]()),
    "parquet": plain_parquet,
}


@pytest.mark.parametrize("make", WRITERS.values(), ids=WRITERS)
def test_a_trial_leaves_the_file_as_it_is(make):
    values = [value(each, 1) for each in range(20)]
    wanted, writer = file_of(make(), slice_of(values)), make()
    records = admitted(writer, slice_of(values)).records
    assert unwritable(writer, records) == {}
    data = writer.write([records])
    assert unwritable(writer, records) == {}
    assert data + writer.finish() == wanted
