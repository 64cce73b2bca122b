"""Record columns: every field of a record, with null and empty apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import given

from aggregator.files.avro_fields import encoded_fields
from aggregator.files.record_columns import SCHEMA, record_table
from aggregator.restore.column_records import records_of
from tests.aggregator.files.written_files import CUTS, RECORDS, slices
from tests.aggregator.formats.datums import encoded
from tests.replicator.batches.source_batches import Record


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
