"""Objects in memory for tests of restores, written as loaders write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from crc32c import crc32c

from aggregator.files.parquet_file import ParquetFile
from aggregator.files.record_columns import SCHEMA, record_table
from aggregator.formats.record_fields import split
from aggregator.objects.record_digest import RecordDigest
from aggregator.objects.told_object import ToldObject
from aggregator.s3.object_store import Found, Listed, ObjectStore, StoreAddress
from replicator.batches.records import opened
from tests.aggregator.files.written_files import written
from tests.aggregator.restore.told import told
from tests.replicator.batches.source_batches import Record, encoded

GROUP_BYTES = 40
"""Bytes of records in a row group."""


class KeptObjects(ObjectStore):
    """Store of one process; `problems` are raised by the next reads, in turn."""

    def __init__(self) -> None:
        super().__init__(StoreAddress(bucket="none", extra={}))
        self.data: dict[str, bytes] = {}
        self.problems: list[Exception] = []
        self.reads: list[str] = []
        self.ranges: list[tuple[str, int, int]] = []
        self.keeps_checksums = True
        self.vanishing: set[str] = set()

    def head(self, key: str) -> Found | None:
        if key not in self.data or key in self.vanishing:
            return None
        data = self.data[key]
        return Found(len(data), crc32c(data) if self.keeps_checksums else None, {})

    def objects(self, prefix: str) -> Iterator[Listed]:
        for key in sorted(self.data):
            if key.startswith(prefix):
                yield Listed(key, 0.0)

    def read_range(self, key: str, begin: int, size: int) -> bytes:
        self.ranges.append((key, begin, size))
        if self.problems:
            raise self.problems.pop()
        return self.data[key][begin : begin + size]

    def pieces(self, key: str) -> Iterator[bytes]:
        self.reads.append(key)
        if self.problems:
            raise self.problems.pop()
        data = self.data[key]
        yield data[:100]
        yield data[100:]

    def write(
        self, records: Sequence[Record], folder: str = "a", codec: str = "zstd"
    ) -> ToldObject:
        """Writes an object of a partition, and returns what is told of it."""
        part = split(opened(encoded(records), [0]))
        writer = ParquetFile(SCHEMA, lambda some: record_table(some, "t", 0), codec, GROUP_BYTES)
        data = written(writer, [part])
        digest = RecordDigest()
        digest.add([part])
        begin = records[0].offset
        found = told(begin, records[-1].offset + 1, folder=folder, records=len(records))
        self.data[found.key] = data
        return replace(
            found,
            size_bytes=len(data),
            crc32c=crc32c(data),
            digest=digest.text,
            first_ms=digest.first_ms,
            last_ms=digest.last_ms,
        )


def names(folder: Path) -> list[str]:
    """Returns the names of the files in a folder."""
    return [each.name for each in folder.iterdir()]
