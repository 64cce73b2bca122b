"""Times of records by which the rows of upsert tables are kept."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from aggregator.tables.decoded import Decoded
from aggregator.verifier.lane_records import NO_TIME_S, times_of
from replicator.config.upsert_table import UpsertTable


def table(kind: str) -> UpsertTable:
    return UpsertTable(
        name="t", semantic="upsert", columns={"at": kind}, primary_key=(), newest_column="at"
    )


def decoded(values: pa.Array) -> Decoded:
    number = np.arange(len(values))
    return Decoded({"at": values}, number, number, number * 1000 + 7999)


@pytest.mark.parametrize(
    ("kind", "values", "times_s"),
    [
        ("DateTime", pa.array([5, None], pa.uint32()), [5, NO_TIME_S]),
        ("DateTime64(3)", pa.array([5999, -1], pa.int64()), [5, -1]),
        ("Date", pa.array([2, None], pa.uint16()), [2 * 86_400, NO_TIME_S]),
        ("UInt64", pa.array([2**64 - 1, None], pa.uint64()), [7, 8]),
    ],
)
def test_the_time_of_a_record_is_that_of_the_newest_column_or_its_timestamp(kind, values, times_s):
    assert times_of(decoded(values), table(kind)).tolist() == times_s
