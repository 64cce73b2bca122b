"""Parquet files: what a reader finds is what the records held, and the same records are the same
bytes."""

from __future__ import annotations

import io
from functools import partial

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from aggregator.files.parquet_file import CODECS, ParquetFile
from aggregator.files.record_columns import SCHEMA, record_table
from tests.aggregator.files.written_files import CUTS, RECORDS, slices, written


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
