"""Records of the upsert cases that load: JSON documents, several per key, in lz4 batches.

A key is in one partition, and its versions follow each other there at a distance. So the newest
record of a partition is the newest of its key: once a query sees that, it sees all before it.
"""

from __future__ import annotations

import asyncio
import random
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from bench.background import Background
from bench.flights import AIRPORTS, CARRIERS, DOCUMENT_BYTES
from bench.ground import PARTITIONS, make_topic, say
from bench.load import ALPHABET, LZ4, leader_of, send_batches
from deploy.lab.kafka import KafkaCluster

VERSIONS_PER_KEY = 3
COLUMNS = {
    "id": "UInt64",
    "number": "UInt64",
    "lane": "UInt32",
    "at": "DateTime",
    "carrier": "String",
    "origin": "String",
    "delay": "Int32",
    "price": "Float64",
    "note": "String",
}
"""Columns that the documents fill: key, version, partition, and values."""
POOL_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class UpsertLoad:
    """Records of a topic.

    Args:
        records: a multiple of batch_records * PARTITIONS.
        versions_per_key: of a key, behind each other in its partition.
        distance: keys of a partition that come in turn before the next version of the first.
        batch_records: records of one batch of a partition.
        first: place of the first record in its partition, where others were sent before.
    """

    topic: str
    records: int
    versions_per_key: int = VERSIONS_PER_KEY
    distance: int = 20_000
    batch_records: int = 1000
    first: int = 0

    @property
    def rounds(self) -> int:
        """Number of batches of each partition."""
        return self.records // self.batch_records // PARTITIONS

    def batches(self) -> Iterator[bytearray]:
        """Yields the batches of all partitions in turn, with offsets from 0 and the present time.

        A record's number is that of its place in its partition, times PARTITIONS, plus the
        partition's.
        """
        pool = _pool(self.topic)
        for each in range(self.rounds):
            for lane in range(PARTITIONS):
                yield self._batch(self.first + each * self.batch_records, lane, pool)

    def key(self, place: int, lane: int) -> int:
        """Returns the key of a record by its place in its partition."""
        turn, rest = divmod(place, self.distance * self.versions_per_key)
        return (turn * self.distance + rest % self.distance) * PARTITIONS + lane

    def _batch(self, first: int, lane: int, pool: bytes) -> bytearray:
        builder = DefaultRecordBatchBuilder(2, LZ4, 0, -1, -1, -1, 1 << 30)
        now_ms = time.time_ns() // 1_000_000
        for index in range(self.batch_records):
            place = first + index
            number, key = place * PARTITIONS + lane, self.key(place, lane)
            value = document(key, number, lane, pool)
            builder.append(index, timestamp=now_ms, key=b"%d" % key, value=value, headers=[])
        built: bytearray = builder.build()
        return built


def document(key: int, number: int, lane: int, pool: bytes) -> bytes:
    """Returns a JSON document of DOCUMENT_BYTES.

    Args:
        pool: characters, from which the note is taken.
    """
    seconds = number % 86_400
    at = f"2026-11-24 {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    head = (
        f'{{"id":{key},"number":{number},"lane":{lane},"at":"{at}","carrier":"{CARRIERS[key % 6]}",'
        f'"origin":"{AIRPORTS[key // 7 % 10]}","delay":{number % 240 - 20},'
        f'"price":{number % 100_000 / 4},"note":"'
    ).encode()
    room = max(0, DOCUMENT_BYTES - len(head) - 2)
    begin = number * 7919 % (len(pool) - room)
    return head + pool[begin : begin + room] + b'"}'


def _pool(seed: str) -> bytes:
    rng = random.Random(seed)
    return bytes(ALPHABET[byte % 62] for byte in rng.randbytes(POOL_BYTES))


def fill(cluster: KafkaCluster, load: UpsertLoad) -> None:
    """Creates and fills a topic. Raises RuntimeError if a batch is refused."""
    began_at = time.monotonic()
    make_topic(cluster, load.topic)
    asyncio.run(send_batches(cluster, load.topic, load.rounds, list(load.batches())))
    say(f"loaded {load.topic}: {load.records:,} records in {time.monotonic() - began_at:.0f} s")


class PacedBatches(Background):
    """Sender of a load at an even pace: batches that were built before, so that two cores are left
    to what is measured.

    Args:
        sent_at: time of each round's sending, by perf_counter: each partition has got its batch
            by then or a moment later.
    """

    def __init__(self, cluster: KafkaCluster, load: UpsertLoad, records_per_second: int) -> None:
        super().__init__()
        self._cluster, self._load = cluster, load
        self._batches = list(load.batches())
        self._round_seconds = load.batch_records * PARTITIONS / records_per_second
        self.sent_at = array("d")

    @property
    def records(self) -> int:
        """Number of the records that were sent."""
        return len(self.sent_at) * self._load.batch_records * PARTITIONS

    def work(self) -> None:
        asyncio.run(self._send())

    async def _send(self) -> None:
        began_at = time.perf_counter()
        async with leader_of(self._cluster, self._load.topic) as leader:
            connection = await leader.connect()
            batches = iter(self._batches)
            while not self.over.is_set():
                due_at = began_at + len(self.sent_at) * self._round_seconds
                await asyncio.sleep(max(0.0, due_at - time.perf_counter()))
                each = list(islice(batches, PARTITIONS))
                if not each:
                    break
                sent_at = time.perf_counter()
                await leader.send(connection, each)
                self.sent_at.append(sent_at)
            connection.close()
