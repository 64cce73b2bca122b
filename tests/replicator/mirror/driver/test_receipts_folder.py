"""Claims about the folder of receipts: every epoch is a file, found again by region and day."""

import os
import stat
from dataclasses import replace

import pyarrow.dataset as dataset
import pytest

from replicator.mirror.carrier.receipts import Receipt
from replicator.mirror.driver.receipts_folder import ReceiptsFolder

RECEIPT = Receipt(
    route="west>east",
    topic="orders",
    partition=3,
    carrier=0,
    plan_version=1,
    source_begin=0,
    source_end=10,
    target_begin=0,
    target_end=10,
    records=10,
    bytes=1000,
    batches_unopened=1,
    batches_opened=0,
    state="released",
    reason="",
    began_at=0.0,
    ended_at=86399.0,
)


def test_every_epoch_is_a_file_under_its_region_and_day(tmp_path):
    folder = ReceiptsFolder(tmp_path, "east")
    folder.add([RECEIPT, replace(RECEIPT, partition=4)])
    folder.add([replace(RECEIPT, ended_at=86401.5)])
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.parquet"))
    assert found == [
        "region=east/day=1970-01-01/235959.000000.parquet",
        "region=east/day=1970-01-02/000001.500000.parquet",
    ]


def test_all_receipts_are_read_back_as_one_table(tmp_path):
    folder = ReceiptsFolder(tmp_path, "east")
    folder.add([RECEIPT, replace(RECEIPT, partition=4)])
    folder.add([replace(RECEIPT, ended_at=86401.5, target_begin=None, target_end=None)])
    table = dataset.dataset(tmp_path, partitioning="hive").to_table()
    assert table["records"].to_pylist() == [10, 10, 10]
    assert set(table["region"].to_pylist()) == {"east"}
    assert table["target_begin"].null_count == 1


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
    ReceiptsFolder(tmp_path / "receipts", "east").add([RECEIPT])
    assert modes(tmp_path / "receipts") == {0o700, 0o600}


def test_a_folder_of_receipts_that_others_may_write_to_is_refused(tmp_path):
    (tmp_path / "receipts").mkdir()
    (tmp_path / "receipts").chmod(0o777)
    with pytest.raises(OSError, match="chmod go-w"):
        ReceiptsFolder(tmp_path / "receipts", "east").add([RECEIPT])
