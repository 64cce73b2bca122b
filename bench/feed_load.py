"""Topics of the feed cases: JSON documents of 200 bytes, in lz4 batches that are built once."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from bench.ground import PARTITIONS, make_topic, say
from bench.load import ALPHABET, LZ4, send_batches
from deploy.lab.kafka import KafkaCluster

DOCUMENT_BYTES = 200
BATCH_RECORDS = 1000
DIFFERENT_BATCHES = 120
"""Number of different batches; together they are larger than any compression window."""
COLUMNS = (
    "id UInt64, at DateTime, carrier String, origin String, dest String, delay Int32, "
    "price Float64, note String"
)
"""Columns of each table, which the documents fill."""
KIND = "kind"
"""Field of a document that names its table; the header `table` has the same name."""

_AIRPORTS = ("ATL", "BOS", "EWR", "IAH", "JFK", "LAX", "LGA", "MIA", "ORD", "SFO")
_CARRIERS = ("AA", "B6", "DL", "EV", "UA", "WN")


@dataclass(frozen=True, slots=True)
class FeedLoad:
    """Records of a feed's topic.

    Args:
        tables: that the records are for, evenly mixed. Of several, a header names the table.
    """

    topic: str
    records: int
    tables: tuple[str, ...]

    @property
    def has_header(self) -> bool:
        return len(self.tables) > 1

    def of(self, records: int) -> FeedLoad:
        """Returns the same kind of load with another number of records, rounded to whole
        batches."""
        whole = BATCH_RECORDS * PARTITIONS
        return FeedLoad(self.topic, max(1, round(records / whole)) * whole, self.tables)


def document(number: int, rng: random.Random, table: str = "") -> bytes:
    """Returns a JSON document of DOCUMENT_BYTES with this number as its id.

    Args:
        table: named by the document's field KIND; empty: by no field.
    """
    seconds = number % 86_400
    at = f"2026-11-24 {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    kind = f'"{KIND}":"{table}",' if table else ""
    head = (
        f'{{{kind}"id":{number},"at":"{at}","carrier":"{_CARRIERS[number % 6]}",'
        f'"origin":"{_AIRPORTS[number // 7 % 10]}","dest":"{_AIRPORTS[number // 77 % 10]}",'
        f'"delay":{number % 240 - 20},"price":{number % 100_000 / 4},"note":"'
    ).encode()
    room = DOCUMENT_BYTES - len(head) - 2
    return head + bytes(ALPHABET[byte % 62] for byte in rng.randbytes(room)) + b'"}'


def fill(cluster: KafkaCluster, load: FeedLoad) -> None:
    """Creates and fills a topic. Raises RuntimeError if a batch is refused."""
    began_at = time.monotonic()
    make_topic(cluster, load.topic)
    rounds = load.records // BATCH_RECORDS // PARTITIONS
    asyncio.run(send_batches(cluster, load.topic, rounds, list(different_batches(load))))
    seconds = time.monotonic() - began_at
    say(f"loaded {load.topic}: {load.records:,} records in {seconds:.0f} s")


def different_batches(load: FeedLoad) -> Iterator[bytearray]:
    """Yields batches of the load, each with offsets from 0."""
    rng = random.Random(load.topic)
    now_ms = int(time.time() * 1000)
    for batch in range(min(DIFFERENT_BATCHES, load.records // BATCH_RECORDS)):
        builder = DefaultRecordBatchBuilder(2, LZ4, 0, -1, -1, -1, 1 << 30)
        for index in range(BATCH_RECORDS):
            number = batch * BATCH_RECORDS + index
            table = rng.choice(load.tables) if load.has_header else ""
            builder.append(
                index,
                timestamp=now_ms + index // 100,
                key=b"%d" % number,
                value=document(number, rng, table),
                headers=[("table", table.encode())] if table else [],
            )
        built: bytearray = builder.build()
        yield built
