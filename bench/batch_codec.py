"""Cost of the batch codec: microseconds per batch and per record, for batches of several sizes.

    python bench/batch_codec.py [record bytes]

Everything is measured in one process in direct succession: only ratios within one run are
meaningful. "unopened" and "merged" are replicator.batches.packer.pack and stamping, all that a
carrier does with a fetch. "aiokafka" is the same merge through aiokafka's compiled decoder and
builder, compressed by our codec.
"""

from __future__ import annotations

import random
import struct
import sys
import time
from collections.abc import Callable

from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from replicator.batches import batch
from replicator.batches.codec import Codec, compressed
from replicator.batches.packer import PackingRule, pack
from replicator.batches.records import opened, rebatch

FETCH_BYTES = 1 << 20
RULES = {
    "unopened": PackingRule(max_bytes=FETCH_BYTES, merge_below_records=0),
    "merged": PackingRule(
        max_bytes=FETCH_BYTES,
        merge_below_records=1 << 30,
        merge_below_bytes=1 << 30,
        merge_batches_min=1,
    ),
}


def fetch(codec: int, records_per_batch: int, record_bytes: int) -> tuple[bytes, int]:
    """Returns about a mebibyte of batches, each record half random, and the number of batches."""
    random.seed(1)
    data = bytearray()
    offset = 0
    while len(data) < FETCH_BYTES:
        builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 30)
        for index in range(records_per_batch):
            value = random.randbytes(record_bytes // 2) + b"a" * (record_bytes // 2)
            key = b"key-%d" % offset
            builder.append(
                index, timestamp=1_700_000_000_000 + offset, key=key, value=value, headers=[]
            )
        built = builder.build()
        struct.pack_into(">q", built, 0, offset)
        data += built
        offset += records_per_batch
    return bytes(data), offset // records_per_batch


def seconds(work: Callable[[], object], rounds: int = 9) -> float:
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


def packed(data: bytes, rule: PackingRule) -> None:
    for outgoing in pack(data, position=0, aborted=None, rule=rule).batches:
        outgoing.stamp(producer_id=1, producer_epoch=1, base_sequence=1)


def merged_by_aiokafka(data: bytes, codec: int) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, 0, 1, 1, 1, 1 << 30)
    index = 0
    for view, _ in batch.scan(data):
        for record in DefaultRecordBatch(bytes(view)):
            builder.append(
                index,
                timestamp=record.timestamp,
                key=record.key,
                value=record.value,
                headers=record.headers,
            )
            index += 1
    return compressed(codec, builder.build()[batch.HEADER_BYTES :])


def measure(codec: Codec, records_per_batch: int, record_bytes: int) -> None:
    data, batches = fetch(codec, records_per_batch, record_bytes)
    records = batches * records_per_batch
    starts = batch.layout(data).starts
    columns = opened(data, starts)
    cost = {
        "layout": seconds(lambda: batch.layout(data)),
        "open": seconds(lambda: opened(data, starts)),
        "rebatch": seconds(lambda: rebatch(columns, codec=codec, max_bytes=FETCH_BYTES)),
        "merged": seconds(lambda: packed(data, RULES["merged"])),
        "aiokafka": seconds(lambda: merged_by_aiokafka(data, codec), 3),
        "unopened": seconds(lambda: packed(data, RULES["unopened"])),
    }
    line = f"{codec.name.lower():7s} {records_per_batch:6d} {len(data) // batches:8d} "
    line += f"{cost['layout'] / batches * 1e6:9.2f} {cost['unopened'] / batches * 1e6:9.2f} |"
    for step in ("open", "rebatch", "merged", "aiokafka"):
        line += f" {cost[step] / records * 1e6:8.2f}"
    print(line + f" | {cost['merged'] / batches * 1e6:9.1f}")


def measure_few(codec: Codec, record_bytes: int) -> None:
    """Prints the cost of opening small fetches: microseconds for n one-record batches."""
    data, _ = fetch(codec, 1, record_bytes)
    starts = batch.layout(data).starts
    line = f"{codec.name.lower():7s}"
    for count in (1, 2, 4, 8, 16, 64, 256):
        part = data[: starts[count]]
        whole = seconds(lambda part=part: packed(part, RULES["merged"]), 50)  # type: ignore[misc]
        line += f" {whole * 1e6:8.0f}"
    print(line)


def main() -> None:
    record_bytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"records of {record_bytes} bytes, fetches of {FETCH_BYTES} bytes")
    print("        -- batches of --  us a batch (layout is within unopened) | us a record")
    print(
        "codec   records    bytes    layout  unopened |     open  rebatch   merged aiokafka"
        " | merged, us a batch"
    )
    for codec in (Codec.NONE, Codec.LZ4, Codec.SNAPPY, Codec.ZSTD, Codec.GZIP):
        for records_per_batch in (1, 2, 5, 20, 100, 1000):
            measure(codec, records_per_batch, record_bytes)
    print("\nus for merging 1, 2, 4, 8, 16, 64, 256 one-record batches")
    for codec in (Codec.NONE, Codec.LZ4):
        measure_few(codec, record_bytes)


if __name__ == "__main__":
    main()
