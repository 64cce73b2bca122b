"""Cost of each step of a loader into objects, without servers: from fetched batches to an upload.

python -m bench.object_steps [--file parquet] [--codec zstd] [--fields 50]
"""

from __future__ import annotations

from typing import Any, get_args

import click

from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.intent import Intent
from aggregator.loader.object_layout import ObjectLayout
from aggregator.objects.object_progress import ObjectProgress
from aggregator.objects.record_digest import RecordDigest
from aggregator.objects.rotation import Rotation
from balancer.plan import TopicPartition
from bench.feed_load import KIND, FeedLoad, Format, different_batches
from bench.feed_steps import Stopwatch, fetched
from replicator.batches.committed_records import committed_records
from replicator.config.object_feed import ANY_OBJECT_FEED, ObjectFeed
from replicator.kafka.client.custody import Custody

PLACE = TopicPartition("steps", 3)


@click.command()
@click.option("--file", "file_name", default="json_lines", show_default=True)
@click.option("--codec", default="none", show_default=True)
@click.option("--fields", default=1, show_default=True, help="Different values of a field.")
@click.option("--rows", default=1_000_000, show_default=True)
@click.option("--format", "format_name", default="json", type=click.Choice(get_args(Format)))
def main(file_name: str, codec: str, fields: int, rows: int, format_name: Format) -> None:
    """Prints microseconds a record, which are CPU seconds per million."""
    load = FeedLoad("steps", rows, tuple(map(str, range(fields))), format_name)
    batches = list(different_batches(load))
    watch, done, offset = Stopwatch(), 0, 0
    layout = ObjectLayout(_feed(file_name, codec, fields), "east aggregate")
    progress: ObjectProgress[RecordSlice] = ObjectProgress(Rotation(), _intent())
    digests: dict[str, RecordDigest] = {}
    writers: dict[str, Any] = {}
    sizes = 0
    while done < rows:
        data = fetched(batches, offset, load)
        opened = watch.timed("open", lambda: committed_records(data, position=offset, aborted=None))
        found = opened.records
        assert found is not None
        records = watch.timed("split", lambda: split(found))
        parts = watch.timed("route", lambda: layout.route(PLACE, records))
        offset = opened.next_offset
        watch.timed("progress", lambda: progress.add(records.offset, offset, parts, 0.0))
        for name, draft in progress.writable():
            admit = layout.admission(PLACE, name)
            admitted = watch.timed("admit", lambda: [admit(each).records for each in draft.take()])
            digest = digests.setdefault(name, RecordDigest())
            watch.timed("digest", lambda: digest.add(admitted))
            writer = writers.setdefault(name, layout.writer(PLACE))
            sizes += len(watch.timed("write", lambda: writer.write(admitted)))
        done += len(records)
    for writer in writers.values():
        sizes += len(watch.timed("write", writer.finish))
    _print(watch, done, sizes)


def _feed(file_name: str, codec: str, fields: int) -> ObjectFeed:
    by_field = {"partition_by": "field", "fields": [KIND]} if fields > 1 else {}
    return ObjectFeed.model_validate(
        {
            **ANY_OBJECT_FEED,
            "name": "steps",
            "region": "east",
            "clusters": ["east aggregate"],
            "file": file_name,
            "codec": codec,
            **by_field,
        }
    )


def _intent() -> Intent:
    return Intent(custody=Custody.HELD, offset=0, reference=0, transactional_id="steps")


def _print(watch: Stopwatch, records: int, size_bytes: int) -> None:
    for step, (cpu, clock) in watch.spent.items():
        cpu_us, clock_us = cpu / records * 1e6, clock / records * 1e6
        print(f"{step:8} {cpu_us:6.3f} CPU us  {clock_us:6.3f} us by the clock")
    total = sum(cpu for cpu, _ in watch.spent.values())
    print(f"{'all':8} {total / records * 1e6:6.3f} CPU us, {size_bytes / records:.0f} bytes a record")


if __name__ == "__main__":
    main()
