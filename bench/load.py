"""Fills the source topics quickly: real batches are built once and sent repeatedly.

A producer would need minutes for what a mirror carries in seconds. The log content is the same: lz4
batches of format v2 with keyed, JSON-like records, about half of which compresses away.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import string
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from bench.ground import PARTITIONS, Ground, make_topic, say
from deploy.lab.kafka import KafkaCluster
from replicator.config import topology
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.connection import Connection
from replicator.kafka.protocol.produce import ProduceRequest

LZ4 = 3
# Enough different batches that lz4's window (64 KiB) never holds two equal ones.
DIFFERENT_BYTES = 24 << 20
CONNECTIONS = 3
IN_FLIGHT = 4
TEXT = '","status":"delivered","carrier":"standard","warehouse":"north","currency":"EUR","note":"'
ALPHABET = (string.ascii_letters + string.digits).encode()


@dataclass(frozen=True, slots=True)
class Load:
    """Records of one source topic: their number, their size, and their number per batch."""

    topic: str
    records: int
    record_bytes: int
    batch_records: int

    def of(self, records: int) -> Load:
        """Returns the same kind of load with another number of records, rounded to whole
        batches."""
        whole = self.batch_records * PARTITIONS
        rounded = max(1, round(records / whole)) * whole
        return Load(self.topic, rounded, self.record_bytes, self.batch_records)


def fill(ground: Ground, load: Load) -> None:
    """Creates and fills the source topic. Raises RuntimeError if a batch is refused."""
    began_at = time.monotonic()
    make_topic(ground.source, load.topic)
    rounds = load.records // load.batch_records // PARTITIONS
    asyncio.run(send_batches(ground.source, load.topic, rounds, _different_batches(load)))
    seconds = time.monotonic() - began_at
    say(f"loaded {load.topic}: {load.records:,} records in {seconds:.0f} s")


async def send_batches(
    cluster: KafkaCluster, topic_name: str, rounds: int, different: Sequence[bytearray]
) -> None:
    """Sends batches to a topic, so many to each partition: one after another, again and again.

    Raises RuntimeError if a batch is refused.
    """
    batches = itertools.cycle(different)
    requests = iter(range(rounds))

    async def send(connection: Connection) -> None:
        for _ in requests:
            await leader.send(connection, [next(batches) for _ in range(PARTITIONS)])

    async with leader_of(cluster, topic_name) as leader:
        connections = [await leader.connect() for _ in range(CONNECTIONS)]
        await asyncio.gather(*(send(each) for each in connections for _ in range(IN_FLIGHT)))
        for connection in connections:
            connection.close()


@dataclass(frozen=True, slots=True)
class Leader:
    """Broker of all partitions of a topic."""

    source: Cluster
    topic: str
    topic_id: UUID
    node: int

    async def connect(self) -> Connection:
        return await self.source.connect(self.node)

    async def send(self, connection: Connection, batches: Sequence[bytearray]) -> None:
        """Sends a batch to each partition from the first on, as a broker accepts one of each in a
        request. Raises RuntimeError if one is refused."""
        each = list(enumerate(batches))
        request = ProduceRequest({(self.topic, self.topic_id): each}, timeout_ms=30_000)
        response = await connection.send(request)
        refused = [row[1] for _, rows, *_ in response.responses for row in rows if row[1]]
        if refused:
            raise RuntimeError(f"{self.topic}: the broker refuses batches with errors {refused}")


@asynccontextmanager
async def leader_of(cluster: KafkaCluster, topic_name: str) -> AsyncIterator[Leader]:
    """Yields the broker of a topic's partitions."""
    settings = topology.KafkaCluster(bootstrap=tuple(cluster.bootstrap.split(",")))
    source = Cluster("source", settings, request_timeout_ms=60_000)
    await source.open([topic_name])
    try:
        topic, leader = source.topic(topic_name), source.leader(topic_name, 0)
        assert topic is not None and leader is not None
        yield Leader(source, topic_name, topic.id, leader.node)
    finally:
        await source.close()


def _different_batches(load: Load) -> list[bytearray]:
    rng = random.Random(load.topic)
    now_ms = int(time.time() * 1000)
    found: list[bytearray] = []
    size_bytes = 0
    most = load.records // load.batch_records
    while size_bytes < DIFFERENT_BYTES and len(found) < most:
        batch = _batch(rng, load, now_ms)
        size_bytes += load.record_bytes * load.batch_records
        found.append(batch)
    return found


def _batch(rng: random.Random, load: Load, now_ms: int) -> bytearray:
    builder = DefaultRecordBatchBuilder(2, LZ4, 0, -1, -1, -1, 1 << 30)
    for index in range(load.batch_records):
        key = b"order-%08d" % rng.randrange(100_000_000)
        builder.append(
            index,
            timestamp=now_ms + index // 100,
            key=key,
            value=value(rng, load.record_bytes),
            headers=[],
        )
    built: bytearray = builder.build()
    return built


def value(rng: random.Random, size_bytes: int) -> bytes:
    """Returns a JSON-like value: its first half is nearly random, its second compresses well."""
    half = size_bytes // 2
    random_part = bytes(ALPHABET[byte % 62] for byte in rng.randbytes(half - 10))
    text = (b'{"id":"' + random_part + (TEXT * (half // len(TEXT) + 1)).encode())[: size_bytes - 2]
    return text + b'"}'
