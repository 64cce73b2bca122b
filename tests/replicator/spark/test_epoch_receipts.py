"""Receipts of an epoch are reported and kept; a folder that refuses them stops nothing."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyarrow import parquet

from replicator.spark.receipts_folder import EpochReceipts, ReceiptsFolder

SCHEMA = pa.schema([("records", pa.int64()), ("ended_at", pa.timestamp("us", tz="UTC"))])
ROWS = pa.table(
    {
        "records": pa.array([3, 4], pa.int32()),
        "ended_at": pa.array([datetime(2026, 11, 21, tzinfo=UTC)] * 2, pa.timestamp("ns", "CET")),
    }
)


@pytest.fixture
def reported():
    return []


@pytest.fixture
def keeping(tmp_path, reported):
    def report(rows, epoch):
        reported.append((rows["records"].to_pylist(), epoch))

    return EpochReceipts(ReceiptsFolder(tmp_path, "east"), SCHEMA, report)


def test_an_epoch_is_reported_and_kept_under_the_schema(tmp_path, keeping, reported):
    keeping.keep(ROWS, 7)
    assert reported == [([3, 4], 7)]
    [file] = tmp_path.rglob("*.parquet")
    assert file.name == "000000.000000.parquet"
    found = parquet.ParquetFile(file).read()
    assert found.schema == SCHEMA
    assert found["records"].to_pylist() == [3, 4]


def test_an_epoch_without_rows_is_passed_over(tmp_path, keeping, reported):
    keeping.keep(ROWS.slice(0, 0), 7)
    assert not reported
    assert not list(tmp_path.iterdir())


def test_receipts_that_cannot_be_kept_are_only_logged(tmp_path, keeping, reported, caplog):
    tmp_path.chmod(0o777)
    keeping.keep(ROWS, 7)
    assert reported == [([3, 4], 7)]
    assert caplog.messages == ["event=receipts-lost epoch=7 receipts=2"]
