"""Sluice as in production: `sluice replicate` with a configuration file and Spark."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import click
import psutil

from bench.ground import Ground, delete_topics
from bench.mirror import Order
from deploy.lab.process import Process

TARGET = "east"

# Clusters that no route uses need an address too; nothing ever connects to them.
CONFIGURATION = """\
routes = ["{west}>{east}"]

[topics]
allow = ["{topic}"]

[replicator]
epoch_seconds = {epoch_seconds:.1f}

[regions.{west}]
redis = "{redis}"
[regions.{west}.regional]
bootstrap = ["{source}"]
[regions.{west}.aggregate]
bootstrap = ["127.0.0.1:1"]

[regions.{east}]
redis = "{redis}"
[regions.{east}.regional]
bootstrap = ["127.0.0.1:2"]
[regions.{east}.aggregate]
bootstrap = ["{target}"]
"""


OWN_PROGRAM = Path(sys.executable).with_name("sluice")


def program_of(checkout: Path) -> Path:
    """Returns the `sluice` of another checkout. Raises UsageError if that is not set up."""
    program = checkout.resolve() / ".venv" / "bin" / "sluice"
    if not program.exists():
        raise click.UsageError(f"{program} is missing: run `make setup` in {checkout}")
    return program


class Sluice:
    """A `sluice replicate` process. A new region name makes a new route, which starts from nothing.

    Args:
        program: the `sluice` to run; the program of another checkout measures another version.
    """

    def __init__(self, ground: Ground, order: Order, program: Path = OWN_PROGRAM) -> None:
        self._program = program
        name = f"west{ground.next_number()}"
        self.target_topic = order.topic
        self._ground = ground
        self._directory = ground.directory / name
        self._configuration = CONFIGURATION.format(
            west=name,
            east=TARGET,
            topic=order.topic,
            epoch_seconds=order.epoch_seconds,
            redis=ground.redis.url,
            source=ground.source.bootstrap,
            target=ground.target.bootstrap,
        )
        self._process: Process | None = None

    def start(self) -> None:
        self._directory.mkdir(exist_ok=True)
        file = self._directory / "appliance.toml"
        file.write_text(self._configuration)
        self._process = Process(
            "sluice replicate",
            [
                str(self._program),
                *("replicate", "--config", str(file), "--region", TARGET),
            ],
            self._directory / "output.log",
            # Spark's workers would otherwise import from the current directory before their own
            # checkout.
            environment={"PYTHONSAFEPATH": "1"},
        )

    @property
    def process(self) -> Process:
        assert self._process is not None, "start() it first"
        return self._process

    def epochs_over(self) -> int:
        """Returns the number of epochs that ended since the first start, from the log."""
        return self.process.log.read_text(errors="replace").count("event=epoch-over")

    def kill(self) -> None:
        # The daemon first, so that it does not see its JVM die and report it.
        tree = [self.process.pid]
        if self.process.is_running():
            tree += [p.pid for p in psutil.Process(self.process.pid).children(recursive=True)]
        for pid in tree:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.kill()

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop(timeout_seconds=15.0)
        delete_topics(self._ground.target, [self.target_topic])
