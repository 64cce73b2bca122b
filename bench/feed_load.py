"""Topics of the feed cases: JSON, row batches or Avro, in lz4 batches that are built once."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from bench import avro_datums, booking_datums
from bench.flights import document
from bench.ground import PARTITIONS, make_topic, say
from bench.load import LZ4, send_batches
from bench.row_batches import RowBatchWriter
from deploy.lab.kafka import KafkaCluster

BATCH_ROWS = 1000
HOUR_SECONDS = 3600
DIFFERENT_BATCHES = 120
"""Number of different batches; together they are larger than any compression window."""

Format = Literal["json", "row_batches", "avro", "bookings"]
"""Format of the values. Bookings are Avro too, with fields that may be null."""


@dataclass(frozen=True, slots=True)
class FeedLoad:
    """Records of a feed's topic.

    Args:
        tables: that the records are for, evenly mixed. Of several, a header names the table.
        rows_per_record: of row batches.
        hours: that the timestamps cover, in order and evenly; the last one is the present hour.
    """

    topic: str
    rows: int
    tables: tuple[str, ...]
    format: Format = "json"
    rows_per_record: int = 1
    hours: int = 1

    @property
    def has_header(self) -> bool:
        return len(self.tables) > 1

    def of(self, rows: int) -> FeedLoad:
        """Returns the same kind of load with another number of rows, rounded to whole batches."""
        whole = BATCH_ROWS * PARTITIONS * self.hours
        return replace(self, rows=max(1, round(rows / whole)) * whole)


def fill(cluster: KafkaCluster, load: FeedLoad) -> None:
    """Creates and fills a topic. Raises RuntimeError if a batch is refused."""
    began_at = time.monotonic()
    make_topic(cluster, load.topic)
    rounds = load.rows // BATCH_ROWS // PARTITIONS // load.hours
    hour = int(time.time()) // HOUR_SECONDS
    for each in range(hour - load.hours + 1, hour + 1):
        batches = list(different_batches(load, each * HOUR_SECONDS * 1000))
        asyncio.run(send_batches(cluster, load.topic, rounds, batches))
    seconds = time.monotonic() - began_at
    say(f"loaded {load.topic}: {load.rows:,} rows in {seconds:.0f} s")


def different_batches(load: FeedLoad, begin_ms: int = 0) -> Iterator[bytearray]:
    """Yields batches of the load, each with offsets from 0 and timestamps from begin_ms."""
    rng = random.Random(load.topic)
    value_of = _values(load.format)
    for batch in range(min(DIFFERENT_BATCHES, load.rows // BATCH_ROWS)):
        builder = DefaultRecordBatchBuilder(2, LZ4, 0, -1, -1, -1, 1 << 30)
        for index in range(BATCH_ROWS // load.rows_per_record):
            number = batch * BATCH_ROWS + index * load.rows_per_record
            table = rng.choice(load.tables) if load.has_header else ""
            builder.append(
                index,
                timestamp=begin_ms + index * load.rows_per_record // 100,
                key=b"%d" % number,
                value=value_of(number, rng, table),
                headers=[("table", table.encode())] if table else [],
            )
        built: bytearray = builder.build()
        yield built


def _values(format_name: Format) -> Callable[[int, random.Random, str], bytes]:
    """Returns the function that writes a record's value: from its first id on, for a table."""
    if format_name == "json":
        return document
    if format_name == "avro":
        return lambda number, rng, table: avro_datums.value(number, rng)
    if format_name == "bookings":
        return lambda number, rng, table: booking_datums.value(number)

    writer = RowBatchWriter()
    return lambda first, rng, table: writer.value(first, rng)
