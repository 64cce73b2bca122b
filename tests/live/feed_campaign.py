"""Compound faults of a feed: a server and a loader fail within 50 ms of each other, and again.

Loaders are processes of their own. Each round ends once everything that the topic held when the
faults began is loaded.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from aggregator.verifier.check import Check
from deploy.lab.clickhouse_replicas import ClickHouseReplicas
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import Process, free_port
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from tests.live.both_ends import stable_ends
from tests.live.feed_ground import COLUMNS, FeedGround
from tests.live.feed_load import FeedLoad
from tests.live.feed_oracle import findings
from tests.live.replicas import Gate, new_database

ServerFault = Literal[
    "replica killed",
    "replica stopped",
    "replica cut off",
    "zookeeper killed",
    "zookeeper stopped",
    "broker killed",
]
LoaderFault = Literal["loader killed", "loader stopped", "partitions moved", "epoch ended"]
LOADERS = 2
PARTITIONS = 4
RECORDS_PER_SECOND = 400
WINDOW_BLOCKS = 20
GAP_SECONDS_MAX = 0.05
STOP_SECONDS = (0.5, 8.0)
SESSION_SECONDS = 3.0
HEAL_SECONDS_MAX = 180.0
END_SECONDS_MAX = 60.0
SETTINGS = "reference_seconds = 1\ninsert_timeout_seconds = 4\nretry_seconds_max = 0.5"


@dataclass(frozen=True, slots=True)
class Round:
    """The faults of one round.

    Args:
        replica: the number of the replica that is hit; only 0 can be cut off from ZooKeeper.
        gap_seconds: between the two faults; negative where the loader's comes first.
        stop_seconds: how long the server is dead, stopped or cut off.
    """

    server_fault: ServerFault
    loader_fault: LoaderFault
    replica: int
    loader: int
    gap_seconds: float
    stop_seconds: float

    @property
    def name(self) -> str:
        return f"{self.server_fault} + {self.loader_fault}"


def rounds_of(seed: int, count: int) -> list[Round]:
    """Returns the rounds of a campaign; every pair of faults comes equally often, in random
    order."""
    chance = random.Random(seed)
    pairs = [(s, e) for s in get_args(ServerFault) for e in get_args(LoaderFault)]
    drawn: list[tuple[ServerFault, LoaderFault]] = []
    while len(drawn) < count:
        drawn += chance.sample(pairs, len(pairs))
    return [
        Round(
            server_fault=server,
            loader_fault=loader,
            replica=0 if server == "replica cut off" else chance.randrange(3),
            loader=chance.randrange(LOADERS),
            gap_seconds=chance.uniform(-GAP_SECONDS_MAX, GAP_SECONDS_MAX),
            stop_seconds=chance.uniform(*STOP_SECONDS),
        )
        for server, loader in drawn[:count]
    ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Comparison at the end of a campaign, of all replicas."""

    sent: int
    rows: int
    missing: int
    surplus: int
    doubled: int
    changed: int
    anomalies: int

    @property
    def is_right(self) -> bool:
        wrong = (self.missing, self.surplus, self.doubled, self.changed, self.anomalies)
        return not any(wrong) and self.rows == self.sent


