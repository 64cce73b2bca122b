"""Two data centres for drills of feeds: in each a region of Kafka, two replicas of one ClickHouse
shard, and `sluice aggregate`. ZooKeeper stands in a third place."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka.admin import NewTopic

from deploy.lab.clickhouse_replicas import ClickHouseReplicas, replicated_engine
from deploy.lab.credentials import PASSWORD
from deploy.lab.daemons import Daemons
from deploy.lab.dump import compare_topic
from deploy.lab.kafka import KafkaCluster
from deploy.lab.lab import Lab
from deploy.lab.traffic import TrafficRecord, send
from deploy.lab.wait import until
from tests.live.feed_ground import committed
from tests.live.feed_load import FeedLoad
from tui.program import run

RUNS = 4
"""Topics of each feed: two tests begin one, and a test that fails is run once more."""
PARTITIONS = 2
RECORDS_PER_SECOND = 100
FIRST_RECORDS = 10
PATIENCE_SECONDS = 300.0
START_SECONDS = 400.0
REPLICAS = {"west": (0, 1), "east": (2, 3)}
QUORUM = 2
SESSION_SECONDS = 10.0
COLUMNS = ("id", "name", "origin", "price")
TABLE = (
    "id UInt64, name String, origin String, price Nullable(Float64), "
    "_cluster String, _topic String, _partition UInt32, _offset UInt64, _row UInt32"
)
DATABASE = "drills"
SETTINGS = """\
[topics]
allow = ["mirrored-.*"]
refresh_seconds = 1.0
[replicator]
ledger_seconds = 1.0
runs_seconds = 0.2
[aggregator]
refresh_seconds = 1.0
"""

Identity = tuple[str, str, int, int, int]
Rows = dict[Identity, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Drilled:
    """Feed of a drill: its region, the kind of clusters that it reads, and its topics' prefix."""

    name: str
    region: str
    clusters: tuple[str, ...]
    prefix: str
    database: str = DATABASE


BOTH = ("west regional", "east regional")
FEEDS = (
    Drilled("of-west", "west", BOTH, "west-loaded"),
    Drilled("of-east", "east", BOTH, "east-loaded"),
    Drilled("mirrored-west", "west", ("west aggregate",), "mirrored", "mirrored_west"),
    Drilled("mirrored-east", "east", ("east aggregate",), "mirrored", "mirrored_east"),
)


