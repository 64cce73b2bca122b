"""Answers as Arrow's batches."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from aggregator.upsert.answer_columns import (
    answer_schema,
    arrow_type,
    json_value,
    record_batches,
    with_zone,
)


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
    at, on, id_ = datetime(2026, 11, 29, 3, tzinfo=UTC), date(2026, 11, 29), UUID(int=1)
    row = (1, b"\xff", at, None, Decimal("1.25"), id_, ["a", b"\xfe"])
    other = (2, "x", at, on, Decimal("-1"), id_, [])
    batches = list(record_batches(columns, [row, other, row], 2))
    assert [batch.num_rows for batch in batches] == [2, 1]
    assert batches[0].schema == answer_schema(columns)
    assert batches[0].to_pylist()[0] == {
        "n": 1,
        "s": "\\xff",
        "at": at,
        "on": None,
        "d": Decimal("1.25"),
        "id": str(id_),
        "many": ["a", "\\xfe"],
    }


def test_a_value_that_arrow_has_no_type_for_is_a_text_of_json() -> None:
    [batch] = record_batches([("t", "Tuple(UInt8, String)")], [((1, b"\xff"),), (None,)], 2)
    assert batch.to_pylist() == [{"t": '[1, "\\\\xff"]'}, {"t": None}]


def test_json_has_each_value_with_all_its_digits_and_stays_json() -> None:
    values = [(1 << 64) - 1, -(1 << 63), float("nan"), float("-inf"), 0.1, True, None]
    assert json.loads(json.dumps(json_value(values), allow_nan=False)) == [
        18446744073709551615,
        -9223372036854775808,
        "nan",
        "-inf",
        0.1,
        True,
        None,
    ]
    others = (b"a\xff\0", Decimal("1.50"), UUID(int=1), date(2026, 11, 29), {1: (b"", "ü")})
    assert json_value(others) == [
        "a\\xff\0",
        "1.50",
        "00000000-0000-0000-0000-000000000001",
        "2026-11-29",
        {"1": ["", "ü"]},
    ]


def test_times_of_the_hour_that_comes_twice_are_told_apart() -> None:
    before, after = datetime(2018, 10, 28), datetime(2018, 10, 28, 1)
    berlin = ZoneInfo("Europe/Berlin")
    assert json_value(with_zone([before, (after, {1: after}), 7], berlin)) == [
        "2018-10-28 02:00:00+02:00",
        ["2018-10-28 02:00:00+01:00", {"1": "2018-10-28 02:00:00+01:00"}],
        7,
    ]
    own = datetime(2018, 10, 28, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert with_zone(own, berlin) is own
