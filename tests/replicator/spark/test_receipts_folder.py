"""Receipts of epochs are reported and kept, one file each, by region and day."""

import os
import stat
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.dataset as dataset
import pytest
from pyarrow import parquet

from replicator.spark.receipts_folder import EpochReceipts, ReceiptsFolder

# -- Folder of receipts: every epoch is a file, found again by region and day.

SCHEMA = pa.schema(
    [("part", pa.int32()), ("target_end", pa.int64()), ("ended_at", pa.timestamp("us", tz="UTC"))]
)


def receipts(*ended_at: float, target_end: int | None = 10) -> pa.Table:
    """Returns a receipt for each of these ends, in unix seconds."""
    rows = [
        {"part": part, "target_end": target_end, "ended_at": datetime.fromtimestamp(end, UTC)}
        for part, end in enumerate(ended_at)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def test_every_epoch_is_a_file_under_its_region_and_day(tmp_path):
    folder = ReceiptsFolder(tmp_path, "east")
    folder.add(receipts(86399.0, 86398.0))
    folder.add(receipts(86401.5))
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.parquet"))
    assert found == [
        "region=east/day=1970-01-01/235959.000000.parquet",
        "region=east/day=1970-01-02/000001.500000.parquet",
    ]


def test_all_receipts_are_read_back_as_one_table(tmp_path):
    folder = ReceiptsFolder(tmp_path, "east")
    folder.add(receipts(86399.0, 86398.0))
    folder.add(receipts(86401.5, target_end=None))
    table = dataset.dataset(tmp_path, partitioning="hive").to_table()
    assert table["part"].to_pylist() == [0, 1, 0]
    assert set(table["region"].to_pylist()) == {"east"}
    assert table["target_end"].null_count == 1


def modes(folder):
    """Returns the modes of the folder and of everything below it."""
    return {stat.S_IMODE(each.stat().st_mode) for each in (folder, *folder.rglob("*"))}


@pytest.fixture
def open_umask():
    """Sets the umask of a shell that lets everybody write."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_receipts_are_for_their_owner_alone_whatever_the_umask(tmp_path):
    ReceiptsFolder(tmp_path / "receipts", "east").add(receipts(0.0))
    assert modes(tmp_path / "receipts") == {0o700, 0o600}


def test_a_folder_of_receipts_that_others_may_write_to_is_refused(tmp_path):
    (tmp_path / "receipts").mkdir()
    (tmp_path / "receipts").chmod(0o777)
    with pytest.raises(OSError, match="chmod go-w"):
        ReceiptsFolder(tmp_path / "receipts", "east").add(receipts(0.0))


# -- Receipts of an epoch are reported and kept; a folder that refuses them stops nothing.

EPOCH_SCHEMA = pa.schema([("records", pa.int64()), ("ended_at", pa.timestamp("us", tz="UTC"))])
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

    return EpochReceipts(ReceiptsFolder(tmp_path, "east"), EPOCH_SCHEMA, report)


def test_an_epoch_is_reported_and_kept_under_the_schema(tmp_path, keeping, reported):
    keeping.keep(ROWS, 7)
    assert reported == [([3, 4], 7)]
    [file] = tmp_path.rglob("*.parquet")
    assert file.name == "000000.000000.parquet"
    found = parquet.ParquetFile(file).read()
    assert found.schema == EPOCH_SCHEMA
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
