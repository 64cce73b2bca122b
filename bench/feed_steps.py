"""Cost of each step of a loader, without servers: from fetched batches to the bytes of a block.

python -m bench.feed_steps [--tables 10] [--block 45000]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import click

from aggregator.formats.json_documents import decode
from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.routing import by_table
from aggregator.tables.native_block import native
from aggregator.tables.table_schema import COORDINATES, Column, TableSchema
from bench.feed_load import BATCH_RECORDS, COLUMNS, FeedLoad, different_batches
from replicator.batches.committed_records import committed_records

FETCH_BATCHES = 8
"""Batches of one fetch of a partition: 1 MiB or so on the wire."""
REVISION = 54_400

T = TypeVar("T")


class Stopwatch:
    """Sums up CPU time of all threads, and time by the clock, by step."""

    def __init__(self) -> None:
        self.spent: dict[str, tuple[float, float]] = {}

    def timed(self, step: str, act: Callable[[], T]) -> T:
        cpu, clock = time.process_time(), time.perf_counter()
        found = act()
        before = self.spent.get(step, (0.0, 0.0))
        self.spent[step] = (
            before[0] + time.process_time() - cpu,
            before[1] + time.perf_counter() - clock,
        )
        return found


@click.command()
@click.option("--tables", default=1, show_default=True)
@click.option("--block", default=45_000, show_default=True, help="Records of a block.")
@click.option("--records", default=1_000_000, show_default=True)
def main(tables: int, block: int, records: int) -> None:
    """Prints microseconds a record, which are CPU seconds per million."""
    names = tuple(f"kind{number}" for number in range(tables))
    load = FeedLoad("steps", records, names)
    batches = list(different_batches(load))
    watch = Stopwatch()
    buffers: dict[str, list[RecordSlice]] = {}
    schema = _schema()
    offset = done = 0
    while done < records:
        taken, offset = _taken(watch, batches, offset, has_header=tables > 1)
        for table, part in taken.items():
            buffer = buffers.setdefault(table, [])
            buffer.append(part)
            if sum(map(len, buffer)) >= block:
                _encode(watch, buffer, schema)
                done += sum(map(len, buffer))
                buffer.clear()
    for step, (cpu, clock) in watch.spent.items():
        print(f"{step:8} {cpu / done * 1e6:6.3f} CPU us  {clock / done * 1e6:6.3f} us by the clock")
    total = sum(cpu for cpu, _ in watch.spent.values())
    print(f"{'all':8} {total / done * 1e6:6.3f} CPU us a record, blocks of {block} records")


def _fetched(batches: list[bytearray], offset: int) -> bytes:
    """Returns batches as a broker sends them, with their offsets."""
    first = offset // BATCH_RECORDS
    found = bytearray()
    for number in range(first, first + FETCH_BATCHES):
        batch = bytearray(batches[number % len(batches)])
        batch[:8] = (number * BATCH_RECORDS).to_bytes(8, "big")
        found += batch
    return bytes(found)


def _taken(
    watch: Stopwatch, batches: list[bytearray], offset: int, *, has_header: bool
) -> tuple[dict[str, RecordSlice], int]:
    """Takes one fetch in; returns its records by table, and the offset behind it."""
    fetched = _fetched(batches, offset)
    opened = watch.timed("open", lambda: committed_records(fetched, position=offset, aborted=None))
    found = opened.records
    assert found is not None, "a fetch without records"
    records = watch.timed("split", lambda: split(found))
    header = "table" if has_header else None
    routed = watch.timed("route", lambda: by_table(records, topic="steps", header=header))
    return routed, opened.next_offset


def _encode(watch: Stopwatch, buffer: list[RecordSlice], schema: TableSchema) -> None:
    decoded = watch.timed("decode", lambda: decode(buffer, schema))
    where = {"cluster": "east aggregate", "topic": "steps", "partition": 3}
    block = watch.timed("native", lambda: native(decoded, schema, **where))  # type: ignore[arg-type]
    watch.timed("bytes", lambda: block.bytes_of(revision=REVISION))


def _schema() -> TableSchema:
    columns = [Column(*column.split()) for column in COLUMNS.split(", ")]
    return TableSchema("steps", (*columns, *(Column(*each) for each in COORDINATES.items())))


if __name__ == "__main__":
    main()
