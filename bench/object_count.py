"""Count of the records in a bucket, for a reader who lists it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import fastavro
import pyarrow.parquet as pq

from bench.flights import DOCUMENT_BYTES
from bench.measure import SILENCE_SECONDS_MAX, START_SECONDS_MAX, NothingArrives
from bench.object_ground import Bucket
from bench.object_system import File, ObjectOrder
from deploy.lab.process import Process

LINE_BYTES = DOCUMENT_BYTES + 1


def lines(file: Path) -> int:
    """Returns the number of lines, each of which has a document of the same size."""
    return file.stat().st_size // LINE_BYTES


def parquet_rows(file: Path) -> int:
    rows: int = pq.read_metadata(file).num_rows
    return rows


def avro_records(file: Path) -> int:
    with file.open("rb") as opened:
        return sum(block.num_records for block in fastavro.block_reader(opened))


COUNTS: dict[File, Callable[[Path], int]] = {
    "lines": lines,
    "json_lines": lines,
    "parquet": parquet_rows,
    "avro": avro_records,
}


class BucketCount:
    """Records of the objects that were visible at the last look. Objects do not change."""

    def __init__(self, bucket: Bucket, order: ObjectOrder) -> None:
        self._bucket, self._count = bucket, COUNTS[order.file]
        # Objects end by their age at the latest: also the first ones, and the last ones.
        self._start_seconds_max = order.close_seconds + START_SECONDS_MAX
        self._silence_seconds_max = order.close_seconds + SILENCE_SECONDS_MAX
        self.by_key: dict[str, int] = {}
        self.records = 0
        self._moved_at = time.monotonic()

    def look(self) -> dict[str, Path]:
        """Looks at the bucket; returns the objects that are new."""
        new = {key: path for key, path in self._bucket.objects().items() if key not in self.by_key}
        for key, path in new.items():
            self.by_key[key] = self._count(path)
            self.records += self.by_key[key]
        if new:
            self._moved_at = time.monotonic()
        return new

    def watch(self, process: Process) -> dict[str, Path]:
        """Looks at the bucket. Raises NothingArrives if the process has ended, or nothing comes for
        too long."""
        if not process.is_running():
            raise NothingArrives(str(process.failure("has ended")))
        new = self.look()
        patience = self._silence_seconds_max if self.records else self._start_seconds_max
        if time.monotonic() - self._moved_at > patience:
            text = f"has written nothing for {patience:.0f} s, after {self.records:,} records"
            raise NothingArrives(str(process.failure(text)))
        return new
