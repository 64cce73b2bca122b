"""Sluice as in production: `sluice aggregate` with a configuration file and Spark."""

from __future__ import annotations

import json
import os
from pathlib import Path

from bench.avro_datums import SCHEMA, SCHEMA_ID
from bench.feed_ground import FeedShard
from bench.feed_system import FeedOrder
from bench.flights import COLUMNS
from bench.sluice_run import OWN_PROGRAM
from deploy.lab.credentials import PASSWORD
from deploy.lab.kafka import CHECKOUT
from deploy.lab.process import Process

MASTER = "local[2,8]"
COORDINATES = "_cluster String, _topic String, _partition UInt32, _offset UInt64, _row UInt32"
WITHOUT_INTENTS = "bench.without_intents"
SCHEMAS = "schemas"
STOP_SECONDS = 40.0
REGION = """\
[regions.east]
redis = "{redis}"
regional.bootstrap = ["127.0.0.1:1"]
aggregate.bootstrap = ["{kafka}"]
"""
FEED = """
[feeds.{feed}]
region = "east"
clusters = ["east aggregate"]
format = "{format}"
{schemas}
table_from = "{table_from}"
block_seconds = {block_seconds}

[[feeds.{feed}.shards]]
topics = ["{topic}"]
database = "default"
replicas = {replicas}
password_file = "password"
quorum = {quorum}
"""


class SluiceFeed:
    """A `sluice aggregate` process. A new feed name starts from nothing.

    Args:
        worker_module: module that Spark starts its Python workers with; empty: Spark's own.
        program: the `sluice` to run; the program of another checkout measures another version.
    """

    def __init__(
        self,
        shard: FeedShard,
        order: FeedOrder,
        worker_module: str = "",
        program: Path = OWN_PROGRAM,
    ) -> None:
        self._shard, self._order = shard, order
        self._worker_module, self._program = worker_module, program
        self._process: Process | None = None
        load = order.load
        region = REGION.format(redis=shard.ground.redis.url, kafka=shard.ground.kafka.bootstrap)
        self._configuration = region + FEED.format(
            feed=f"feed{shard.number}",
            format=load.format,
            schemas=f'schemas = "{SCHEMAS}"' if load.format == "avro" else "",
            table_from="header" if load.has_header else "topic",
            block_seconds=order.seal_seconds,
            topic=load.topic,
            replicas=json.dumps([server.address() for server in shard.servers]),
            quorum=shard.quorum,
        )

    @property
    def process(self) -> Process | None:
        return self._process

    def start(self) -> None:
        directory = self._shard.directory
        file, password = directory / "appliance.toml", directory / "password"
        if self._process is None:
            for table in self._order.load.tables:
                self._shard.create_table(table, f"{COLUMNS}, {COORDINATES}")
            file.write_text(self._configuration)
            password.write_text(f"{PASSWORD}\n")
            password.chmod(0o600)
            if self._order.load.format == "avro":
                (directory / SCHEMAS).mkdir()
                (directory / SCHEMAS / f"{SCHEMA_ID}.avsc").write_text(json.dumps(SCHEMA))
        command = [os.fspath(self._program), "aggregate", "--config", os.fspath(file)]
        command += ["--region", "east", "--master", MASTER]
        self._process = Process(
            "sluice aggregate",
            [*command, *worker_options(self._worker_module)],
            self.log,
            environment=worker_environment(self._worker_module),
        )

    @property
    def log(self) -> Path:
        return self._shard.directory / "output.log"

    def rows(self) -> int:
        return self._shard.rows(self._order.load.tables)

    def kill(self) -> None:
        if self._process:
            self._process.kill_family()

    def stop(self) -> None:
        if self._process:
            self._process.stop(STOP_SECONDS)


def worker_options(module: str) -> list[str]:
    """Returns the options that have Spark start its Python workers with a module of the bench."""
    return ["--conf", f"spark.python.daemon.module={module}"] if module else []


def worker_environment(module: str) -> dict[str, str]:
    """Returns the variables with which Python workers find their own checkout, and that module."""
    path = {"PYTHONPATH": os.fspath(CHECKOUT)} if module else {}
    return {"PYTHONSAFEPATH": "1"} | path


def without_intents(shard: FeedShard, order: FeedOrder) -> SluiceFeed:
    """Returns a Sluice that sends blocks without committing their intents first."""
    return SluiceFeed(shard, order, WITHOUT_INTENTS)
