"""Upsert table whose servers are killed in each phase of a tick, stand still in a settling, lose
records or have no space left: it goes on by itself, and each replica answers as brute force over
the log."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

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
STATE_MIB, STORE_MIB = 16, 96
"""Sizes of the disks. ClickHouse 18.16 keeps 30 MiB of its disk free of merges and fetches."""


@dataclass(frozen=True)
class SmallDisk:
    """File system of limited size."""

    folder: Path
    is_mounted: bool

    @contextmanager
    def full(self) -> Iterator[None]:
        """Leaves no space inside of the `with` block."""
        if not self.is_mounted:
            pytest.skip("file systems are mounted by root only")
        filler = self.folder / "filler"
        try:
            for size in (1 << 20, 4096):
                with suppress(OSError), filler.open("ab", buffering=0) as file:
                    while file.write(bytes(size)) == size:
                        pass
            yield
        finally:
            filler.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, mib: int) -> Iterator[SmallDisk]:
    """Yields a file system of so many MiB in a folder; its content is lost in the end."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=700", "tmpfs", str(folder)]
    is_mounted = subprocess.run(command, check=False).returncode == 0
    try:
        yield SmallDisk(folder, is_mounted)
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@dataclass
class Scene:
    """Upsert table between servers of its own, and the daemon that keeps it.

    Args:
        state: disk of the daemon's checkpoints.
        stores: disks of the servers.
    """

    ground: UpsertGround
    steps: Steps
    start: Callable[..., ReplicateDaemon]
    state: SmallDisk
    stores: Sequence[SmallDisk]
    daemon: ReplicateDaemon = field(init=False)
    sent: int = 0

    def __post_init__(self) -> None:
        self.begin()
        self.send()
        self.ground.assert_seen(*REPLICAS)

    @property
    def replicas(self) -> ClickHouseReplicas:
        return self.ground.database.replicas

    @property
    def operator(self) -> Operator:
        return Operator(self.ground.config)

    @property
    def table(self) -> tuple[str, ...]:
        """Options that name the table."""
        return "--feed", self.ground.feed, "--table", self.ground.table

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
        ExitStack() as disks,
    ):
        state = disks.enter_context(small_disk(folder / "upsert", STATE_MIB))
        stores = [
            disks.enter_context(small_disk(folder / f"replica-{each}" / "data", STORE_MIB))
            for each in REPLICAS
        ]
        replicas = disks.enter_context(ClickHouseReplicas(folder, session_seconds=3.0))
        database = ReplicatedDatabase(replicas, "kills")
        replicas.execute(f"CREATE DATABASE {database.name}")
        ground = UpsertGround(folder, home, shared_redis, database, feed_settings=FEED)
        ground.create()
        with aggregate_runs(ground.config) as start:
            yield Scene(ground, Steps(folder / "steps"), start, state, stores)


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


@pytest.mark.soak
def test_all_servers_and_the_daemon_lose_power_in_the_midst_of_a_tick(scene):
    with scene.within(UPDATES):
        scene.daemon.process.send_signal(signal.SIGKILL)
        scene.replicas.kill()
        assert until(lambda: not scene.daemon.family(), 30)
    scene.replicas.start()
    scene.replicas.wait_ready()
    scene.begin()
    scene.send()
    scene.ground.assert_seen(*REPLICAS)


def test_a_full_disk_of_the_state_is_told_and_the_table_goes_on_once_there_is_space(scene):
    with scene.state.full():
        scene.send()
        scene.daemon.hear(
            r"event=upsert-failed .*No space left on device.*\(aggregator.upsert_dir\)"
        )
    scene.ground.assert_seen(*REPLICAS)


def test_full_disks_of_the_servers_are_told_and_the_table_goes_on_once_there_is_space(scene):
    """Once before the rows of a tick are inserted, and once before its ends are."""
    for step, event in ((Step.CUT, "event=insert-waits "), (Step.ENDS, WAITS)):
        scene.ground.assert_exact()
        pattern = f"{event}.*No space left on device"
        told = len(scene.daemon.said(pattern))
        with ExitStack() as full:
            with scene.steps.held(step, scene.send):
                for disk in scene.stores:
                    full.enter_context(disk.full())
            scene.daemon.hear(pattern, times=told + 1)
        scene.ground.assert_seen(*REPLICAS)


def test_records_that_are_deleted_between_cut_and_rows_are_left_out_once_that_is_accepted(scene):
    """The other partitions, and what comes later, are read."""
    operator, accept = scene.operator, ("upsert", "accept-loss", *scene.table)
    scene.ground.assert_seen(*REPLICAS)
    told = len(scene.daemon.said(r"within tick \d+"))
    with scene.steps.held(Step.CUT, scene.send):
        scene.ground.lose(0)
    lane = rf"event=upsert-lane-stopped .* {scene.ground.topic}-0: .*within tick (\d+)"
    tick = scene.daemon.hear(lane, times=told + 1)[1]
    operator.ask(*accept, codes=[4])
    operator.ask(*accept, "--yes", "--reason", "they were deleted by mistake")
    scene.send()
    scene.ground.assert_seen(*REPLICAS)
    found = operator.ask("upsert", "verify", *scene.table).text
    assert found.count(f"an operator accepted a loss within tick {tick}: ") == 1


def test_nothing_differs_after_all_of_this(scene):
    scene.ground.assert_exact()
    scene.operator.ask("upsert", "verify", *scene.table)
