"""Interface of a system under test that writes a topic into objects: create, start, kill, stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from bench.feed_load import FeedLoad
from bench.object_ground import Bucket
from deploy.lab.process import Process

File = Literal["lines", "json_lines", "parquet", "avro"]


@dataclass(frozen=True, slots=True)
class ObjectOrder:
    """Topic to write, and how.

    Args:
        file: lines of the values, not compressed; the same, where Sluice checks each to be one JSON
            document; Parquet with all columns; or an Avro container. The latter two are compressed
            by zstd. Of bookings the columns are the fields of the values, and no others.
        field: of the documents that names the folder; None: no folders but those of a system's own.
        is_hourly: folders for year, month, day and hour of the record's timestamp, in UTC.
        object_records: limit of an object; None: no limit.
        close_seconds: age at which every system closes an object, by the wall clock.
        is_paced: the topic is written meanwhile; else it is full from the begin.
    """

    load: FeedLoad
    file: File
    field: str | None = None
    is_hourly: bool = False
    object_records: int | None = None
    close_seconds: float = 10.0
    is_paced: bool = False

    def smaller(self, load_share: float, close_share: float) -> ObjectOrder:
        """Returns the same kind of work with less of it."""
        records = self.object_records
        return replace(
            self,
            load=self.load.of(int(self.load.rows * load_share)),
            object_records=records and int(records * load_share),
            close_seconds=self.close_seconds * close_share,
        )

    @property
    def has_schema(self) -> bool:
        """True for values that are Avro datums behind Confluent's header."""
        return self.load.format == "bookings"

    @property
    def has_lines(self) -> bool:
        """True for objects that hold a line for each value."""
        return self.file in ("lines", "json_lines")


class ObjectSystem(Protocol):
    """A system under test. It starts from nothing: no offsets, no objects."""

    def start(self) -> None:
        """Starts the system, also again after kill()."""

    @property
    def process(self) -> Process:
        """Root of the process tree."""

    def kill(self) -> None:
        """Sends kill -9 to the whole system, and waits until it is gone."""

    def stop(self) -> None:
        """Ends the system, also after a failure."""


ObjectFactory = Callable[[Bucket, ObjectOrder], ObjectSystem]
