"""Cost of decoding JSON records into native blocks: microseconds of CPU per record.

    python bench/json_decoding.py [records]

Documents of 169 bytes with five columns, in lz4 batches of 1000 records. Everything is measured in
one process in direct succession: only ratios within one run are meaningful. "clean" is a block
without bad records; in "one bad" a record in the middle has a text where a number belongs, so that
each document is examined; in "digits" the strings look like numbers, so that their quotes are
searched for.
"""

from __future__ import annotations

import random
import struct
import sys
import time
from collections.abc import Callable

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from aggregator.formats.json_documents import decode
from aggregator.formats.record_fields import split
from aggregator.formats.routing import by_table
from aggregator.tables.native_block import NativeBlock, native
from aggregator.tables.table_schema import COORDINATES, Column, TableSchema
from replicator.batches import batch
from replicator.batches.codec import Codec
from replicator.batches.records import opened

RECORDS = 65_536
RECORDS_PER_BATCH = 1000
DOCUMENT_BYTES = 169
TABLE = TableSchema(
    "flights",
    (
        *(Column(name, kind) for name, kind in COORDINATES.items()),
        Column("flight", "UInt64"),
        Column("carrier", "String"),
        Column("delay", "Float64"),
        Column("departed", "DateTime"),
        Column("note", "String"),
    ),
)


def document(carrier: str) -> bytes:
    start = (
        f'{{"flight":{random.randrange(1 << 40)},"carrier":"{carrier}",'
        f'"delay":{random.random() * 100:.1f},"departed":"2013-{random.randrange(1, 13):02}-'
        f'{random.randrange(1, 29):02} {random.randrange(24):02}:30:00","note":"'
    )
    rest = DOCUMENT_BYTES - len(start) - 2
    return f'{start}{"".join(random.choices("abcdefgh ijklm nop", k=rest))}"}}'.encode()


def fetched(documents: list[bytes]) -> bytes:
    """Returns record batches, each record with the table's name in a header."""
    data = bytearray()
    for first in range(0, len(documents), RECORDS_PER_BATCH):
        builder = DefaultRecordBatchBuilder(2, Codec.LZ4, 0, -1, -1, -1, 1 << 30)
        for at, value in enumerate(documents[first : first + RECORDS_PER_BATCH]):
            key, stamp = b"key-%d" % at, 1_700_000_000_000 + first + at
            builder.append(
                at, timestamp=stamp, key=key, value=value, headers=[("table", b"flights")]
            )
        built = builder.build()
        struct.pack_into(">q", built, 0, first)
        data += built
    return bytes(data)


def cpu_seconds(work: Callable[[], object], rounds: int = 7) -> float:
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def measure(name: str, documents: list[bytes]) -> None:
    data = fetched(documents)
    starts = batch.layout(data).starts
    records = opened(data, starts)
    fields = split(records)
    decoded = decode([fields], TABLE)

    def encoded() -> NativeBlock:
        return native(decoded, TABLE, cluster="west regional", topic="flights", partition=1)

    block = encoded()
    steps = {
        "open": lambda: opened(data, starts),
        "split": lambda: split(records),
        "route": lambda: by_table(fields, topic="flights", header="table"),
        "decode": lambda: decode([fields], TABLE),
        "native": encoded,
        "bytes": lambda: block.bytes_of(revision=54_468),
    }
    costs = [cpu_seconds(work) / len(documents) * 1e6 for work in steps.values()]
    print(f"{name:8s}" + "".join(f" {cost:8.3f}" for cost in (*costs, sum(costs))))


def main() -> None:
    random.seed(1)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS
    print(f"{count} records of {DOCUMENT_BYTES} bytes, microseconds of CPU per record")
    print("block       open    split    route   decode   native    bytes      sum")
    clean = [document(random.choice(("UA", "B6", "EV", "DL"))) for _ in range(count)]
    measure("clean", clean)
    bad = clean[count // 2].replace(b'"delay":', b'"delay":"x')
    bad = bad.replace(b',"departed"', b'","departed"')
    measure("one bad", [*clean[: count // 2], bad, *clean[count // 2 + 1 :]])
    measure("digits", [document(random.choice(("12", "93"))) for _ in range(count)])


if __name__ == "__main__":
    main()
