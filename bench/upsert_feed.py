"""Append table and upsert table of one topic, each as in production: `sluice aggregate` with a
configuration file and Spark."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil

from aggregator.upsert.reader import Reader
from aggregator.upsert.row_task import store_of
from aggregator.upsert.table_creation import create_tables
from bench.feed_ground import FeedShard
from bench.measure import TREE_SECONDS, Tree
from bench.sluice_feed import COORDINATES, FEED, MASTER, REGION, STOP_SECONDS
from bench.sluice_run import OWN_PROGRAM
from bench.upsert_load import COLUMNS, VERSIONS_PER_KEY
from deploy.lab.credentials import PASSWORD, USERNAME
from deploy.lab.process import Process
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.topology import Appliance, load

APPEND, UPSERT = "append", "upsert"
Row = dict[str, Any]
"""Fields of an UpsertResult."""
BLOCK_SECONDS = 2.0
TABLE = """
[feeds.{feed}.tables.{table}]
semantic = "upsert"
topics = ["{topic}"]
columns = {{ {columns} }}
primary_key = ["id"]
newest_column = "number"
{settings}
"""
ENVIRONMENT = {"PYTHONSAFEPATH": "1"}
CLAIMED = "SELECT sum(rows), max(tick), sum(events) FROM {table} WHERE what = 'claim'"


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds so far, by kind of process."""

    driver: float
    jvm: float
    workers: float
    store: float
    brokers: float

    @property
    def sluice(self) -> float:
        """All processes of Sluice."""
        return self.driver + self.jvm + self.workers

    def since(self, before: Spent) -> Spent:
        """Returns what was spent after an earlier reading."""
        return Spent(
            self.driver - before.driver,
            self.jvm - before.jvm,
            self.workers - before.workers,
            self.store - before.store,
            self.brokers - before.brokers,
        )


class UpsertFeed:
    """A `sluice aggregate` process that keeps a topic as tables of the kinds APPEND and UPSERT.

    Args:
        kinds: one or both of them.
        settings: further lines of the upsert table's settings.
        options: of `sluice aggregate`.
    """

    def __init__(
        self,
        shard: FeedShard,
        topic: str,
        kinds: Sequence[str],
        settings: str = "",
        options: Sequence[str] = (),
    ) -> None:
        self.shard, self.topic, self.kinds = shard, topic, tuple(kinds)
        self._options = tuple(options)
        self.upsert_table = f"{topic}_states"
        address = json.dumps([server.address() for server in shard.servers])
        kafka = shard.ground.kafka.bootstrap
        text = REGION.format(redis=shard.ground.redis.url, kafka=kafka)
        columns = ", ".join(f'{name} = "{kind}"' for name, kind in COLUMNS.items())
        for kind in self.kinds:
            feed = self._feed(kind)
            text += FEED.format(
                feed=feed,
                format="json",
                schemas="",
                table_from="topic",
                topic=topic,
                replicas=address,
                quorum=shard.quorum,
                block_seconds=BLOCK_SECONDS,
            )
            if kind == UPSERT:
                text += TABLE.format(
                    feed=feed,
                    table=self.upsert_table,
                    topic=topic,
                    columns=columns,
                    settings=settings,
                )
        self.config = shard.directory / f"{'-'.join(self.kinds)}.toml"
        self.config.write_text(text)
        password = shard.directory / "password"
        password.write_text(f"{PASSWORD}\n")
        password.chmod(0o600)
        self.log = shard.directory / f"{'-'.join(self.kinds)}.log"
        self._process: Process | None = None
        self._create()

    def _feed(self, kind: str) -> str:
        return f"{kind}{self.shard.number}"

    @property
    def appliance(self) -> Appliance:
        return load(self.config)

    @property
    def process(self) -> Process:
        assert self._process is not None, "start() first"
        return self._process

    def _create(self) -> None:
        if APPEND in self.kinds:
            columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
            self.shard.create_table(self.topic, f"{columns}, {COORDINATES}")
        if UPSERT in self.kinds:
            feed = self.appliance.feed(self._feed(UPSERT))
            assert isinstance(feed, ClickHouseFeed)
            table = feed.tables[self.upsert_table]
            store = store_of(feed, table)
            try:
                found = create_tables(store, table)
            finally:
                store.close()
            if found.mistakes or found.failures:
                raise RuntimeError(f"the tables cannot be made: {found}")

    def start(self) -> None:
        """Starts the daemon."""
        command = [os.fspath(OWN_PROGRAM), "aggregate", "--config", os.fspath(self.config)]
        command += ["--region", "east", "--master", MASTER, *self._options]
        self._process = Process("sluice aggregate", command, self.log, environment=ENVIRONMENT)

    def stop(self) -> None:
        """Ends the daemon, also after a failure."""
        if self._process is not None:
            self._process.stop(STOP_SECONDS)

    def rows(self, kind: str) -> int:
        """Returns the number of rows that a query may see, those that ended included."""
        if kind == APPEND:
            return self.shard.rows([self.topic])
        return self.claimed()[0]

    def claimed(self) -> tuple[int, int, int]:
        """Returns rows, number and row ends of all claimed ticks."""
        with self.shard.client() as client:
            found = client.execute(CLAIMED.format(table=f"{self.upsert_table}__ticks"))
        rows, tick, events = found[0]
        return int(rows), int(tick), int(events)

    def reader(self) -> Reader:
        """Returns a reader of the upsert table."""
        return Reader.of(self.appliance, user=USERNAME, password=PASSWORD)


