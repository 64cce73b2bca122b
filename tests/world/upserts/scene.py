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
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.process import Process
from tests.world.sinks.letter_view import LetterView
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


@dataclass(frozen=True, slots=True)
class Course:
    """Course of a history.

    Args:
        seconds: virtual time with load and faults.
        fault_seconds: mean time between two faults.
        only: names of the faults that are dealt; empty: some of all, by the dice.
    """

    seconds: float = 40.0
    fault_seconds: float = 2.0
    only: tuple[str, ...] = ()
    settle_seconds: float = 5.0
    tick_seconds: float = 1.0


class UpsertLoop(SinkLoop):
    """Loop of a world whose keepers wait for their store and for Spark."""

    waiting = SinkLoop.waiting | {
        *("newest", "newest_stored", "planned", "wait", "stop", "_look", "_settle"),
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
        self.letters = LetterView(home, FEED, lambda place: self.wrong(f"{place}: two letters"))
        self.truth = Truth(home, self.wrong)
        self.senders: list[UpsertSender] = []
        for name, (topic, partitions) in CLUSTERS.items():
            self.clusters[name].create(topic, partitions, min_in_sync=2)
            self.watch(name, topic)
            for number in range(partitions):
                place = TopicPartition(topic, number)
                dice = random.Random(self.dice.random())
                self.senders.append(UpsertSender(self.clusters[name], place, dice))
        feed: Any = self.appliance(0).feed(FEED)
        self.checks = UpsertChecks(
            loop, feed, self.keeper, self.servers, self.truth, QUORUM,
            random.Random(f"{seed} checks"),
        )  # fmt: skip

    def watch(self, cluster: str, topic: str) -> None:
        """Takes down the records of a topic from now on."""
        for partition in self.clusters[cluster].topics[topic].partitions:
            self.truth.watch(cluster, partition)

    def tell(self, text: str) -> None:
        """Adds a line to the log of the history."""
        self.log.append(f"{self.loop.time():10.4f} {text}")

    def wrong(self, text: str) -> None:
        self.checks.wrong(text)

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
            "newest_column": "version",
            "delete_column": "gone",
            "settle_seconds": self.course.settle_seconds,
            "tick_seconds": self.course.tick_seconds,
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
        ahead = random.Random(f"{self.seed} clock {number}").uniform(-3.0, 3.0)
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
