"""Memory of a carrier's process: with many partitions, and with all that it can hold.

    python -m bench.carrier_memory

A real carrier runs in a process of its own, with all modules that a Spark worker loads. *Idle*:
each of its partitions gets a record now and then. *Full*: there is a backlog and the target does
not answer for a while, so that the carrier fills all its buffers. Then it continues, is killed, and
another carrier takes over. The figures are peaks of the resident size. Results go into
bench/results/memory.json, the source of the figures in balancer/demand/carrier_memory.py.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import random
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import uvloop
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from confluent_kafka import KafkaException

from bench.ground import DIRECTORY, PROPERTIES, say
from bench.machine import described, load_average
from bench.many_partitions import create as create_many
from deploy.lab.credentials import Protocol
from deploy.lab.kafka import CHECKOUT, KafkaCluster
from deploy.lab.process import Process
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.config.topology import KafkaCluster as Settings
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.protocol.produce import ProduceRequest
from replicator.mirror.carrier.receipts import to_arrow
from replicator.mirror.driver.carrier_source import CarrierTask, carried
from replicator.mirror.ledger.entry import Custody
from replicator.mirror.offset_map.redis_writer import PENDING_BYTES_MAX, RedisWriter
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_topic import RunsKey
from replicator.notices.conditions import Conditions
from tests.live.both_ends import stable_ends
from tests.live.carrying import Carrying
from tests.live.topics import create

FILE = CHECKOUT / "bench" / "results" / "memory.json"
IDLE = (1, 1000, 2000, 4000)
IDLE_ROUNDS, IDLE_SECONDS = 5, 2.0
FROZEN_SECONDS = 6.0
"""Below the request timeout; the fetches of one second fill a carrier."""
GOING_ON_SECONDS = 4.0
AS_BY_DEFAULT: Mapping[str, Any] = {
    "ledger_seconds": 5.0,
    "runs_seconds": 1.0,
    "word_poll_seconds": 0.2,
    "drain_seconds": 2.0,
}
NEVER_DEAD = {"broker.session.timeout.ms": 60_000}
"""A broker that is paused for a while must not be declared dead."""


@dataclass(frozen=True, slots=True)
class Case:
    """A backlog: number of batches in each partition, and of records in each batch."""

    partitions: int
    batches: int
    batch_records: int
    record_bytes: int
    security: Protocol = "plaintext"


CASES = (
    Case(1, 1600, 100, 1000),
    Case(8, 400, 100, 1000),
    Case(64, 110, 100, 1000),
    Case(64, 110, 100, 1000, "tls"),
    Case(400, 120, 16, 1000),
    Case(400, 1200, 40, 10),
    Case(400, 1500, 1, 200),
)


# -- measured process


def be_carrier(told: Path) -> None:
    """Runs a carrier as a Spark worker does, on the assignment that Carrying wrote to this file."""
    import pyspark.worker  # noqa: F401

    appliance, assignment = pickle.loads(told.read_bytes())
    conditions = [Conditions("carrier")]
    seconds = assignment.deadline - time.monotonic()
    receipts = uvloop.run(carried(CarrierTask(appliance, (assignment,), seconds), conditions))
    if receipts:
        to_arrow(receipts)


def peak_mb(process: Process) -> float:
    """Returns the process's peak resident size in MB so far, or 0 if it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def ended(carrying: Carrying, process: Process) -> float:
    """Stops the carrier, and returns the peak of its memory in MB."""
    carrying.stop()
    peak = 0.0
    while process.is_running():
        peak = max(peak, peak_mb(process))
        time.sleep(0.02)
    return peak


# -- measurements


class Bench:
    """Measurements on two clusters and a Redis."""

    def __init__(self, source: KafkaCluster, target: KafkaCluster, redis: RedisServer) -> None:
        self.source, self.target, self.redis = source, target, redis

    def carrying(self) -> Carrying:
        return Carrying({"west": self.source}, self.target, self.redis, **AS_BY_DEFAULT)

    def idle(self, topic: str, partitions: int) -> dict[str, object]:
        """Measures a carrier of the topic's first partitions, which get a record now and then."""
        with self.carrying() as carrying:
            carrying.adopt(topic, partitions)
            process = carrying.begin_process("bench.carrier_memory")
            assert until(
                lambda: all(e.custody is Custody.HELD for e in carrying.entries().values()), 100, 1
            )
            for _ in range(IDLE_ROUNDS):
                asyncio.run(fill(self.source, topic, Case(partitions, 1, 1, 100)))
                time.sleep(IDLE_SECONDS)
            peak = ended(carrying, process)
        say(f"{partitions} partitions: {peak:.0f} MB")
        return {"partitions": partitions, "peak_mb": round(peak)}

    def full(self, topic: str, case: Case) -> dict[str, object]:
        """Measures a carrier whose target does not answer, then answers again, and then its
        successor."""
        for cluster in (self.source, self.target):
            create(cluster, topic, case.partitions)
            there = {topic: case.partitions}
            assert until(partial(has_all, cluster, there), 60)
        asyncio.run(fill(self.source, topic, case))
        with self.carrying() as carrying:
            carrying.adopt(topic, case.partitions)
            process = carrying.begin_process("bench.carrier_memory")
            assert until(lambda: any(stable_ends(self.target, {topic: 1}).values()), 60, 0.02)
            self.target.pause()
            time.sleep(FROZEN_SECONDS)
            frozen = peak_mb(process)
            self.target.resume()
            time.sleep(GOING_ON_SECONDS)
            went_on = peak_mb(process)
            process.kill()
            successor = carrying.begin_process("bench.carrier_memory")
            carrying.until_held_by(successor)
            time.sleep(GOING_ON_SECONDS)
            took_over = peak_mb(successor)
            successor.kill()
        found = {
            **asdict(case),
            "frozen_mb": round(frozen),
            "going_on_mb": round(went_on),
            "successor_mb": round(took_over),
        }
        say(str(found))
        return found