class Meter:
    """CPU and memory of a daemon's processes, of the store and of the brokers."""

    def __init__(self, feed: UpsertFeed) -> None:
        self._daemon = psutil.Process(feed.process.pid)
        self._seconds: dict[psutil.Process, tuple[str, float]] = {}
        self._store = [Tree(server.process.pid) for server in feed.shard.servers]
        brokers = feed.shard.ground.kafka.processes.values()
        self._brokers = [Tree(each.pid) for each in brokers]
        self.peak_rss_mb = 0.0
        self._looked_at = 0.0

    def look(self) -> None:
        """Reads now and then, so that processes that end are counted; cheap when called often."""
        if time.monotonic() - self._looked_at >= TREE_SECONDS:
            self.read()

    def read(self) -> Spent:
        """Returns what was spent so far; sees processes that end before the next look."""
        rss, self._looked_at = 0, time.monotonic()
        for each in [self._daemon, *self._daemon.children(recursive=True)]:
            try:
                name, times = each.name(), each.cpu_times()
                rss += each.memory_info().rss
            except psutil.NoSuchProcess:
                continue
            kind = "driver" if each == self._daemon else "jvm" if name == "java" else "workers"
            self._seconds[each] = kind, times.user + times.system
        self.peak_rss_mb = max(self.peak_rss_mb, rss / 1e6)
        sums = {"driver": 0.0, "jvm": 0.0, "workers": 0.0}
        for kind, seconds in self._seconds.values():
            sums[kind] += seconds
        return Spent(
            sums["driver"],
            sums["jvm"],
            sums["workers"],
            sum(each.cpu_seconds() for each in self._store),
            sum(each.cpu_seconds() for each in self._brokers),
        )


def row(case: str, system: str, query: str, shard: FeedShard, **found: object) -> Row:
    """Returns a row of the results."""
    with shard.client() as client:
        version = str(client.execute("SELECT version()")[0][0])
    engine = f"clickhouse {'.'.join(version.split('.')[:2])}"
    names = {"case": case, "engine": engine, "system": system, "query": query}
    return {**names, "versions_per_key": VERSIONS_PER_KEY, **found}


@contextmanager
def running(feed: UpsertFeed) -> Iterator[Meter]:
    """Runs a daemon; yields the meter of its costs."""
    feed.start()
    try:
        yield Meter(feed)
    finally:
        feed.stop()


def percentile(values: list[float], percent: int) -> float:
    """Returns a percentile of some seconds."""
    return round(float(np.percentile(values, percent)), 3)
