"""Record columns: every field of a record, with null and empty apart."""

from __future__ import annotations

from hypothesis import given

from aggregator.files.record_columns import SCHEMA, record_table
from tests.aggregator.files.written_files import CUTS, RECORDS, slices
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
