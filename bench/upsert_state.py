"""State of a key coordinator on disk: the snapshots that RocksDB and Spark leave in a checkpoint.

A snapshot is a list of files, each of them kept for as long as a snapshot lists it. Until RocksDB
merges them, files hold values that others have replaced: the more so, the smaller a state is.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOOK_SECONDS, SNAPSHOT_SECONDS = 0.5, 120.0
METADATA = "metadata"
FILTER_BITS = 10.0
"""Bits of a key, in the filters that Spark has RocksDB write."""


@dataclass(frozen=True, slots=True)
class Part:
    """Snapshot of a part of a state.

    Args:
        folder: of the part.
        version: number of the snapshot.
        files: name in RocksDB, name in the folder, and bytes of each file.
    """

    folder: Path
    version: int
    files: tuple[tuple[str, str, int], ...]

    @property
    def archive(self) -> Path:
        """File with what else RocksDB needs."""
        return self.folder / f"{self.version}.zip"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Snapshot of all parts of a state."""

    parts: Sequence[Part]

    @property
    def size_bytes(self) -> int:
        return sum(size for each in self.parts for _, _, size in each.files)

    def merged_bytes(self, jvm: Any, folder: Path) -> int:
        """Returns the size once all levels are merged into one, in a copy.

        Args:
            jvm: of Spark, through py4j.
            folder: of the copy, on the disk of the checkpoint.
        """
        rocksdb = jvm.org.rocksdb
        rocksdb.RocksDB.loadLibrary()
        table = rocksdb.BlockBasedTableConfig()
        table.setFilterPolicy(rocksdb.BloomFilter(FILTER_BITS, False))
        options = rocksdb.Options()
        options.setCompressionType(rocksdb.CompressionType.LZ4_COMPRESSION)
        options.setTableFormatConfig(table)
        merged = 0
        for part in self.parts:
            shutil.rmtree(folder, ignore_errors=True)
            with zipfile.ZipFile(part.archive) as archive:
                archive.extractall(folder)
            (folder / METADATA).unlink()
            for name, stored, _ in part.files:
                os.link(part.folder / "SSTs" / stored, folder / name)
            database = rocksdb.RocksDB.open(options, str(folder))
            database.compactRange()
            merged += database.getLongProperty("rocksdb.total-sst-files-size")
            database.close()
        shutil.rmtree(folder)
        return merged


def snapshot_since(state: Path, parts: int, version: int) -> Snapshot:
    """Waits for a snapshot of each part of a state, and returns the newest ones.

    Args:
        state: folder of the parts.
        version: oldest one that will do.

    Raises TimeoutError.
    """
    until = time.monotonic() + SNAPSHOT_SECONDS
    while True:
        found = [newest(state / str(number)) for number in range(parts)]
        if found and all(each is not None and each.version >= version for each in found):
            return Snapshot([each for each in found if each is not None])
        if time.monotonic() > until:
            raise TimeoutError(f"{state}: no snapshots of version {version}")
        time.sleep(LOOK_SECONDS)


def newest(folder: Path) -> Part | None:
    """Returns the newest snapshot in the folder of a part; None if there is none."""
    version = max((int(each.stem) for each in folder.glob("*.zip")), default=0)
    if not version:
        return None
    with zipfile.ZipFile(folder / f"{version}.zip") as archive:
        # A line with the form of what follows comes first.
        listed = json.loads(archive.read(METADATA).split(b"\n", 1)[1])["sstFiles"]
    files = [(each["localFileName"], each["dfsSstFileName"], each["sizeBytes"]) for each in listed]
    return Part(folder, version, tuple(files))
