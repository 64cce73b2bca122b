"""Cost of decoding Avro into columns: microseconds of CPU per record.

    python -m bench.avro_decoding

Values of 200 bytes with eight columns, three of numbers. Readers take turns; only ratios within one
run are meaningful. "sluice" ends with the columns of a table. polars reads one container of joined
datums, which it does not check: neither that each ends where its record ends, nor that an int has
32 bits, nor that a union has the branch. fastavro returns a dict for each datum.
"""

from __future__ import annotations

import io
import json
import random
import struct
import time
from collections.abc import Callable
from pathlib import Path

import fastavro
import polars as pl

from aggregator.formats.avro_datums import AvroDatums
from aggregator.formats.record_fields import split
from aggregator.tables.table_schema import Column, TableSchema
from bench.avro_datums import HEADER, PARSED, SCHEMA, SCHEMA_ID, value
from bench.flights import COLUMNS
from bench.json_decoding import RECORDS, fetched
from replicator.batches import batch
from replicator.batches.records import opened
from replicator.batches.varints import packed
from replicator.config.schema_folder import SchemaFolder

ROUNDS = 20
TABLE = TableSchema("flights", tuple(Column(*each.split()) for each in COLUMNS.split(", ")))


def container(datums: list[bytes]) -> bytes:
    """Returns an object container file of these datums, each with a number behind it.

    A reader of joined datums needs such numbers to see whether one is shorter than its record.
    """
    guard = {"name": "guard", "type": {"type": "fixed", "name": "guard", "size": 8}}
    schema = json.dumps(SCHEMA | {"fields": [*SCHEMA["fields"], guard]}).encode()
    joined = b"".join(datum + struct.pack(">q", at) for at, datum in enumerate(datums))
    sync = bytes(16)
    entries = b"".join(
        packed([2 * len(name)]) + name + packed([2 * len(text)]) + text
        for name, text in ((b"avro.schema", schema), (b"avro.codec", b"null"))
    )
    head = b"Obj\x01" + packed([4]) + entries + b"\0" + sync
    return head + packed([2 * len(datums), 2 * len(joined)]) + joined + sync


def main() -> None:
    rng = random.Random(1)
    values = [value(number, rng) for number in range(RECORDS)]
    data = fetched(values)
    records = split(opened(data, batch.layout(data).starts))
    folder = SchemaFolder(Path(), {f"{SCHEMA_ID}.avsc": json.dumps(SCHEMA).encode()})
    decode = AvroDatums(folder)
    datums = [each[len(HEADER) :] for each in values]
    joined = container(datums)
    readers: dict[str, Callable[[], object]] = {
        "sluice": lambda: decode([records], TABLE),
        "polars, joined before": lambda: pl.read_avro(io.BytesIO(joined)),
        "fastavro": lambda: [
            fastavro.schemaless_reader(io.BytesIO(each), PARSED) for each in datums
        ],
    }
    best = dict.fromkeys(readers, float("inf"))
    for _ in range(ROUNDS):
        for name, read in readers.items():
            began = time.process_time()
            read()
            best[name] = min(best[name], time.process_time() - began)
    print(f"{RECORDS} records of 200 bytes, microseconds of CPU per record")
    for name, seconds in best.items():
        print(f"{name:22s} {seconds / RECORDS * 1e6:7.3f}")


if __name__ == "__main__":
    main()
