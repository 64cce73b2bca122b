"""Cost of acquire, commit and release with very many partitions: seconds for one carrier.

    .venv/bin/python -m bench.many_partitions [partitions ...]

No record is carried: this is the cost of the ledger alone, with one broker on either end and one
connection to each. Results go into bench/results/partitions.json.
"""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from confluent_kafka.admin import NewPartitions, NewTopic

from balancer.topic_partition import TopicPartition
from bench.ground import DIRECTORY, PROPERTIES
from bench.machine import described
from deploy.lab.kafka import CHECKOUT, KafkaCluster
from deploy.lab.wait import until
from replicator.config.names import driver_id
from replicator.config.topology import KafkaCluster as Settings
from replicator.config.topology import Route
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.mirror.driver.own_topics import make_own_topics
from replicator.mirror.ledger.acquired import Acquired
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.ledger import Ledger, virgin
from replicator.mirror.ledger.takeover import Takeover
from replicator.mirror.offset_map.run_segment import RunSegment
from replicator.spark.driver_command import Driver

FILE = CHECKOUT / "bench" / "results" / "partitions.json"
COUNTS = (1000, 4000)
ROUTE = Route("west", "east")
CREATED_AT_ONCE = 4000
"""A controller refuses larger steps. 10 000 logs were not created within 300 s in 512 MiB of
heap."""
# A transaction with so many markers takes long.
TRANSACTION_TIMEOUT_MS = 120_000


class Measured(dict[str, float]):
    """Seconds by step, each printed as soon as it is known."""

    def since(self, step: str, began: float) -> float:
        self[step] = round(time.monotonic() - began, 2)
        print(f"  {step}: {self[step]} s", file=sys.stderr)
        return time.monotonic()


async def measured(source: Cluster, target: Cluster, topic: str, partitions: int) -> Measured:
    """Measures all steps for one topic, from its adoption on."""
    found = Measured()
    places = [TopicPartition(topic, number) for number in range(partitions)]
    began = time.monotonic()
    for cluster in (source, target):
        cluster.watch([topic])
        await cluster.refresh()
    began = found.since("metadata", began)

    ledger = Ledger(target, ROUTE)
    driver = Driver(target, driver_id(ROUTE.target), TRANSACTION_TIMEOUT_MS)
    await driver.open()
    await driver.commit(ledger.offsets({place: virgin(ledger, 0) for place in places}))
    await driver.commit(ledger.witness(topic, partitions))
    found.since("adopt", began)

    first = await FencedCommitter(target, f"{topic}.0", TRANSACTION_TIMEOUT_MS).open()
    began = time.monotonic()
    taken = await acquired(Takeover(**parts(ledger, first, source, target)), places)
    began = found.since("take virgin", began)
    # As progress is committed when all partitions had traffic.
    entries = {p: replace(entry, source_epoch=1) for p, entry in taken.items()}
    await ledger.commit(first, entries)
    found.since("commit all", began)

    second = await FencedCommitter(target, f"{topic}.1", TRANSACTION_TIMEOUT_MS).open()
    began = time.monotonic()
    taken = await acquired(Takeover(**parts(ledger, second, source, target)), places)
    began = found.since("take over from a dead carrier", began)
    freed = {
        p: replace(entry, custody=Custody.RELEASED, transactional_id=f"{topic}.1.free")
        for p, entry in taken.items()
    }
    await ledger.release(second, freed)
    began = found.since("release", began)
    third = await FencedCommitter(target, f"{topic}.2", TRANSACTION_TIMEOUT_MS).open()
    await acquired(Takeover(**parts(ledger, third, source, target)), places)
    found.since("take released", began)
    return found


def parts(
    ledger: Ledger, fenced_committer: FencedCommitter, source: Cluster, target: Cluster
) -> dict[str, Any]:
    async def tell(_: Mapping[TopicPartition, tuple[Entry, RunSegment]]) -> None:
        """Publishes no run, since nothing was carried."""

    return {
        "ledger": ledger,
        "fenced_committer": fenced_committer,
        "source": source,
        "target": target,
        "start": "earliest",
        "tell": tell,
        "timeout_ms": TRANSACTION_TIMEOUT_MS,
    }


async def acquired(
    takeover: Takeover, places: Sequence[TopicPartition]
) -> dict[TopicPartition, Entry]:
    """Acquires all partitions, and asks again for the missing ones as a carrier does."""
    entries: dict[TopicPartition, Entry] = {}
    while left := [place for place in places if place not in entries]:
        found: Acquired = await takeover.acquire(left)
        assert not found.parked, next(iter(found.parked.items()))
        entries |= {place: one.entry for place, one in found.taken.items()}
    return entries


def create(cluster: KafkaCluster, topic: str, partitions: int) -> None:
    """Creates a topic, and waits until all of its logs exist, so that no measured step has to
    wait."""
    admin = cluster.admin()
    admin.create_topics([NewTopic(topic, min(partitions, CREATED_AT_ONCE))])[topic].result(120)
    for count in range(2 * CREATED_AT_ONCE, partitions + CREATED_AT_ONCE, CREATED_AT_ONCE):
        grown = NewPartitions(topic, min(count, partitions))
        admin.create_partitions([grown])[topic].result(120)
    asking = Admin(cluster.name, Settings(bootstrap=(cluster.bootstrap,)))
    places = {(topic, number) for number in range(partitions)}
    assert until(lambda: len(asking.offsets(places, "latest")) == partitions, 300.0)


async def run(source: KafkaCluster, target: KafkaCluster, counts: Sequence[int]) -> list[Any]:
    """Returns one result for each partition count."""
    ends = [Cluster(end.name, Settings(bootstrap=(end.bootstrap,))) for end in (source, target)]
    for end in ends:
        await end.open()
    results = []
    for partitions in counts:
        topic = f"many-{partitions}"
        print(f"{partitions} partitions", file=sys.stderr)
        began = time.monotonic()
        for cluster in (source, target):
            create(cluster, topic, partitions)
        created = time.monotonic() - began
        steps = await measured(ends[0], ends[1], topic, partitions)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        results.append(
            {
                "partitions": partitions,
                "topic created on both ends": round(created, 2),
                "seconds": steps,
                "peak_rss_mb": round(peak_mb),
            }
        )
    for end in ends:
        await end.close()
    return results


def main(counts: Sequence[int]) -> None:
    directory = DIRECTORY.with_name("bench-partitions")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with (
        KafkaCluster("source", directory, properties=PROPERTIES) as source,
        KafkaCluster("target", directory, properties=PROPERTIES) as target,
    ):
        make_own_topics(Admin("target", Settings(bootstrap=(target.bootstrap,))), [ROUTE], 1)
        results = asyncio.run(run(source, target, counts))
    FILE.write_text(json.dumps({"machine": described(), "results": results}, indent=2) + "\n")
    print(f"results are in {FILE}", file=sys.stderr)


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or COUNTS)
