"""Processes of the put loop: read, gather, put, commit.

python -m bench.put_loop_process '{"topic": ...}'
"""

from __future__ import annotations

import io
import json
import multiprocessing
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import fastavro
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer, Message, TopicPartition

from bench.avro_datums import HEADER
from bench.booking_datums import PARSED
from bench.object_ground import client_of

BATCH = 20_000
SESSION_MS = 6000
BOOKING = pa.schema(
    [
        ("id", pa.int64()),
        ("at", pa.timestamp("ms", "UTC")),
        *((name, pa.string()) for name in ("customer", "carrier", "origin", "dest")),
        ("seats", pa.int32()),
        ("price", pa.float64()),
        ("distance", pa.float64()),
        ("agent", pa.string()),
        ("is_paid", pa.bool_()),
        ("note", pa.string()),
    ]
)
"""Columns of bench.booking_datums.SCHEMA."""
Place = tuple[int, str]
"""Kafka partition and folder."""


def main(told: Mapping[str, Any]) -> None:
    """Runs the loops until one of them ends."""
    loops = [
        multiprocessing.Process(target=run, args=(told,), daemon=True)
        for _ in range(told["processes"])
    ]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join()


def run(told: Mapping[str, Any]) -> None:
    """Writes the records of the group's partitions until killed.

    With the first object that is full or old all are put, as one offset counts for all of them.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": told["bootstrap"],
            "group.id": told["group"],
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "queued.min.messages": 4 * BATCH,
            "fetch.min.bytes": 1 << 16,
            "fetch.wait.max.ms": 100,
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": SESSION_MS // 6,
        }
    )
    opened: dict[Place, list[Message]] = defaultdict(list)

    def forget(*_: object) -> None:
        opened.clear()

    consumer.subscribe([told["topic"]], on_assign=forget, on_revoke=forget, on_lost=forget)
    client, since = client_of(told["endpoint"]), time.monotonic()
    while True:
        for message in consumer.consume(BATCH, timeout=0.2):
            if message.error() is None:
                opened[message.partition() or 0, folder(told, message)].append(message)
        is_full = any(len(messages) >= told["records"] for messages in opened.values())
        if not opened:
            since = time.monotonic()
        elif is_full or time.monotonic() - since >= told["seconds"]:
            for place, messages in opened.items():
                put(client, told, place, messages)
            ends: dict[int, int] = {}
            for (partition, _), messages in opened.items():
                last = messages[-1].offset() or 0
                ends[partition] = max(ends.get(partition, 0), last + 1)
            offsets = [TopicPartition(told["topic"], *each) for each in ends.items()]
            consumer.commit(offsets=offsets, asynchronous=False)
            opened.clear()
            since = time.monotonic()


def folder(told: Mapping[str, Any], message: Message) -> str:
    """Returns the folder of a record."""
    if told["field"]:
        value = msgspec.json.decode(message.value() or b"{}")[told["field"]]
        return f"{told['field']}={value}"
    if told["is_hourly"]:
        return hour_folders(message.timestamp()[1] // 3_600_000)
    return f"partition={message.partition()}"


@cache
def hour_folders(hour: int) -> str:
    """Returns the folders of an hour since 1970."""
    return f"{datetime.fromtimestamp(hour * 3600, UTC):year=%Y/month=%m/day=%d/hour=%H}"


def put(client: Any, told: Mapping[str, Any], place: Place, messages: Sequence[Message]) -> None:
    """Writes one object."""
    partition, name = place
    file = f"{told['topic']}+{partition}+{messages[0].offset()}.{told['file']}"
    key = f"{told['prefix']}/{name}/{file}"
    if told["file"] == "lines":
        body = b"\n".join([message.value() or b"" for message in messages]) + b"\n"
    elif told["has_schema"]:
        body = typed(told["file"], messages)
    else:
        body = parquet(messages)
    client.put_object(Bucket=told["bucket"], Key=key, Body=body)


def parquet(messages: Sequence[Message]) -> bytes:
    """Returns a file with the columns that Sluice writes."""
    table = pa.table(
        {
            "key": pa.array([message.key() for message in messages], pa.binary()),
            "value": pa.array([message.value() for message in messages], pa.binary()),
            "headers": pa.array(
                [message.headers() or [] for message in messages],
                pa.list_(pa.struct([("0", pa.string()), ("1", pa.binary())])),
            ),
            "timestamp": pa.array(
                [message.timestamp()[1] for message in messages], pa.timestamp("ms", "UTC")
            ),
            "topic": pa.array([message.topic() for message in messages], pa.string()),
            "partition": pa.array([message.partition() for message in messages], pa.int32()),
            "offset": pa.array([message.offset() for message in messages], pa.int64()),
        }
    )
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def typed(file: str, messages: Sequence[Message]) -> bytes:
    """Returns a file of Avro or Parquet with the fields of the values."""
    rows: Any = [
        fastavro.schemaless_reader(io.BytesIO((message.value() or b"")[len(HEADER) :]), PARSED)
        for message in messages
    ]
    out = io.BytesIO()
    if file == "avro":
        fastavro.writer(out, PARSED, rows, codec="zstandard")
    else:
        pq.write_table(pa.Table.from_pylist(rows, BOOKING), out, compression="zstd")
    return out.getvalue()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
