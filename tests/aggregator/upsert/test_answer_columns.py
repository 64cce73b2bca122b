"""Answers as Arrow's batches."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest

from aggregator.upsert.answer_columns import answer_schema, arrow_type, record_batches


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("UInt64", pa.uint64()),
        ("Nullable(Int8)", pa.int8()),
        ("LowCardinality(Nullable(String))", pa.string()),
        ("Array(Nullable(Float64))", pa.list_(pa.float64())),
        ("Date", pa.date32()),
        ("DateTime('Europe/Berlin')", pa.timestamp("s", tz="UTC")),
        ("DateTime64(3)", pa.timestamp("us", tz="UTC")),
        ("Decimal(18, 4)", pa.decimal128(18, 4)),
        ("Decimal64(2)", pa.decimal128(18, 2)),
        ("Decimal(76, 10)", pa.decimal256(76, 10)),
        ("Enum8('a' = 1)", pa.string()),
        ("Tuple(a UInt8, b String)", pa.string()),
        ("Int256", pa.string()),
        ("Nullable(Nothing)", pa.null()),
        ("Bool", pa.bool_()),
    ],
)
def test_types_have_their_counterparts_or_are_texts(kind: str, expected: pa.DataType) -> None:
    assert arrow_type(kind) == expected


def test_rows_come_in_batches_with_their_values() -> None:
    columns = [("n", "UInt8"), ("s", "String"), ("at", "DateTime"), ("on", "Nullable(Date)")]
    columns += [("d", "Decimal(9, 2)"), ("id", "UUID"), ("many", "Array(String)")]
    at, on, id_ = datetime(2026, 11, 29, 3), date(2026, 11, 29), UUID(int=1)
    row = (1, b"\xff", at, None, Decimal("1.25"), id_, ["a", b"\xfe"])
    other = (2, "x", at, on, Decimal("-1"), id_, [])
    batches = list(record_batches(columns, [row, other, row], 2))
    assert [batch.num_rows for batch in batches] == [2, 1]
    assert batches[0].schema == answer_schema(columns)
    assert batches[0].to_pylist()[0] == {
        "n": 1,
        "s": "\\xff",
        "at": at.replace(tzinfo=UTC),
        "on": None,
        "d": Decimal("1.25"),
        "id": str(id_),
        "many": ["a", "\\xfe"],
    }
