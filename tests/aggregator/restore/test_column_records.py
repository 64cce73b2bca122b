"""Column records: what Parquet keeps becomes the bytes of the source's records again."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.files.parquet_file import ParquetFile
from aggregator.files.record_columns import SCHEMA, record_table
from aggregator.formats.record_fields import split
from aggregator.objects.record_digest import RecordDigest
from aggregator.restore.column_records import lacking, records_of, within
from aggregator.restore.restore_range import RestoreRange
from replicator.batches.records import rebatch
from tests.aggregator.files.written_files import CUTS, RECORDS, slices, written
from tests.replicator.batches.source_batches import decoded

LIMITS = st.none() | st.integers(-1, 2_000_000_000_001)


def digest(parts) -> str:
    found = RecordDigest()
    found.add(parts)
    return found.text


@given(RECORDS, CUTS, st.integers(1, 200))
def test_records_of_a_file_are_the_bytes_of_the_source(records, cuts, group_bytes):
    parts = slices(records, cuts)
    writer = ParquetFile(SCHEMA, lambda some: record_table(some, "t", 3), "zstd", group_bytes)
    file = pq.ParquetFile(io.BytesIO(written(writer, parts)))
    assert lacking(file.schema_arrow) is None
    found = [records_of(file.read_row_group(number)) for number in range(file.num_row_groups)]
    assert digest([split(each) for each in found]) == digest(parts)


@given(RECORDS, CUTS)
def test_batches_of_columns_are_read_by_other_clients(records, cuts):
    table = record_table(slices(records, cuts), "t", 3)
    # A slice of columns has its own begin in their buffers.
    whole = pa.concat_tables([table, table]).combine_chunks().slice(len(records))
    batches, refused = rebatch(records_of(whole), max_bytes=1 << 20, codec=3)
    assert refused is None
    for batch in batches:
        batch.stamp(producer_id=5, producer_epoch=0, base_sequence=0)
    found = [each for batch in batches for each in decoded(batch.data)]
    assert [each.key for each in found] == [each.key for each in records]
    assert [each.value for each in found] == [each.value for each in records]
    assert [each.headers for each in found] == [each.headers for each in records]
    assert [each.timestamp for each in found] == [each.timestamp for each in records]


@given(RECORDS, st.integers(0, 30), st.integers(0, 30), LIMITS, LIMITS)
def test_only_records_of_the_range_are_kept(records, begin, end, since, until):
    wanted = RestoreRange(since_ms=since, until_ms=until)
    found = within(record_table(slices(records), "t", 3), begin, end, wanted)
    kept = [
        each.offset
        for each in records
        if begin <= each.offset < end
        and (not wanted.has_times or each.timestamp >= 0)
        and (since is None or each.timestamp >= since)
        and (until is None or each.timestamp < until)
    ]
    assert found["offset"].to_pylist() == kept
    assert np.array_equal(records_of(found).offset, kept)


@pytest.mark.parametrize("name", ["key", "value", "headers", "timestamp", "offset"])
def test_a_file_that_lacks_a_column_or_has_another_one_is_found(name):
    at = SCHEMA.get_field_index(name)
    assert lacking(SCHEMA.remove(at)) == name
    assert lacking(SCHEMA.set(at, pa.field(name, pa.float64()))) == name
