"""An upsert table between real servers: topics of two clusters, and a table of rows on replicas."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from confluent_kafka.admin import NewTopic

from aggregator.upsert.facts import LaneNote, notes_by_lane
from aggregator.upsert.row_task import RowTask, RowWorker
from aggregator.upsert.table_names import UPSERT_COLUMNS, rows_table
from aggregator.upsert.tick import Lane, LaneRange, Tick
from aggregator.upsert.upsert_schema import ROWS_PARTITION
from deploy.lab.credentials import PASSWORD
from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import PLAIN, Shape, TrafficRecord, send
from replicator.batches.committed_records import committed_records
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.topology import Appliance
from replicator.config.topology import load as load_config
from replicator.kafka.client.cluster import Cluster
from tests.live.replicas import ReplicatedDatabase

TABLE = "orders"
COLUMNS = {"id": "UInt64", "text": "String", "at": "DateTime"}
COORDINATES = "_cluster String, _topic String, _partition UInt32, _offset UInt64, _row UInt32"
CLUSTERS = ("west regional", "east regional")


@dataclass
class Facts:
    """Facts and notes that a task has yielded."""

    rows: list[dict[str, Any]]
    notes: tuple[LaneNote, ...]

    @classmethod
    def of(cls, batches: Iterable[Any]) -> Facts:
        rows = [row for batch in batches for row in batch.to_pylist()]
        facts = sorted((row for row in rows if row["note"] is None), key=lambda row: row["row_id"])
        return cls(facts, notes_by_lane(row["note"] for row in rows if row["note"] is not None))

    @property
    def ids(self) -> list[int]:
        return [row["row_id"] for row in self.rows]


@dataclass
class RowGround:
    """Table `orders` of a feed that reads a topic of each cluster.

    Args:
        clusters: west and east.
        settings: further lines of the feed's table `orders`.
    """

    directory: Path
    clusters: Sequence[KafkaCluster]
    database: ReplicatedDatabase
    settings: str = ""
    partitions: int = 2
    quorum: int = 2
    topic: str = field(init=False)
    lanes: tuple[Lane, ...] = field(init=False)
    appliance: Appliance = field(init=False)
    worker: RowWorker = field(init=False)
    number: int = 0
    ends: list[int] = field(init=False)
    _workers: list[RowWorker] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.topic = f"orders_{uuid.uuid4().hex[:8]}"
        for cluster in self.clusters:
            cluster.create_topics(NewTopic(self.topic, self.partitions))
        self.appliance = self._appliance()
        self.worker = self.new_worker()
        own = ", ".join(f"{name} {kind}" for name, kind in {**COLUMNS, **UPSERT_COLUMNS}.items())
        self.database.create_table(
            rows_table(TABLE),
            f"{own}, {COORDINATES}",
            order_by="(id, _row_id)",
            partition_by=ROWS_PARTITION,
            settings={"replicated_deduplication_window": 10_000},
        )
        self.lanes = asyncio.run(self._lanes())
        self.ends = [0] * len(self.lanes)

    def new_worker(self) -> RowWorker:
        """Returns what another process of Spark would have."""
        feed = self.appliance.feed("shop")
        assert isinstance(feed, ClickHouseFeed)
        worker = RowWorker(self.appliance, feed, feed.tables[TABLE])
        self._workers.append(worker)
        return worker

    def close(self) -> None:
        """Ends all connections."""
        for worker in self._workers:
            worker.close()

    def _appliance(self) -> Appliance:
        secret = self.directory / "clickhouse-password"
        secret.write_text(PASSWORD)
        path = self.directory / f"{self.topic}.toml"
        columns = ", ".join(f'{name} = "{kind}"' for name, kind in COLUMNS.items())
        regions = "".join(
            f"""
[regions.{name.split()[0]}]
redis = "redis://127.0.0.1:1"
regional.bootstrap = {json.dumps(cluster.bootstrap.split(","))}
aggregate.bootstrap = ["127.0.0.1:{number}"]
"""
            for number, (name, cluster) in enumerate(zip(CLUSTERS, self.clusters, strict=True), 1)
        )
        path.write_text(f"""{regions}