@dataclass
class FeedSite:
    """Both data centres, and the loads of a drill."""

    lab: Lab
    replicas: ClickHouseReplicas
    daemons: Daemons
    loads: list[FeedLoad] = field(default_factory=list)
    _begun: Counter[str] = field(default_factory=Counter)
    _first: int = 0
    _stack: ExitStack = field(default_factory=ExitStack)

    # -- set-up

    def make_whole(self) -> None:
        """Starts everything that an earlier drill may have left dead."""
        for name, region in self.lab.regions.items():
            region.start()
            for number in REPLICAS[name]:
                if not self.replicas[number].process.is_running():
                    self.replicas[number].start()
        for region in self.lab.regions.values():
            region.wait_ready()
        self.replicas.wait_ready()
        for name in self.lab.regions:
            self.daemons.start_missing(name, "aggregate")

    def begin(self, prefix: str) -> str:
        """Creates a new topic of this prefix in both regions, waits until its first records are
        loaded, and begins to send more from both; returns its name."""
        self._begun[prefix] += 1
        topic = f"{prefix}-{self._begun[prefix]}"
        feeds = [feed for feed in FEEDS if feed.prefix == prefix]
        for name, region in self.lab.regions.items():
            region.regional.create_topics(NewTopic(topic, PARTITIONS))
            send(region.regional, topic, first_records(name))
            self._first += FIRST_RECORDS
        wanted = FIRST_RECORDS * len(self.lab.regions)

        def are_loaded() -> bool:
            return all(self.count(topic, 0, database=feed.database) >= wanted for feed in feeds)

        assert until(are_loaded, START_SECONDS, 0.5), self.daemons.logs
        for name, region in self.lab.regions.items():
            load = FeedLoad(
                region.regional,
                topic,
                origin=name,
                partitions=PARTITIONS,
                records_per_second=RECORDS_PER_SECOND,
            )
            self.loads.append(self._stack.enter_context(load))
        return topic

    def end(self) -> None:
        self._first = 0
        self._stack.close()
        self.loads.clear()

    # -- faults

    def lose(self, name: str) -> None:
        """Kills everything in a data centre with kill -9."""
        self.daemons.kill(name, "aggregate", "replicate")
        self.lab.regions[name].kill()
        for number in REPLICAS[name]:
            self.replicas[number].kill()

    def bring_back(self, name: str) -> None:
        for number in REPLICAS[name]:
            self.replicas[number].start()
        self.lab.regions[name].start()
        self.lab.regions[name].wait_ready()
        self.daemons.start(name, "aggregate")

    # -- waits

    def count(self, topic: str, replica: int, where: str = "1", database: str = DATABASE) -> int:
        query = f"SELECT count() FROM `{topic}` WHERE {where}"
        with self.replicas[replica].client(database) as client:
            return int(client.execute(query)[0][0])

    def goes_on(
        self, topic: str, replica: int, rows: int = 300, where: str = "1", database: str = DATABASE
    ) -> None:
        """Waits until a table has so many more rows."""
        wanted = self.count(topic, replica, where, database) + rows

        def has() -> bool:
            self.daemons.look_alive()
            return self.count(topic, replica, where, database) >= wanted

        assert until(has, PATIENCE_SECONDS), (topic, replica, wanted, self.daemons.logs)

    def settle(self, *topics: str) -> None:
        """Stops the loads, and compares every table on every replica with its records."""
        sent = self._first + sum(load.stop() for load in self.loads)
        assert sent == sum(
            len(records_of(region.regional, topic))
            for topic in topics
            for region in self.lab.regions.values()
        )
        for topic in topics:
            for feed in FEEDS:
                if topic.startswith(feed.prefix):
                    self._assert_exact(topic, feed)

    # -- comparisons

    def _assert_exact(self, topic: str, feed: Drilled) -> None:
        wanted: Rows = {}
        clusters = [self._cluster(name) for name in feed.clusters]
        if feed.prefix == "mirrored":
            sources = {name: region.regional for name, region in self.lab.regions.items()}
            sent = sum(len(records_of(cluster, topic)) for cluster in sources.values())
            assert until(lambda: len(records_of(clusters[0], topic)) >= sent, PATIENCE_SECONDS, 1.0)
            for comparison in compare_topic(sources, clusters[0], topic).values():
                comparison.assert_exact()
        for name, cluster in zip(feed.clusters, clusters, strict=True):
            for (partition, offset), values in records_of(cluster, topic).items():
                wanted[name, topic, partition, offset, 0] = values
        for replica in range(len(self.replicas)):

            def is_loaded(replica: int = replica) -> bool:
                self.daemons.look_alive()
                return self.count(topic, replica, database=feed.database) >= len(wanted)

            assert until(is_loaded, PATIENCE_SECONDS, 0.2), (
                f"{topic} on replica {replica}: {self.count(topic, replica, '1', feed.database)} "
                f"of {len(wanted)}, see {self.daemons.logs}"
            )
        for replica in range(len(self.replicas)):
            rows = self._rows(topic, replica, feed.database)
            found = dict(rows)
            assert len(rows) == len(found) == len(wanted), f"{topic} on replica {replica}"
            assert found == wanted, f"{topic} on replica {replica}"

    def _cluster(self, name: str) -> KafkaCluster:
        region, _, kind = name.partition(" ")
        cluster: KafkaCluster = getattr(self.lab.regions[region], kind)
        return cluster

    def _rows(
        self, topic: str, replica: int, database: str
    ) -> list[tuple[Identity, tuple[Any, ...]]]:
        query = f"SELECT _cluster, _topic, _partition, _offset, _row, {', '.join(COLUMNS)} "
        consistent = {"select_sequential_consistency": 1}
        with self.replicas[replica].client(database, settings=consistent) as client:
            rows = client.execute(f"{query} FROM `{topic}`")
        return [(row[:5], row[5:]) for row in rows]

    def assert_verified(self) -> None:
        """Has every intent, ledger entry and row judged, as `sluice verify check --rows` does."""
        for name in self.lab.regions:
            configured = ["--config", str(self.lab.configuration), "--region", name, "-o", "json"]
            out, said = io.StringIO(), io.StringIO()
            with redirect_stdout(out), redirect_stderr(said):
                code = run(["verify", "check", "--since", "1h", "--rows", *configured])
            assert code == 0, (code, out.getvalue()[-4000:], said.getvalue())


