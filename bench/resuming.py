"""Cost of replicator.groups.resume for a consumer, compared with confluent_kafka's own.

python -m bench.resuming [--records 400000] [--run 10] [--rounds 5]

There is one broker with one partition. Its records of 200 bytes belong to two regions' routes in
turn. In every round every reader reads the same log once. The table shows medians: records of the
log per second, CPU time of the process per record including librdkafka's threads, and its ratio to
that of Consumer.poll() in the same round. On a busy machine only CPU time is meaningful.
"""

from __future__ import annotations

import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import click
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.config.topology import Appliance
from replicator.groups.progress.vector_metadata import encode
from replicator.groups.resume import ResumingConsumer
from replicator.groups.resume.runs_reader import AggregateLogs
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.offset_store import RUNS_PER_PIECE, OffsetStore
from replicator.mirror.offset_map.packed_map import pack, pack_segment, unpack
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_topic import RunsKey

TOPIC = "flights"
REGIONS = ("west", "east")
FOR_EVER = 10**12


def appliance(cluster: KafkaCluster, redis: RedisServer) -> Appliance:
    tables: dict[str, Any] = {
        region: {
            "regional": {"bootstrap": [f"127.0.0.1:{port}"]},
            "aggregate": cluster.topology_table() if region == "east" else {"bootstrap": ["x:1"]},
            "redis": redis.url,
        }
        for port, region in enumerate(REGIONS, start=1)
    }
    return Appliance.model_validate({"regions": tables})


def fill(cluster: KafkaCluster, redis: RedisServer, records: int, run: int) -> None:
    """Creates a log in which the regions take turns, and stores all of its runs."""
    admin = cluster.admin()
    admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(30)
    producer = Producer({**cluster.librdkafka_options(), "linger.ms": 50, "batch.size": 1 << 18})
    for number in range(records):
        producer.produce(TOPIC, number.to_bytes(8) * 25, partition=0)
        if number % 10_000 == 0:
            producer.flush()
    producer.flush()
    topic_id = AggregateLogs(appliance(cluster, redis).region("east")).topic_ids([TOPIC])[TOPIC]
    for turn, region in enumerate(REGIONS):
        begins = range(turn * run, records, 2 * run)
        runs = tuple(Run(at * run, begin, run) for at, begin in enumerate(begins))
        offset_map = OffsetMap()
        offset_map.join([unpack(pack_segment(RunSegment(0, len(runs) * run, runs)))])
        with OffsetStore(redis.url, f"{region}.east") as store:
            key = RunsKey(TOPIC, 0, region, topic_id)
            store.copy(key, [pack(piece) for piece in offset_map.pieces(RUNS_PER_PIECE)])


def commit(cluster: KafkaCluster, group: str, vector: dict[str, int]) -> None:
    consumer = Consumer({**cluster.librdkafka_options(), "group.id": group})
    metadata = encode(vector) if vector else ""

    def is_committed() -> bool:
        # The first group of a cluster has to wait for the topic __consumer_offsets.
        with suppress(KafkaException):
            consumer.commit(offsets=[TopicPartition(TOPIC, 0, 0, metadata)], asynchronous=False)
            return True
        return False

    until(is_committed, 60)
    consumer.close()


class Pace(NamedTuple):
    """Seconds per record of the log."""

    wall_seconds: float
    cpu_seconds: float


def measured(read: Callable[[], int], records: int, *, skipped: int = 0) -> Pace:
    """Measures from the first record read on.

    Args:
        records: number of records in the log.
        skipped: number of records that the reader does not deliver.
    """
    done = 0
    while not done:
        done = read()
    began, began_cpu = time.perf_counter(), time.process_time()
    while done < records - skipped:
        done += read()
    return Pace(
        (time.perf_counter() - began) / records, (time.process_time() - began_cpu) / records
    )


class Bench:
    def __init__(self, cluster: KafkaCluster, redis: RedisServer, records: int) -> None:
        self._cluster, self._records = cluster, records
        self._appliance = appliance(cluster, redis)

    def plain(self, *, by: int) -> Pace:
        consumer = Consumer(self._config({}))
        consumer.subscribe([TOPIC])
        poll, consume = consumer.poll, consumer.consume
        try:
            if by == 1:
                return measured(lambda: poll(1.0) is not None, self._records)
            return measured(lambda: len(consume(by, 0.05)), self._records)
        finally:
            consumer.close()

    def helper(
        self,
        vector: dict[str, int],
        *,
        skipped: int = 0,
        progress: bool = False,
        with_vector: bool = False,
    ) -> Pace:
        config = self._config(vector)
        with ResumingConsumer(
            config, region="east", appliance=self._appliance, with_vector=with_vector
        ) as consumer:
            consumer.subscribe([TOPIC])

            def read() -> int:
                message = consumer.poll(1.0)
                if message is not None and progress:
                    consumer.progress(message)
                return message is not None

            return measured(read, self._records, skipped=skipped)

    def readers(self) -> Iterator[tuple[str, Callable[[], Pace]]]:
        half = {"west": 0, "east": FOR_EVER}
        yield "Consumer.poll()", lambda: self.plain(by=1)
        yield "Consumer.consume(500)", lambda: self.plain(by=500)
        yield "helper, nothing to skip", lambda: self.helper({})
        yield "helper, past its vector", lambda: self.helper({"west": 1, "east": 1}, skipped=2)
        yield (
            "helper, skipping every other run",
            lambda: self.helper(half, skipped=self._records // 2),
        )
        yield "helper, with_vector", lambda: self.helper({}, with_vector=True)
        yield (
            "helper, with_vector, progress() of every message",
            lambda: self.helper({}, with_vector=True, progress=True),
        )

    def _config(self, vector: dict[str, int]) -> dict[str, Any]:
        group = f"group-{uuid.uuid4().hex[:8]}"
        commit(self._cluster, group, vector)
        options = self._cluster.librdkafka_options()
        return {**options, "group.id": group, "enable.auto.commit": False}


@click.command()
@click.option("--records", default=400_000)
@click.option("--run", default=10, help="records in a row from one region")
@click.option("--rounds", default=5)
def main(records: int, run: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        redis = RedisServer(Path(home))
        redis.start()
        try:
            redis.wait_ready()
            with KafkaCluster("resuming", Path(home)) as cluster:
                fill(cluster, redis, records, run)
                rates: dict[str, list[Pace]] = {}
                bench = Bench(cluster, redis, records)
                for _ in range(rounds):
                    for name, read in bench.readers():
                        rates.setdefault(name, []).append(read())
        finally:
            redis.kill()
    base = rates["Consumer.poll()"]
    for name, found in rates.items():
        ratios = (a.cpu_seconds / b.cpu_seconds for a, b in zip(found, base, strict=True))
        rate = statistics.median(1 / pace.wall_seconds for pace in found)
        cpu = statistics.median(pace.cpu_seconds for pace in found) * 1e6
        ratio = statistics.median(ratios)
        click.echo(f"{name:50} {rate:10,.0f} records/s {cpu:6.2f} us of CPU  x {ratio:.2f}")


if __name__ == "__main__":
    main()
