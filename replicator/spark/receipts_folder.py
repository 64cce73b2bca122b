"""Receipts of epochs: logged, and kept as Parquet files, one per epoch, in one folder per day."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from replicator.runtime.private_files import private_file, private_folder

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReceiptsFolder:
    """A Hive-style folder: <path>/region=east/day=2026-11-21/....parquet"""

    path: Path
    region: str

    def add(self, receipts: pa.Table) -> Path:
        """Writes the receipts of one epoch to a file that is named after the end of the epoch.

        A reader never sees half a file: Spark and pandas skip names that begin with a dot. Raises
        OSError.

        Args:
            receipts: one row at least, with the time `ended_at`.
        """
        last: datetime = pc.max(receipts["ended_at"]).as_py()
        ended = last.astimezone(UTC)
        region = private_folder(self.path) / f"region={self.region}"
        day = private_folder(region) / f"day={ended:%Y-%m-%d}"
        private_folder(day)
        file = day / f"{ended:%H%M%S.%f}.parquet"
        unfinished = private_file(day / f".{file.name}")
        parquet.write_table(receipts, unfinished)
        return unfinished.replace(file)


class EpochReceipts:
    """Receipts of the epochs of one region.

    Args:
        schema: columns of the files; a time `ended_at` is among them.
        report: logs the receipts of an epoch.
    """

    def __init__(
        self, folder: ReceiptsFolder, schema: pa.Schema, report: Callable[[pa.Table, int], None]
    ):
        self._folder = folder
        self._schema = schema
        self._report = report

    def keep(self, rows: pa.Table, epoch: int) -> None:
        """Reports and keeps the receipts of an epoch. Receipts are for people: a full disk must
        not stop the tasks, so a failure is only logged."""
        if not rows.num_rows:
            return
        self._report(rows, epoch)
        try:
            self._folder.add(rows.cast(self._schema))
        except Exception:
            log.exception("event=receipts-lost epoch=%d receipts=%d", epoch, rows.num_rows)