def has_all(cluster: KafkaCluster, topics: Mapping[str, int]) -> bool:
    with suppress(KafkaException):
        return len(stable_ends(cluster, topics)) == sum(topics.values())
    return False


async def fill(cluster: KafkaCluster, topic: str, case: Case) -> None:
    """Produces the batches of the case into each partition."""
    settings = Settings.model_validate(cluster.topology_table())
    source = Cluster("source", settings, request_timeout_ms=60_000)
    await source.open([topic])
    try:
        leader, known = source.leader(topic, 0), source.topic(topic)
        assert leader is not None and known is not None
        connection = await source.connect(leader.node)
        batch = made(case)
        for _ in range(case.batches):
            each = [(number, batch) for number in range(case.partitions)]
            request = ProduceRequest({(topic, known.id): each}, timeout_ms=30_000)
            response = await connection.send(request)
            refused = [row[1] for _, rows, *_ in response.responses for row in rows if row[1]]
            assert not refused, refused
        connection.close()
    finally:
        await source.close()


def made(case: Case) -> bytearray:
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1 << 30)
    now_ms = int(time.time() * 1000)
    for number in range(case.batch_records):
        builder.append(number, now_ms, None, random.randbytes(case.record_bytes), [])
    built: bytearray = builder.build()
    return built


# -- runs kept while Redis is away


def without_redis() -> float:
    """Returns the memory in MB that kept runs take at most, as if runs arrived for hours."""
    writer = RedisWriter("redis://127.0.0.1:1/0", "west.east", 0)
    before = resident_mb()
    pieces = 2 * PENDING_BYTES_MAX // 200
    for at in range(pieces):
        key = RunsKey(f"topic-{at % 4000}", 0, "a source topic's id", "a target topic's id")
        writer.append(key, [RunSegment(at, at + 7, (Run(at, 3 * at, 7),))])
    return resident_mb() - before


def resident_mb() -> float:
    line = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line
    )
    return int(line.split()[1]) * 1024 / 1e6


# -- command


@contextmanager
def benches(directory: Path) -> Iterator[dict[Protocol, Bench]]:
    """Yields a bench for each security protocol."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    redis = RedisServer(directory)
    redis.start()
    redis.wait_ready()
    kinds: tuple[Protocol, ...] = ("plaintext", "tls")
    properties = {**PROPERTIES, **NEVER_DEAD}
    clusters = {
        (end, kind): KafkaCluster(f"{end}-{kind}", directory, properties=properties, security=kind)
        for end in ("source", "target")
        for kind in kinds
    }
    try:
        for cluster in clusters.values():
            cluster.start()
        for cluster in clusters.values():
            cluster.wait_ready()
        yield {
            kind: Bench(clusters["source", kind], clusters["target", kind], redis) for kind in kinds
        }
    finally:
        for cluster in clusters.values():
            cluster.kill_all()
            shutil.rmtree(cluster.directory / "node-1" / "data", ignore_errors=True)
        redis.kill()


def main() -> None:
    results: dict[str, object] = {"machine": described(), "load_before": load_average()}
    results["redis_away_mb"] = round(without_redis())
    with benches(DIRECTORY.with_name("bench-memory")) as found:
        plain = found["plaintext"]
        for cluster in (plain.source, plain.target):
            create_many(cluster, "idle", max(IDLE))
        results["idle"] = [plain.idle("idle", partitions) for partitions in IDLE]
        results["full"] = [
            found[case.security].full(f"full-{at}", case) for at, case in enumerate(CASES)
        ]
    FILE.write_text(json.dumps(results, indent=2) + "\n")
    say(f"results are in {FILE}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        be_carrier(Path(sys.argv[1]))
    else:
        main()
