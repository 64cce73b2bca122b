"""`sluice replicate` as operators run it: a process of its own, with real Spark below it."""

import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pyarrow.dataset as dataset
import pytest

from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.mirror.carrier.receipts import Receipt, from_arrow
from tests.live.arrived import has_arrived

CHECKOUT = Path(__file__).parents[2]
PROGRAM = "import sys; from tui.program import main; main()"
# Spark alone takes ten seconds to start on a quiet machine.
START_SECONDS = 150.0


class ReplicateDaemon:
    """A run of the daemon, with its output in a log file.

    Args:
        subcommand: another daemon that runs on Spark.
        program: runs `sluice`, in Python.
    """

    def __init__(
        self,
        config: Path,
        region: str,
        number: int,
        master: str,
        conf: Sequence[str] = (),
        subcommand: str = "replicate",
        program: str = PROGRAM,
    ) -> None:
        self.log = config.parent / f"daemon-{number}.log"
        command = [sys.executable, "-c", program, subcommand]
        command += ["--config", str(config), "--region", region, "--master", master]
        command += [word for setting in conf for word in ("--conf", setting)]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                stderr=log,
                stdout=log,
                cwd=CHECKOUT,
                env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
                start_new_session=True,
            )
        self._family: dict[int, psutil.Process] = {}

    def said(self, pattern: str) -> list[re.Match[str]]:
        return list(re.finditer(pattern, self.log.read_text()))

    def hear(
        self, pattern: str, *, times: int = 1, seconds: float = START_SECONDS
    ) -> re.Match[str]:
        """Waits for the match number `times` in the log and returns it; fails on timeout."""
        heard = until(lambda: len(self.said(pattern)) >= times or self.is_over, seconds)
        assert heard, f"not said within {seconds:g} s: {pattern}, see {self.log}"
        return self.said(pattern)[times - 1]

    @property
    def is_over(self) -> bool:
        return self.process.poll() is not None

    def family(self) -> list[psutil.Process]:
        """Returns the living processes of the daemon: its own and all descendants, also orphans."""
        with suppress(psutil.NoSuchProcess):
            own = psutil.Process(self.process.pid)
            for process in (own, *own.children(recursive=True)):
                self._family.setdefault(process.pid, process)
        return [process for process in self._family.values() if is_alive(process)]

    def workers(self) -> list[psutil.Process]:
        """Returns the living Python processes that run carriers."""
        pids = self.worker_pids()
        return [process for process in self.family() if process.pid in pids]

    def worker_pids(self) -> set[int]:
        """Returns the ids of all processes that ever ran a carrier, in any epoch."""
        lines = self.said(r"pid=(\d+) from=\S+ event=epoch ")
        return {int(line[1]) for line in lines}

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.family()
        self.process.send_signal(number)

    def ended(self, seconds: float = 60.0) -> int:
        """Waits for the end, checks that no process is left, and returns the exit code."""
        code = self.process.wait(seconds)
        _, left = psutil.wait_procs(self._family.values(), timeout=10)
        assert left == [], f"left over: {left}"
        return code

    def kill(self) -> None:
        """Kills the daemon with its descendants, for the end of a failed test."""
        if self.process.poll() is None:
            family = self.family()
            for process in family:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            self.process.wait()


def is_alive(process: psutil.Process) -> bool:
    """Returns True when the process runs and is no zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class Region:
    """A route from the shared regional cluster to the shared aggregate one, under unique names."""

    def __init__(
        self, directory: Path, regional: KafkaCluster, aggregate: KafkaCluster, redis: RedisServer
    ) -> None:
        self.name = f"east-{uuid.uuid4().hex[:8]}"
        self.topics = f"live-{uuid.uuid4().hex[:8]}"
        self.directory = directory
        self.more_settings = ""
        """Further tables of the configuration."""
        self._clusters = regional, aggregate
        self._redis = redis
        self._daemons: list[ReplicateDaemon] = []

    def start(
        self,
        *,
        master: str = "local[2,8]",
        epoch_seconds: float = 300.0,
        target: str = "",
        wait: bool = True,
        conf: Sequence[str] = (),
    ) -> ReplicateDaemon:
        """Starts a daemon.

        Args:
            target: replaces the addresses of the aggregate cluster.
            wait: returns only once the daemon has published its plan.
        """
        config = self._configured(epoch_seconds, target)
        daemon = ReplicateDaemon(config, self.name, len(self._daemons), master, conf)
        self._daemons.append(daemon)
        if wait:
            daemon.hear("event=plan ")
        return daemon

    def receipts(self) -> list[Receipt]:
        found = dataset.dataset(self.directory / "receipts", partitioning="hive")
        return from_arrow(found.to_table().drop_columns(["region", "day"]))

    def kill_all(self) -> None:
        for daemon in self._daemons:
            daemon.kill()

    def assert_nothing_differs(self) -> None:
        """Raises RecordsDiffer unless each topic holds the first records of its source exactly.

        Runs once every daemon has ended, so that it also finds carriers that outlived their driver.
        """
        regional, aggregate = self._clusters
        mirrored = aggregate.admin().list_topics(timeout=30).topics
        for topic in mirrored:
            if topic.startswith(self.topics):
                has_arrived(regional, aggregate, topic)

    def _configured(self, epoch_seconds: float, target: str) -> Path:
        regional, aggregate = self._clusters
        addresses = (target or aggregate.bootstrap).split(",")
        config = self.directory / "appliance.toml"
        config.write_text(f"""
routes = ["west>{self.name}"]
[regions.west]
redis = "{self._redis.url}"
regional.bootstrap = {regional.bootstrap.split(",")}
aggregate.bootstrap = ["127.0.0.1:1"]
[regions.{self.name}]
redis = "{self._redis.url}"
regional.bootstrap = ["127.0.0.1:2"]
aggregate.bootstrap = {addresses}
[topics]
allow = ["{self.topics}.*"]
refresh_seconds = 1.0
[replicator]
epoch_seconds = {epoch_seconds}
{self.more_settings}""")
        return config


@pytest.fixture
def region(
    tmp_path: Path, regional: KafkaCluster, aggregate: KafkaCluster, redis: RedisServer
) -> Iterator[Region]:
    region = Region(tmp_path, regional, aggregate, redis)
    try:
        yield region
    finally:
        region.kill_all()
    region.assert_nothing_differs()


@contextmanager
def aggregate_runs(config: Path) -> Iterator[Callable[..., ReplicateDaemon]]:
    """Yields `start()`, which begins another run of `sluice aggregate` in the region east; all runs
    are killed in the end. `start(program="...")` runs `sluice` by another program in Python."""
    started: list[ReplicateDaemon] = []

    def start(program: str = PROGRAM) -> ReplicateDaemon:
        started.append(
            ReplicateDaemon(
                *(config, "east", len(started), "local[2,8]"),
                subcommand="aggregate",
                program=program,
            )
        )
        return started[-1]

    try:
        yield start
    finally:
        for daemon in started:
            daemon.kill()