def first_records(origin: str) -> Iterator[TrafficRecord]:
    for number in range(FIRST_RECORDS):
        value = {"id": number, "name": "first", "origin": origin, "price": None}
        yield TrafficRecord(number % PARTITIONS, b"first", json.dumps(value).encode())


def records_of(cluster: KafkaCluster, topic: str) -> dict[tuple[int, int], tuple[Any, ...]]:
    """Returns the values of each committed record, by partition and offset."""
    found = {}
    for message in committed(cluster, topic):
        values = json.loads(message.value() or b"")
        place = (message.partition() or 0, message.offset() or 0)
        found[place] = tuple(values[name] for name in COLUMNS)
    return found


@contextmanager
def feed_site(directory: Path) -> Iterator[FeedSite]:
    """Yields both data centres with their `sluice aggregate`; nothing runs afterwards."""
    with ExitStack() as stack:
        lab = stack.enter_context(Lab(directory / "lab", settings=SETTINGS))
        replicas = ClickHouseReplicas(directory, count=4, session_seconds=SESSION_SECONDS)
        stack.enter_context(replicas)
        for database in {feed.database for feed in FEEDS}:
            replicas.execute(f"CREATE DATABASE {database}")
        for feed in FEEDS:
            for run_number in range(1, RUNS + 1):
                _create_table(replicas, feed.database, f"{feed.prefix}-{run_number}")
        password = lab.directory / "clickhouse-password"
        password.write_text(f"{PASSWORD}\n")
        password.chmod(0o600)
        feeds = "\n".join(_toml(feed, replicas) for feed in FEEDS)
        lab.configuration.write_text(f"{lab.configuration.read_text()}\n{feeds}")
        daemons = stack.enter_context(Daemons(lab))
        site = FeedSite(lab, replicas, daemons)
        stack.callback(site.end)
        yield site


def _create_table(replicas: ClickHouseReplicas, database: str, topic: str) -> None:
    replicas.execute(
        f"CREATE TABLE `{topic}` ({TABLE}) ENGINE = {replicated_engine(database, topic)} "
        "ORDER BY (_cluster, _partition, _offset, _row) "
        "SETTINGS index_granularity = 8192, replicated_deduplication_window = 1000",
        database,
    )


def _toml(feed: Drilled, replicas: ClickHouseReplicas) -> str:
    """Returns a feed's tables of the configuration; replicas of its own data centre come first."""
    addresses = replicas.addresses()
    nearest = REPLICAS[feed.region]
    ordered = [addresses[at] for at in (*nearest, *(i for i in range(4) if i not in nearest))]
    return f"""
[feeds.{feed.name}]
region = "{feed.region}"
clusters = {json.dumps(feed.clusters)}
block_seconds = 0.5
reference_seconds = 2
insert_timeout_seconds = 6
retry_seconds_max = 1
[[feeds.{feed.name}.shards]]
topics = ["{feed.prefix}-.*"]
database = "{feed.database}"
replicas = {json.dumps(ordered)}
password_file = "clickhouse-password"
quorum = {QUORUM}
"""
