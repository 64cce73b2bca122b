"""Record slices for tests: records encoded by Kafka's rules, opened and split."""

from __future__ import annotations

from collections.abc import Sequence

from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import RecordSlice
from aggregator.tables.table_schema import Column, TableSchema
from replicator.batches.records import opened
from tests.replicator.batches.source_batches import Record, encoded

TIMESTAMP = 1_700_000_000_000


def slice_of(
    values: Sequence[bytes | None],
    *,
    first: int = 0,
    codec: int = 0,
    headers: Sequence[tuple[tuple[str, bytes | None], ...]] = (),
) -> RecordSlice:
    """Returns records with these values at consecutive offsets."""
    records = [
        Record(first + at, TIMESTAMP + at, b"key", value, headers[at] if headers else ())
        for at, value in enumerate(values)
    ]
    return split(opened(encoded(records, codec=codec), [0]))


def table(**types: str) -> TableSchema:
    """Returns a table with these columns."""
    return TableSchema("t", tuple(Column(name, kind) for name, kind in types.items()))
