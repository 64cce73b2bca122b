"""Parquet files: row groups of the columns of records."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from aggregator.files.avro_fields import encoded_fields
from aggregator.files.parquet_file import CODECS, ParquetFile
from aggregator.files.record_columns import SCHEMA, record_table
from aggregator.restore.column_records import records_of
from tests.aggregator.files.written_files import CUTS, RECORDS, slices, written
from tests.aggregator.formats.datums import encoded
from tests.replicator.batches.source_batches import Record

# -- Parquet files: what a reader finds is what the records held, and the same records are the
# same bytes.


def parquet(codec):
    table = partial(record_table, topic="t", partition=3)
    return ParquetFile(SCHEMA, table, codec, row_group_bytes=40)


@given(RECORDS, CUTS)
@settings(max_examples=60)
def test_parquet_holds_the_records_in_their_order(records, cuts):
    found = pq.read_table(io.BytesIO(written(parquet("zstd"), slices(records, cuts))))
    assert found.equals(record_table(slices(records), "t", 3))


@pytest.mark.parametrize("codec", CODECS)
@given(records=RECORDS, cuts=CUTS)
@settings(max_examples=30)
def test_the_same_records_are_the_same_parquet_however_they_come_in(codec, records, cuts):
    assert written(parquet(codec), slices(records, cuts)) == written(
        parquet(codec), slices(records)
    )


def test_a_file_without_records_has_the_columns():
    found = pq.read_table(io.BytesIO(written(parquet("zstd"), [])))
    assert (len(found), found.schema.names) == (0, SCHEMA.names)


# -- Record columns: every field of a record, with null and empty apart.


@given(RECORDS, CUTS)
def test_columns_hold_every_field_and_null_is_not_empty(records, cuts):
    table = record_table(slices(records, cuts), "t", 3)
    assert table.schema == SCHEMA
    found = [
        Record(
            row["offset"],
            -1 if row["timestamp"] is None else round(row["timestamp"].timestamp() * 1000),
            row["key"],
            row["value"],
            tuple((each["name"], each["value"]) for each in row["headers"]),
        )
        for row in table.to_pylist()
    ]
    assert found == records
    assert set(table["topic"].to_pylist()) == {"t"}
    assert set(table["partition"].to_pylist()) == {3}


def test_only_minus_one_is_no_timestamp():
    times = [-1, -5, 0, 2**63 - 1]
    [whole] = slices([Record(at, 0, None, b"x") for at in range(len(times))])
    records = replace(whole, timestamp_ms=np.array(times))
    found = record_table([records], "t", 3)["timestamp"].cast(pa.int64())
    assert found.to_pylist() == [None, *times[1:]]
    assert records_of(record_table([records], "t", 3)).timestamp.tolist() == times
    [column] = encoded_fields(records, ("timestamp",), "t", 3)
    assert column.to_pylist() == [
        encoded(["null", "long"], None if time == -1 else time) for time in times
    ]