@dataclass(slots=True)
class FeedCampaign:
    """Faults on a feed of one topic and one table of three replicas."""

    feed: FeedGround
    cluster: KafkaCluster
    replicas: ClickHouseReplicas
    gate: Gate
    done: Counter[str] = field(default_factory=Counter)
    recovery_seconds: list[float] = field(default_factory=list)
    _loaders: list[Process] = field(default_factory=list)
    _stopped: list[Process] = field(default_factory=list)
    _swaps: int = 0

    def run(
        self, rounds: Sequence[Round], load: FeedLoad, progress: Callable[[Round, float], None]
    ) -> Outcome:
        """Runs all rounds, ends the load, and compares when everything is loaded.

        Args:
            progress: called after each round, with the seconds until it had recovered.
        """
        self._begin()
        for each in rounds:
            began = time.monotonic()
            self._round(each)
            self.recovery_seconds.append(time.monotonic() - began)
            self.done[each.name] += 1
            progress(each, self.recovery_seconds[-1])
        sent = load.stop()
        self._until_loaded("the last round")
        self._publish()
        self._until_ended(self._loaders)
        return self._compared(sent)

    # -- one round

    def _round(self, each: Round) -> None:
        with ThreadPoolExecutor(2) as threads:
            acts = [
                (max(0.0, -each.gap_seconds), lambda: self._hit_server(each)),
                (max(0.0, each.gap_seconds), lambda: self._hit_loader(each)),
            ]
            hit = [threads.submit(_after, delay, act) for delay, act in acts]
            hit[1].result()
            if each.server_fault == "broker killed":
                hit[0].result()  # a plan is published in that cluster
            # Processes are started here: they end with the thread that started them.
            self._begin()
            hit[0].result()
        self._heal(each)
        self._until_loaded(each.name)
        for process in self._stopped:
            process.send(signal.SIGCONT)
        self._until_ended(self._stopped)
        self._stopped = []

    def _hit_server(self, each: Round) -> None:
        replica, zookeeper = self.replicas[each.replica], self.replicas.zookeeper
        begin, end = {
            "replica killed": (replica.kill, _nothing),
            "replica stopped": (replica.pause, replica.resume),
            "replica cut off": (self.gate.shut, self.gate.open),
            "zookeeper killed": (zookeeper.kill, _nothing),
            "zookeeper stopped": (zookeeper.pause, zookeeper.resume),
            "broker killed": (self.cluster.kill, _nothing),
        }[each.server_fault]
        begin()
        time.sleep(each.stop_seconds)
        end()

    def _heal(self, each: Round) -> None:
        if each.server_fault == "replica killed":
            self.replicas[each.replica].start()
        elif each.server_fault == "zookeeper killed":
            self.replicas.zookeeper.start()
            self.replicas.zookeeper.wait_ready()
        self.replicas.wait_ready()

    def _hit_loader(self, each: Round) -> None:
        loader = self._loaders[each.loader]
        if each.loader_fault == "loader killed":
            loader.kill()
        elif each.loader_fault == "loader stopped":
            loader.send(signal.SIGSTOP)
            self._stopped.append(loader)
        elif each.loader_fault == "partitions moved":
            self._swaps += 1

    # -- loaders

    def _begin(self) -> None:
        """Publishes a new plan, and starts its loaders, which take over from those before."""
        if not self.cluster.processes.get(1):
            self.cluster.restart()
            self.cluster.wait_ready(HEAL_SECONDS_MAX)
        before = [each for each in self._loaders if each not in self._stopped]
        self._publish()
        places = [range(at, PARTITIONS, LOADERS) for at in range(LOADERS)]
        if self._swaps % 2:
            places.reverse()
        self._loaders = [
            self.feed.load_apart(number, partitions) for number, partitions in enumerate(places)
        ]
        self._until_ended(before)

    def _publish(self) -> None:
        def is_published() -> bool:
            try:
                self.feed.publish()
            except (Unreachable, Answered, TimeoutError):
                return False
            return True

        assert until(is_published, HEAL_SECONDS_MAX)

    def _until_ended(self, processes: Sequence[Process]) -> None:
        def have_ended() -> bool:
            return not any(process.is_running() for process in processes)

        assert until(have_ended, END_SECONDS_MAX), [
            str(each.failure("goes on")) for each in processes if each.is_running()
        ]

    # -- ends

    def _until_loaded(self, what: str) -> None:
        """Waits until the intents have passed what the topic holds now."""
        ends = {
            p.partition: end
            for p, end in stable_ends(self.cluster, {self.feed.topic: PARTITIONS}).items()
        }

        def is_past() -> bool:
            for process in self._loaders:
                assert process.is_running(), process.failure("has ended")
            intents = self.feed.intents()
            parked = {p: str(intent.parked) for p, intent in intents.items() if intent.parked}
            assert not parked, (what, parked)
            return all(intents[place].offset >= end for place, end in ends.items())

        assert until(is_past, HEAL_SECONDS_MAX, 0.1), (what, ends, self.feed.intents())

    def _compared(self, sent: int) -> Outcome:
        appliance = self.feed.appliance.model_copy(update={"routes": ()})
        found = Check(appliance, "east", 0, END_SECONDS_MAX, with_rows=True).run()
        counts = found.row_counts or ()
        assert not found.problems and len(counts) == len(self.replicas), found
        return Outcome(
            sent,
            min(each.found for each in counts),
            sum(each.missing for each in counts),
            sum(each.surplus for each in counts),
            sum(each.doubled for each in counts),
            sum(each.changed for each in counts),
            len(findings(self.feed)) + len(found.judgements),
        )


@contextmanager
def feed_campaign(directory: Path) -> Iterator[tuple[FeedCampaign, FeedLoad]]:
    """Yields a campaign of servers of its own, and its load, which has begun.

    The table remembers few blocks: a repeated one is recognized by its rows.
    """
    cluster = KafkaCluster("campaign", directory, properties={"log.retention.ms": -1})
    redis = RedisServer(directory)
    port = free_port()
    replicas = ClickHouseReplicas(
        directory, session_seconds=SESSION_SECONDS, zookeeper_ports={0: port}
    )
    with ExitStack() as stack:
        gate = stack.enter_context(Gate(replicas.zookeeper.port, port))
        stack.enter_context(replicas)
        redis.start()
        stack.callback(redis.kill)
        redis.wait_ready()
        stack.enter_context(cluster)
        database = stack.enter_context(new_database(replicas))
        feed = stack.enter_context(
            FeedGround(
                directory, cluster, redis, database, settings=SETTINGS, partitions=PARTITIONS
            )
        )
        database.create_table(
            feed.topic,
            COLUMNS,
            order_by="(_partition, _offset, _row)",
            settings={"replicated_deduplication_window": WINDOW_BLOCKS},
        )
        feed.lead()
        load = FeedLoad(
            cluster,
            feed.topic,
            origin="campaign",
            partitions=PARTITIONS,
            records_per_second=RECORDS_PER_SECOND,
        )
        yield FeedCampaign(feed, cluster, replicas, gate), stack.enter_context(load)


def _after(seconds: float, act: Callable[[], None]) -> None:
    time.sleep(seconds)
    act()


def _nothing() -> None:
    pass
