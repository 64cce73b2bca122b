"""Upsert table whose servers are killed in each phase of a tick, or stand still in a settling: it
goes on by itself, and each replica answers as brute force over the log."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from aggregator.upsert.query_mark import At
from deploy.lab.clickhouse_replicas import ClickHouseReplicas
from deploy.lab.kafka import KafkaCluster
from deploy.lab.operator import Operator
from deploy.lab.wait import until
from tests.live.replicas import ReplicatedDatabase
from tests.live.replicate_daemon import ReplicateDaemon, aggregate_runs
from tests.live.upsert_ground import VISIBLE_SECONDS, UpsertGround, states
from tests.live.upsert_steps import Step, Steps

FEED = """
insert_timeout_seconds = 5.0
retry_seconds_max = 0.5
"""
ROWS, UPDATES = "rows", "updates"
"""Phases in which the block of a table waits for its quorum."""
PHASES = (Step.CUT, ROWS, Step.FOLD, Step.ENDS, UPDATES, Step.CLAIM, Step.COMMIT)
IN_STORE_NEXT = (Step.ENDS, UPDATES, Step.CLAIM)
"""Phases whose next step is an insert of the driver."""
REPLICAS = (0, 1, 2)
WAITS = "event=upsert-insert-waits "


@dataclass
class Scene:
    """Upsert table between servers of its own, and the daemon that keeps it."""

    ground: UpsertGround
    steps: Steps
    start: Callable[..., ReplicateDaemon]
    daemon: ReplicateDaemon = field(init=False)
    sent: int = 0

    def __post_init__(self) -> None:
        self.begin()
        self.send()
        self.ground.assert_seen(*REPLICAS)

    @property
    def replicas(self) -> ClickHouseReplicas:
        return self.ground.database.replicas

    def begin(self) -> None:
        """Starts a daemon."""
        self.daemon = self.start(self.steps.program)

    def send(self) -> None:
        records = states(60, keys=50, partitions=3, seed=self.sent, first=self.sent)
        self.sent += self.ground.send(records)

    @contextmanager
    def within(self, phase: str) -> Iterator[int]:
        """Sends records, whose tick stays in a phase inside of the `with` block.

        Yields the number of a replica: the only one that has what is inserted, if anything is.
        """
        if phase in (ROWS, UPDATES):
            with self._without_quorum(f"{self.ground.table}__{phase}") as holder:
                yield holder
            return
        with self.steps.held(Step(phase), self.send):
            yield 0

    @contextmanager
    def _without_quorum(self, table: str) -> Iterator[int]:
        for replica in REPLICAS:
            self.ground.database.order(replica, f"SYSTEM STOP FETCHES {table}")
        self.send()
        holders: list[int] = []

        def is_inserting() -> bool:
            holders.extend(self.ground.database.holders(table))
            return bool(holders)

        assert until(is_inserting, VISIBLE_SECONDS), f"nothing waits for its quorum in {table}"
        yield holders[0]
        for replica in REPLICAS:
            if self.replicas[replica].process.is_running():
                self.ground.database.order(replica, f"SYSTEM START FETCHES {table}")


@pytest.fixture(scope="module")
def scene(needs_clickhouse, shared_redis, tmp_path_factory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("upsert-kills")
    with (
        KafkaCluster("home", folder) as home,
        ClickHouseReplicas(folder, session_seconds=3.0) as replicas,
    ):
        database = ReplicatedDatabase(replicas, "kills")
        replicas.execute(f"CREATE DATABASE {database.name}")
        ground = UpsertGround(folder, home, shared_redis, database, feed_settings=FEED)
        ground.create()
        with aggregate_runs(ground.config) as start:
            yield Scene(ground, Steps(folder / "steps"), start)


@pytest.mark.parametrize("phase", PHASES)
def test_a_table_goes_on_without_a_replica_that_was_killed(scene, phase):
    with scene.within(phase) as number:
        killed = scene.replicas[number]
        killed.kill()
    others = [each for each in REPLICAS if each != number]
    if phase in (ROWS, UPDATES):
        killed.start()  # nobody else has the block whose quorum is open
    scene.ground.assert_seen(*others)
    if not killed.process.is_running():
        killed.start()
    killed.wait_ready()


@pytest.mark.parametrize("phase", PHASES)
def test_a_table_goes_on_once_zookeeper_and_its_home_cluster_are_back(scene, phase):
    told = len(scene.daemon.said(WAITS))
    with scene.within(phase):
        scene.replicas.zookeeper.kill()
        scene.ground.cluster.kill()
    if phase in IN_STORE_NEXT:
        scene.daemon.hear(WAITS, times=told + 1)
    scene.replicas.zookeeper.start()
    scene.ground.cluster.restart()
    scene.ground.cluster.wait_ready()
    scene.ground.assert_seen(*REPLICAS)


def test_replicas_agree_at_each_mark_after_a_settling_that_was_interrupted(scene):
    slow = REPLICAS[-1]
    scene.ground.assert_exact()
    with scene.steps.held(Step.MUTATED, scene.send):
        scene.replicas[slow].pause()
        scene.daemon.process.send_signal(signal.SIGKILL)
        assert until(lambda: not scene.daemon.family(), 30)
    scene.begin()
    scene.daemon.hear("event=upsert-begins ")
    scene.send()
    scene.ground.assert_exact(REPLICAS[:-1])
    scene.replicas[slow].resume()
    scene.send()
    scene.ground.assert_exact()
    ends = scene.ground.ends_by_tick()
    newest = max(ends)
    for tick in range(newest - 5, newest + 1):
        wanted = sorted(scene.ground.wanted(ends[tick]).values())
        for replica in REPLICAS:
            rows, mark = scene.ground.seen(replica, At(tick=tick))
            assert (mark.tick, rows) == (tick, wanted), f"replica {replica}"


def test_nothing_differs_after_all_of_this(scene):
    scene.ground.assert_exact()
    table = ("--feed", scene.ground.feed, "--table", scene.ground.table)
    Operator(scene.ground.config).ask("upsert", "verify", *table)