[feeds.shop]
region = "west"
clusters = {json.dumps(CLUSTERS)}
retry_seconds = 0.05
insert_timeout_seconds = 10.0
[[feeds.shop.shards]]
replicas = {json.dumps(self.database.replicas.addresses())}
database = "{self.database.name}"
password_file = "{secret}"
quorum = {self.quorum}
[feeds.shop.tables.{TABLE}]
semantic = "upsert"
topics = ["{self.topic}"]
columns = {{ {columns} }}
primary_key = ["id"]
{self.settings}
""")
        return load_config(path)

    async def _lanes(self) -> tuple[Lane, ...]:
        found = []
        for name in CLUSTERS:
            cluster = await self._opened(name)
            topic = cluster.topic(self.topic)
            assert topic
            found += [Lane(name, self.topic, topic.id, at) for at in range(self.partitions)]
            await cluster.close()
        return tuple(found)

    async def _opened(self, name: str) -> Cluster:
        region = self.appliance.region(name.split()[0])
        cluster = Cluster(name, region.regional)
        await cluster.open([self.topic])
        return cluster

    def send(self, west: bool, some: Iterable[TrafficRecord], shape: Shape = PLAIN) -> None:
        """Sends records to the topic of one cluster."""
        send(self.clusters[0 if west else 1], self.topic, some, shape)

    def tick(self, **options: Any) -> Tick:
        """Returns the next tick: all that the topics have now."""
        begins, self.ends = self.ends, asyncio.run(self._log_ends())
        self.number += 1
        ranges = tuple(LaneRange(*pair) for pair in zip(begins, self.ends, strict=True))
        now_ms = time.time_ns() // 1_000_000
        return Tick(1, self.number, now_ms, self.lanes, ranges, **options)

    async def _log_ends(self) -> list[int]:
        found = []
        for name in CLUSTERS:
            cluster = await self._opened(name)
            for number in range(self.partitions):
                fetched = await cluster.fetch(self.topic, number, 0, 1, read_committed=True)
                found.append(fetched.stable_offset)
            await cluster.close()
        return found

    def first_offset(self, lane: int) -> int:
        """Returns the offset of the first record that a lane's log has."""
        return asyncio.run(self._first_offset(self.lanes[lane]))

    async def _first_offset(self, lane: Lane) -> int:
        cluster = await self._opened(lane.cluster)
        fetched = await cluster.fetch(lane.topic, lane.partition, 0, 1 << 20, read_committed=True)
        await cluster.close()
        found = committed_records(fetched.records, position=0, aborted=fetched.aborted)
        assert found.records is not None
        return int(found.records.offset[0])

    def task(self, tick: Tick, **options: Any) -> RowTask:
        """Returns a task of all blocks of a tick."""
        return RowTask(
            appliance=self.appliance,
            feed="shop",
            table=TABLE,
            tick=tick,
            **{"blocks": tuple(range(tick.blocks)), "patience_seconds": 20.0, **options},
        )

    def done(self, task: RowTask, worker: RowWorker | None = None) -> Facts:
        """Does a task in this process."""
        return Facts.of((worker or self.worker).read(task))

    def stored(self, tick: Tick) -> list[list[int]]:
        """Returns the row ids of a tick on each replica, sorted, doubled ones twice."""
        query = (
            f"SELECT arraySort(groupArray(_row_id)) FROM {rows_table(TABLE)} "
            f"WHERE intDiv(_row_id, 4294967296) = {tick.number}"
        )
        return self.database.on_each(query, rows_table(TABLE))

    def assert_exact(self, tick: Tick, facts: Facts) -> None:
        """Checks that each replica has the rows of the facts, once each."""
        assert self.stored(tick) == [facts.ids] * len(self.database.replicas)


def orders(
    count: int, *, first: int = 0, partitions: int = 2, days: int = 1
) -> list[TrafficRecord]:
    """Returns orders whose times are on the last days."""
    now_s = int(time.time())
    found = []
    for number in range(first, first + count):
        document = {"id": number % 50, "text": f"n {number}", "at": now_s - number % days * 86_400}
        value = json.dumps(document).encode()
        found.append(TrafficRecord(number % partitions, str(number % 50).encode(), value))
    return found


def of_block(task: RowTask, *blocks: int) -> RowTask:
    """Returns the part of a task that does some blocks."""
    return replace(task, blocks=blocks)
