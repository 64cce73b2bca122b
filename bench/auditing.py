"""Cost of `sluice audit`: records per second and core by depth, compared with reading everything.

    python -m bench.auditing [records]

Real carriers mirror one topic of four partitions between two brokers. Then its last hour is audited
in this process, and read record by record with another client (deploy/lab/compare.py).
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bench.machine import described, load_average
from deploy.lab.dump import compare_topic
from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import Codec, Shape, TrafficRecord, send
from replicator.audit.audit import Audit, AuditRequest
from replicator.audit.partition_audit import Depth
from replicator.audit.verdict import Verdict
from replicator.audit.window import window
from tests.live.carrying import Carrying
from tests.live.topics import create, new_name

PARTITIONS = 4
VALUE_BYTES = 200
ROUNDS = 3
CODECS: tuple[Codec, ...] = ("none", "lz4")
BATCH_RECORDS = (100, 5)


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    machine = described()
    print(f"{machine['processor']}, {machine['cores']} cores; load before: {load_average():.1f}")
    print(f"{records} records of {VALUE_BYTES} bytes, half random; best of {ROUNDS}")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        redis = RedisServer(directory)
        redis.start()
        try:
            with (
                KafkaCluster("source", directory) as source,
                KafkaCluster("target", directory) as target,
            ):
                for codec in CODECS:
                    for batch_records in BATCH_RECORDS:
                        shape = Shape(codec=codec, batch_records=batch_records)
                        _measure(source, target, redis, shape, records)
        finally:
            redis.kill()


def _measure(
    source: KafkaCluster, target: KafkaCluster, redis: RedisServer, shape: Shape, records: int
) -> None:
    topic = new_name("audited")
    create(source, topic, PARTITIONS)
    create(target, topic, PARTITIONS)
    # Small batches are the slowest to produce, so a quarter of the records has to do.
    records = records if shape.batch_records > 10 else records // 4
    with Carrying({"west": source}, target, redis, merge_below_records=0) as carrying:
        carrying.adopt(topic, PARTITIONS)
        carrying.begin()
        send(source, topic, _traffic(records), shape)
        carrying.until_carried()
        carrying.stop()
        print(f"\n{shape.codec}, batches of {shape.batch_records}:")
        for depth in Depth:
            _row(depth.value, records, partial(_audit, carrying, topic, depth, records))
        _row("record by record", records, lambda: _compared(source, target, topic), rounds=1)


def _audit(carrying: Carrying, topic: str, depth: Depth, records: int) -> None:
    now_ms = int(time.time() * 1000)
    asked = AuditRequest(
        routes=carrying.appliance.routes,
        topics=frozenset([topic]),
        window=window("1h", None, now_ms),
        depth=depth,
        now_ms=now_ms,
    )
    found = Audit(carrying.appliance, asked, 60.0, lambda done, whole: None).run()
    assert {row.verdict for row in found.rows} == {Verdict.EQUAL}, found
    assert sum(row.counted.source_records for row in found.rows) == records


def _compared(source: KafkaCluster, target: KafkaCluster, topic: str) -> None:
    found = compare_topic({"west": source}, target, topic, ["read_committed"])
    assert found["read_committed"].is_right


def _row(name: str, records: int, work: Callable[[], None], rounds: int = ROUNDS) -> None:
    best_seconds = best_cpu_seconds = float("inf")
    for _ in range(rounds):
        began, cpu_began = time.perf_counter(), time.process_time()
        work()
        best_seconds = min(best_seconds, time.perf_counter() - began)
        best_cpu_seconds = min(best_cpu_seconds, time.process_time() - cpu_began)
    print(
        f"  {name:<17} {best_seconds:6.2f} s  {best_cpu_seconds:6.2f} s of a core"
        f"  {records / best_cpu_seconds / 1e6:7.2f} M records/s of a core",
        flush=True,
    )


def _traffic(records: int) -> Iterator[TrafficRecord]:
    rng = random.Random(1)
    half = VALUE_BYTES // 2
    for number in range(records):
        value = b"%d " % number + rng.randbytes(half) + b"a" * half
        yield TrafficRecord(number % PARTITIONS, b"key-%d" % number, value[:VALUE_BYTES])


if __name__ == "__main__":
    main()
