"""Scene of an upsert table's history: two clusters, a shard, daemons on two hosts, and the load."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from balancer.topic_partition import TopicPartition
from replicator.config.names import PLAN_TOPIC, dead_letter_topic
from replicator.config.topology import Appliance
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import AnyRecord, key_of
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.process import Process
from tests.world.sinks.letter_view import LetterView, RecordPlace
from tests.world.sinks.loaded_feed import FEED, REGION
from tests.world.sinks.sink_loop import SinkLoop
from tests.world.upserts import world_store
from tests.world.upserts.checks import UpsertChecks
from tests.world.upserts.daemon import Daemon
from tests.world.upserts.load import UpsertSender
from tests.world.upserts.server import UpsertKeeper, UpsertServer
from tests.world.upserts.stored import TABLE, USER_COLUMNS
from tests.world.upserts.truth import Truth
from tests.world.world import World

CLUSTERS = {"east regional": ("orders", 2), "west regional": ("late", 2)}
"""Clusters that the table reads, with their topics and numbers of partitions."""
HOME = "east regional"
DATABASE = "air"
REPLICAS, QUORUM = 3, 2
HOSTS = 2
OLD_MS = 86_400_000
"""Age of records that belong to the day before."""


@dataclass(frozen=True, slots=True)
class Course:
    """Course of a history.

    Args:
        seconds: virtual time with load and faults.
        fault_seconds: mean time between two faults.
        only: names of the faults that are dealt; empty: some of the usual ones, by the dice.
        quiet_seconds: bound for the end: virtual time within which all has to be right without
            faults.
        patience_seconds: time after which records that no broker sends are given up.
        is_by_time: the newest row is the one with the latest timestamp, not with the last version.
        keys: number of keys.
        old_share: share of batches with old records.
        old_ms: ages of these, of which each batch draws one.
        clock_seconds: by which clocks of daemons are ahead or behind at most.
        settled_seconds_max: longest time without a new settle point; 0: that is not checked.
    """

    seconds: float = 40.0
    fault_seconds: float = 2.0
    only: tuple[str, ...] = ()
    settle_seconds: float = 5.0
    tick_seconds: float = 1.0
    quiet_seconds: float = 120.0
    patience_seconds: float = 60.0
    is_by_time: bool = False
    retention_hours: float = 336.0
    history_seconds: float = 3600.0
    keys: int = 24
    old_share: float = 0.3
    old_ms: tuple[int, int] = (OLD_MS, OLD_MS)
    clock_seconds: float = 3.0
    settled_seconds_max: float = 0.0


class UpsertLoop(SinkLoop):
    """Loop of a world whose keepers wait for their store and for Spark."""

    waiting = SinkLoop.waiting | {
        *("newest", "newest_stored", "planned", "wait", "stop", "_look", "settle", "follow"),
        *("stored_rows", "notes_of", "now_ms"),
    }


class Scene:
    """Scene of one seed."""

    def __init__(
        self,
        loop: UpsertLoop,
        seed: int,
        course: Course,
    ) -> None:
        self.world = World(loop, seed)
        self.loop, self.seed, self.course = loop, seed, course
        self.dice = random.Random(seed)
        self.log: list[str] = []
        self.is_mended = False
        self.rotated_at = 0.0
        """Time of the last order that the state is read anew; 0 before the first."""
        self.folder = Path(tempfile.mkdtemp(prefix="sluice-world-"))
        loop.at_end.append(self._close)
        self.clusters = {name: self.world.cluster(name.replace(" ", "-"), 3) for name in CLUSTERS}
        self.keeper = UpsertKeeper()
        self.servers = {
            f"ch-{number}": UpsertServer(
                f"ch-{number}", self.keeper, loop, random.Random(self.dice.random())
            )
            for number in range(1, REPLICAS + 1)
        }
        world_store.begin(self.servers, seed)
        self.orders = OrderLog()
        self.states: dict[tuple[Path, int], Any] = {}
        self.daemons: list[Daemon] = []
        home = self.clusters[HOME]
        home.create(PLAN_TOPIC, 1, min_in_sync=2)
        home.create(dead_letter_topic(FEED), 4, min_in_sync=2)
        self.letters = LetterView(home, FEED, self._letter_again)
        self.truth = Truth(home, course, self.wrong)
        self.senders: list[UpsertSender] = []
        for name, (topic, partitions) in CLUSTERS.items():
            self.clusters[name].create(topic, partitions, min_in_sync=2)
            self.watch(name, topic)
            for number in range(partitions):
                self.senders.append(self.sender(name, TopicPartition(topic, number)))
        feed: Any = self.appliance(0).feed(FEED)
        self.checks = UpsertChecks(
            loop, feed, self.keeper, self.servers, self.truth, QUORUM,
            random.Random(f"{seed} checks"), course,
        )  # fmt: skip

    def sender(self, cluster: str, place: TopicPartition) -> UpsertSender:
        """Returns a producer for a partition."""
        dice = random.Random(self.dice.random())
        course = self.course
        return UpsertSender(
            self.clusters[cluster],
            place,
            dice,
            old_share=course.old_share,
            keys=course.keys,
            old_range_ms=course.old_ms,
        )

    def watch(self, cluster: str, topic: str) -> None:
        """Takes down the records of a topic from now on."""
        for partition in self.clusters[cluster].topics[topic].partitions:
            self.truth.watch(cluster, partition)

    def tell(self, text: str) -> None:
        """Adds a line to the log of the history."""
        self.log.append(f"{self.loop.time():10.4f} {text}")

    def wrong(self, text: str) -> None:
        self.checks.wrong(text)

    def order(self, record: AnyRecord) -> None:
        """Adds an order of an operator, which daemons know at once."""
        self.orders = self.orders.after([(key_of(record), record)])

    def _letter_again(self, place: RecordPlace) -> None:
        # Topics that are created anew have the same places once more.
        if len(self.truth.lanes_at(place.topic, place.partition)) == 1:
            self.wrong(f"{place}: two letters")

    def appliance(self, host: int) -> Appliance:
        """Returns the settings of a host."""
        regions = {
            name.partition(" ")[0]: {
                "redis": "redis://nowhere:6379/0",
                "regional": {"bootstrap": cluster.bootstrap},
                "aggregate": {"bootstrap": [f"{cluster.host}-aggregate:9092"]},
            }
            for name, cluster in self.clusters.items()
        }
        table = {
            "name": TABLE,
            "semantic": "upsert",
            "topics": [topic for topic, _ in CLUSTERS.values()],
            "columns": USER_COLUMNS,
            "primary_key": ["id"],
            **({} if self.course.is_by_time else {"newest_column": "version"}),
            "delete_column": "gone",
            "settle_seconds": self.course.settle_seconds,
            "tick_seconds": self.course.tick_seconds,
            "retention_hours": self.course.retention_hours,
            "history_seconds": self.course.history_seconds,
            "block_rows": 16,
        }
        feed = {
            "name": FEED,
            "region": REGION,
            "clusters": [*CLUSTERS],
            "insert_timeout_seconds": 5.0,
            "retry_seconds": 0.1,
            "retry_seconds_max": 2.0,
            "shards": [
                {
                    "topics": [topic for topic, _ in CLUSTERS.values()],
                    "database": DATABASE,
                    "replicas": [f"clickhouse://{name}" for name in self.servers],
                    "quorum": QUORUM,
                }
            ],
            "tables": {TABLE: table},
        }
        return Appliance.model_validate(
            {
                "regions": regions,
                "replicator": {"request_timeout_ms": 5000},
                "aggregator": {"upsert_dir": str(self.folder / f"host-{host}")},
                "feeds": {FEED: feed},
            }
        )

    def start_daemon(self) -> None:
        """Starts another daemon, on a host where no other one runs; fences the one before."""
        number = len(self.daemons)
        host = number % HOSTS
        self.tell(f"daemon {number} starts on host {host}")
        ahead = random.Random(f"{self.seed} clock {number}").uniform(
            -self.course.clock_seconds, self.course.clock_seconds
        )
        self.daemons.append(
            Daemon(
                number,
                self.appliance(host),
                self.clusters,
                lambda: self.orders,
                lambda: len(self.daemons) - 1,
                self.states,
                ahead,
            )
        )

    def running(self) -> list[Process]:
        """Returns the daemons that run and are not stopped."""
        return [it.process for it in self.daemons if it.is_running and not it.process.is_stopped]

    def any_cluster(self) -> KafkaCluster:
        return self.dice.choice(list(self.clusters.values()))

    def any_server(self) -> UpsertServer:
        return self.dice.choice(list(self.servers.values()))

    async def close(self) -> None:
        for daemon in self.daemons:
            daemon.process.kill()
        mains = [it.process.main for it in self.daemons if it.process.main is not None]
        await asyncio.gather(*mains, return_exceptions=True)

    def _close(self) -> None:
        for daemon in self.daemons:
            daemon.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
