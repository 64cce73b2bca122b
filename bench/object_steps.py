"""Cost of each step of a loader into objects, without servers: from fetched batches to an upload.

python -m bench.object_steps [--file parquet] [--codec zstd] [--fields 50]
python -m bench.object_steps --file avro --codec zstd --format bookings [--hourly]
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import click

from aggregator.files.file_writer import FileWriter
from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.intent import Intent
from aggregator.loader.object_layout import ObjectLayout
from aggregator.objects.object_progress import ObjectProgress
from aggregator.objects.record_digest import RecordDigest
from aggregator.objects.rotation import Rotation
from balancer.topic_partition import TopicPartition
from bench.avro_datums import SCHEMA_ID
from bench.booking_datums import SCHEMA
from bench.feed_load import FeedLoad, Format, different_batches
from bench.feed_steps import Stopwatch, fetched
from bench.flights import KIND
from replicator.batches.committed_records import committed_records
from replicator.config.object_feed import ObjectFeed
from replicator.config.schema_folder import SchemaFolder
from replicator.kafka.client.custody import Custody
from tests.replicator.config.any_feed import ANY_OBJECT_FEED

PLACE = TopicPartition("steps", 3)
BOOKINGS = {
    "format": "avro",
    "schemas": SchemaFolder(Path(), {f"{SCHEMA_ID}.avsc": json.dumps(SCHEMA).encode()}),
    "record_columns": [],
    "tombstones": "left_out",
}
"""Settings of a feed of bookings."""


@click.command()
@click.option("--file", "file_name", default="bytes", show_default=True)
@click.option("--codec", default="none", show_default=True)
@click.option("--fields", default=1, show_default=True, help="Different values of a field.")
@click.option("--rows", default=1_000_000, show_default=True)
@click.option("--format", "format_name", default="json", type=click.Choice(get_args(Format)))
@click.option("--hourly", "is_hourly", is_flag=True, help="Folders by the records' times.")
def main(
    file_name: str, codec: str, fields: int, rows: int, format_name: Format, is_hourly: bool
) -> None:
    """Prints microseconds a record, which are CPU seconds per million."""
    load = FeedLoad("steps", rows, tuple(map(str, range(fields))), format_name)
    batches = list(different_batches(load))
    watch = Stopwatch()
    folders: dict[str, Any] = {"partition_by": "field", "fields": [KIND]} if fields > 1 else {}
    if is_hourly:
        folders = {"partition_by": "time"}
    feed = _feed(file_name, codec, folders | (BOOKINGS if format_name == "bookings" else {}))
    writing = _Writing(watch, ObjectLayout(feed, "east aggregate"))
    while writing.position < rows:
        writing.take(fetched(batches, writing.position, load))
    writing.finish()
    _print(watch, writing)


class _Writing:
    """A loader's work on one partition."""

    def __init__(self, watch: Stopwatch, layout: ObjectLayout) -> None:
        self.position, self.size_bytes = 0, 0
        self._watch, self._layout = watch, layout
        self._progress: ObjectProgress[RecordSlice] = ObjectProgress(Rotation(), _intent())
        self._digests: dict[str, RecordDigest] = {}
        self._writers: dict[str, FileWriter] = {}

    def take(self, data: bytes) -> None:
        """Takes one fetch in, and writes its records."""
        timed, progress = self._watch.timed, self._progress
        found = timed("open", lambda: committed_records(data, position=self.position, aborted=None))
        opened = found.records
        assert opened is not None, "a fetch without records"
        records = timed("split", lambda: split(opened))
        parts = timed("route", lambda: self._layout.route(PLACE, records))
        self.position = found.next_offset
        timed("progress", lambda: progress.add(records.offset, self.position, parts, 0.0))
        for name, draft in progress.writable():
            self._write(name, draft.take())

    def _write(self, name: str, slices: list[RecordSlice]) -> None:
        if name not in self._writers:
            self._writers[name] = self._layout.writer(PLACE)
        writer = self._writers[name]
        timed, admit = self._watch.timed, self._layout.admission(PLACE, name, writer.decode)
        admitted = timed("admit", lambda: [admit(each).records for each in slices])
        digest = self._digests.setdefault(name, RecordDigest())
        timed("digest", lambda: digest.add(admitted))
        self.size_bytes += len(timed("write", lambda: writer.write(admitted)))

    def finish(self) -> None:
        """Writes the ends of the files."""
        for writer in self._writers.values():
            self.size_bytes += len(self._watch.timed("write", writer.finish))


def _feed(file_name: str, codec: str, settings: Mapping[str, Any]) -> ObjectFeed:
    return ObjectFeed.model_validate(
        {
            **ANY_OBJECT_FEED,
            "name": "steps",
            "region": "east",
            "clusters": ["east aggregate"],
            "file": file_name,
            "codec": codec,
            **settings,
        }
    )


def _intent() -> Intent:
    return Intent(custody=Custody.HELD, offset=0, reference=0, transactional_id="steps")


def _print(watch: Stopwatch, writing: _Writing) -> None:
    records = writing.position
    for step, (cpu, clock) in watch.spent.items():
        cpu_us, clock_us = cpu / records * 1e6, clock / records * 1e6
        print(f"{step:8} {cpu_us:6.3f} CPU us  {clock_us:6.3f} us by the clock")
    total = sum(cpu for cpu, _ in watch.spent.values())
    print(f"{'all':8} {total / records * 1e6:6.3f} CPU us a record")
    print(f"{'file':8} {writing.size_bytes / records:6.1f} bytes a record")


if __name__ == "__main__":
    main()
