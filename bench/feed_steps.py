"""Cost of each step of a loader, without servers: from fetched batches to the bytes of a block.

python -m bench.feed_steps [--tables 10] [--block 45000] [--format row_batches]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar, get_args

import click

from aggregator.formats import json_documents, row_batches
from aggregator.formats.decoders import Decoder
from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.routing import by_table
from aggregator.tables.native_block import native
from aggregator.tables.table_schema import COORDINATES, Column, TableSchema
from bench import row_batches as written
from bench.feed_load import BATCH_ROWS, FeedLoad, Format, different_batches
from bench.flights import COLUMNS
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
@click.option("--block", default=45_000, show_default=True, help="Rows of a block.")
@click.option("--rows", default=1_000_000, show_default=True)
@click.option("--format", "format_name", default="json", type=click.Choice(get_args(Format)))
def main(tables: int, block: int, rows: int, format_name: Format) -> None:
    """Prints microseconds a row, which are CPU seconds per million."""
    names = tuple(f"kind{number}" for number in range(tables))
    each = written.ROWS if format_name == "row_batches" else 1
    load = FeedLoad("steps", rows, names, format_name, each)
    decode = row_batches.decode if format_name == "row_batches" else json_documents.decode
    batches = list(different_batches(load))
    watch = Stopwatch()
    buffers: dict[str, list[RecordSlice]] = {}
    schema = _schema()
    offset = done = 0
    while done < rows:
        taken, offset = _taken(watch, batches, offset, load)
        for table, part in taken.items():
            buffer = buffers.setdefault(table, [])
            buffer.append(part)
            if sum(map(len, buffer)) * each >= block:
                _encode(watch, decode, buffer, schema)
                done += sum(map(len, buffer)) * each
                buffer.clear()
    for step, (cpu, clock) in watch.spent.items():
        print(f"{step:8} {cpu / done * 1e6:6.3f} CPU us  {clock / done * 1e6:6.3f} us by the clock")
    total = sum(cpu for cpu, _ in watch.spent.values())
    print(f"{'all':8} {total / done * 1e6:6.3f} CPU us a row, blocks of {block} rows")


def fetched(batches: list[bytearray], offset: int, load: FeedLoad) -> bytes:
    """Returns batches as a broker sends them, with their offsets."""
    records = BATCH_ROWS // load.rows_per_record
    first = offset // records
    found = bytearray()
    for number in range(first, first + FETCH_BATCHES):
        batch = bytearray(batches[number % len(batches)])
        batch[:8] = (number * records).to_bytes(8, "big")
        found += batch
    return bytes(found)


def _taken(
    watch: Stopwatch, batches: list[bytearray], offset: int, load: FeedLoad
) -> tuple[dict[str, RecordSlice], int]:
    """Takes one fetch in; returns its records by table, and the offset behind it."""
    data = fetched(batches, offset, load)
    opened = watch.timed("open", lambda: committed_records(data, position=offset, aborted=None))
    found = opened.records
    assert found is not None, "a fetch without records"
    records = watch.timed("split", lambda: split(found))
    header = "table" if load.has_header else None
    routed = watch.timed("route", lambda: by_table(records, topic="steps", header=header))
    owned = watch.timed("own", lambda: {name: part.owned() for name, part in routed.items()})
    return owned, opened.next_offset


def _encode(
    watch: Stopwatch, decode: Decoder, buffer: list[RecordSlice], schema: TableSchema
) -> None:
    decoded = watch.timed("decode", lambda: decode(buffer, schema))
    where = {"cluster": "east aggregate", "topic": "steps", "partition": 3}
    block = watch.timed("native", lambda: native(decoded, schema, **where))  # type: ignore[arg-type]
    watch.timed("bytes", lambda: block.bytes_of(revision=REVISION))


def _schema() -> TableSchema:
    columns = [Column(*column.split()) for column in COLUMNS.split(", ")]
    return TableSchema("steps", (*columns, *(Column(*each) for each in COORDINATES.items())))


if __name__ == "__main__":
    main()
