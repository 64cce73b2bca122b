"""`sluice offsets` as operators run it: a process of its own, for a region with a unique name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import Process, free_port
from deploy.lab.redis import RedisServer

SLUICE = Path(sys.executable).with_name("sluice")
END_SECONDS_MAX = 10.0


class OffsetsRegion:
    """A region on the shared aggregate cluster, two other regions, and a Redis for each.

    The clusters of the other regions do not exist; their addresses are unreachable.
    """

    def __init__(self, directory: Path, aggregate: KafkaCluster, redis: list[RedisServer]) -> None:
        self.name = f"east-{uuid.uuid4().hex[:8]}"
        self.route_key = f"west.{self.name}"
        self.own, self.west, self.north = redis
        self.metrics_port = free_port()
        self._directory = directory
        self._daemons: list[Process] = []
        self.config = directory / "appliance.toml"
        servers = {self.name: self.own, "west": self.west, "north": self.north}
        tables = [
            f'[regions.{name}]\nredis = "{server.url}"\n'
            f'regional.bootstrap = ["127.0.0.1:{number}"]\n'
            f"aggregate.bootstrap = {self._aggregate(name, number + 3, aggregate)}\n"
            for number, (name, server) in enumerate(servers.items(), 1)
        ]
        self._text = f'routes = ["west>{self.name}"]\n' + "".join(tables)
        self._configure(self.metrics_port)

    def start(self) -> Process:
        """Starts a daemon without waiting. A second one serves its metrics on another port."""
        number = len(self._daemons)
        self._configure(self.metrics_port if number == 0 else 0)
        command = [str(SLUICE), "offsets", "--config", str(self.config), "--region", self.name]
        daemon = Process("sluice offsets", command, self._directory / f"offsets-{number}.log")
        self._daemons.append(daemon)
        return daemon

    def events(self, daemon: Process) -> list[str]:
        """Returns the names of logged events, except those of starting and stopping."""
        found = re.findall(r"event=([a-z-]+)", daemon.log.read_text())
        return [event for event in found if event not in ("starting", "stopping", "stopped")]

    def ended(self, daemon: Process) -> int:
        """Sends SIGTERM and returns the exit code."""
        daemon.terminate()
        return daemon.wait(END_SECONDS_MAX)

    def metrics(self) -> dict[str, float]:
        """Returns the metric samples by name with labels."""
        with urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        samples = [line.rpartition(" ") for line in lines if not line.startswith("#")]
        return {name: float(value) for name, _, value in samples}

    def asked(self, *arguments: str, expected: int = 0) -> Any:
        """Returns the JSON output of a `sluice offsets` command, or stderr when stdout is empty."""
        configured = ["--config", str(self.config), "-o", "json"]
        command = [str(SLUICE), "offsets", *arguments, *configured]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == expected, done.stderr
        return json.loads(done.stdout) if done.stdout else done.stderr

    def kill_all(self) -> None:
        for daemon in self._daemons:
            daemon.kill()

    def _configure(self, metrics_port: int) -> None:
        settings = f"[offsets]\nmetrics_port = {metrics_port}\ntend_seconds = 1.0\n"
        self.config.write_text(self._text + settings)

    def _aggregate(self, name: str, number: int, aggregate: KafkaCluster) -> Sequence[str]:
        return aggregate.bootstrap.split(",") if name == self.name else [f"127.0.0.1:{number}"]


@pytest.fixture
def offsets_region(
    tmp_path: Path, aggregate: KafkaCluster, make_redis: Callable[[], RedisServer]
) -> Iterator[OffsetsRegion]:
    region = OffsetsRegion(tmp_path, aggregate, [make_redis() for _ in range(3)])
    try:
        yield region
    finally:
        region.kill_all()
