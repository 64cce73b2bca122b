"""Cost of the second readers of `sluice verify check --rows`, beside that of the first ones.

    python -m bench.second_readers [records]

Microseconds of CPU per record in one process, best of five; no server takes part. "first" is what
makes the rows or the file of the records again, "second" what compares each value (decisions 0053
and 0068). The records have 200 bytes. The figures go into bench/results/second_readers.json.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aggregator.formats.json_documents import decode
from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import RecordSlice
from aggregator.loader.object_layout import ObjectLayout
from aggregator.tables.native_block import native
from aggregator.verifier.object_values import ObjectValues
from aggregator.verifier.plain_records import json_rows
from aggregator.verifier.row_values import RowValues
from balancer.topic_partition import TopicPartition
from bench import booking_datums, machine
from bench.json_decoding import TABLE, cpu_seconds, document, fetched
from deploy.lab.kafka import CHECKOUT
from replicator.batches import batch
from replicator.batches.records import opened
from replicator.config.object_feed import ObjectFeed
from replicator.config.schema_folder import SchemaFolder

FILE = CHECKOUT / "bench" / "results" / "second_readers.json"
RECORDS = 20_000
ROUNDS = 5
PLACE = TopicPartition("flights", 3)
DOCUMENT = {
    "type": "record",
    "name": "Flight",
    "fields": [
        {"name": "flight", "type": "long"},
        {"name": "carrier", "type": "string"},
        {"name": "delay", "type": "double"},
        {"name": "departed", "type": "string"},
        {"name": "note", "type": "string"},
    ],
}
SCHEMAS = SchemaFolder(
    Path("schemas"),
    {
        "1.avsc": json.dumps(booking_datums.SCHEMA).encode(),
        "flights.avsc": json.dumps(DOCUMENT).encode(),
    },
)
BY_ID = SchemaFolder(Path("schemas"), {"1.avsc": SCHEMAS.files["1.avsc"]})
OBJECTS: dict[str, dict[str, Any]] = {
    "objects, JSON lines": {"file": "json_lines"},
    "objects, Parquet of values": {},
    "objects, Parquet of documents": {"format": "json", "schemas": SCHEMAS},
    "objects, Parquet of datums": {"format": "avro", "schemas": BY_ID},
    "objects, Avro": {"file": "avro", "format": "avro", "schemas": BY_ID},
}

Work = Callable[[], object]


def main() -> None:
    random.seed(1)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS
    load = machine.load_average()
    documents = _slice([document(random.choice(("UA", "B6", "EV", "DL"))) for _ in range(count)])
    datums = _slice([booking_datums.value(at) for at in range(count)])
    found = {"tables, JSON": _figures(count, *_of_table(documents))}
    for name, settings in OBJECTS.items():
        is_avro = settings.get("format") == "avro"
        works = _of_objects(datums if is_avro else documents, settings)
        found[name] = _figures(count, *works)
    kept = {
        "machine": machine.described(),
        "load average at the start": round(load, 1),
        "records": count,
        "cases": found,
    }
    text = json.dumps(kept, indent=2)
    if count == RECORDS:
        FILE.write_text(f"{text}\n")
    print(text)


def _slice(values: list[bytes]) -> RecordSlice:
    data = fetched(values)
    return split(opened(data, batch.layout(data).starts))


def _figures(count: int, first: Work, second: Work) -> dict[str, float]:
    one, other = (cpu_seconds(work, ROUNDS) / count * 1e6 for work in (first, second))
    return {
        "first_us_per_record": round(one, 2),
        "second_us_per_record": round(other, 2),
        "ratio": round(other / one, 1),
        "second_records_per_second": round(1e6 / other),
    }


def _of_table(records: RecordSlice) -> tuple[Work, Work]:
    decoded = decode([records], TABLE)
    columns = {name: values.to_pylist() for name, values in decoded.columns.items()}
    rows = [
        (offset, 0, {name: values[at] for name, values in columns.items()})
        for at, offset in enumerate(decoded.offset.tolist())
    ]
    expected = {(offset, 0) for offset, _, _ in rows}

    def first() -> object:
        found = decode([records], TABLE)
        return native(found, TABLE, cluster="west regional", topic="flights", partition=1)

    def second() -> object:
        found = RowValues(TABLE, json_rows)
        found.compare(records, expected, rows)
        assert not found.differences and not found.doubts, found.differences
        return found

    return first, second


def _of_objects(records: RecordSlice, settings: dict[str, Any]) -> tuple[Work, Work]:
    feed = ObjectFeed(
        name="lake",
        kind="s3",
        region="east",
        clusters=("east aggregate",),
        bucket="air",
        **settings,
    )
    layout = ObjectLayout(feed, "east aggregate")

    def first() -> bytes:
        writer = layout.writer(PLACE, "key")
        admitted = layout.admission(PLACE, "partition=3", writer.decode)(records)
        return writer.write([admitted.records]) + writer.finish()

    content = first()

    def second() -> object:
        found = ObjectValues(layout, PLACE, content, layout.extension)
        found.compare(records)
        found.finish()
        assert not found.differences and not found.unread, found.differences
        return found

    return first, second


if __name__ == "__main__":
    main()
