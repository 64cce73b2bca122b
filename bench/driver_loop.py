"""Loop that a team would write by itself: confluent-kafka, orjson and clickhouse-driver, with a
process for each core.

Each process reads its partitions of a consumer group, parses what has come, inserts it, and commits
its offsets afterwards: at least once.
"""

from __future__ import annotations

import json
import os
import sys

from bench.feed_ground import FeedShard
from bench.feed_system import FeedOrder
from bench.flights import COLUMNS
from deploy.lab.credentials import PASSWORD, USERNAME
from deploy.lab.kafka import CHECKOUT
from deploy.lab.process import Process

PROCESSES = 2
BLOCK_ROWS = 65_536


class DriverLoop:
    """PROCESSES loops under a parent process."""

    def __init__(self, shard: FeedShard, order: FeedOrder) -> None:
        self._shard, self._order = shard, order
        self._process: Process | None = None

    @property
    def process(self) -> Process | None:
        return self._process

    def start(self) -> None:
        load = self._order.load
        if self._process is None:
            for table in load.tables:
                self._shard.create_table(table, COLUMNS)
        told = {
            "processes": PROCESSES,
            "bootstrap": self._shard.ground.kafka.bootstrap,
            "topic": load.topic,
            "group": f"loop-{self._shard.number}",
            "tables": load.tables,
            "format": load.format,
            "rows": BLOCK_ROWS,
            "records": BLOCK_ROWS // load.rows_per_record,
            "seconds": self._order.seal_seconds,
            "port": self._shard.servers[0].port,
            "user": USERNAME,
            "password": PASSWORD,
            "quorum": self._shard.quorum,
        }
        self._process = Process(
            "driver loop",
            [sys.executable, "-m", "bench.driver_loop_process", json.dumps(told)],
            self._shard.directory / "loop.log",
            environment={"PYTHONPATH": os.fspath(CHECKOUT)},
        )

    def rows(self) -> int:
        return self._shard.rows(self._order.load.tables)

    def kill(self) -> None:
        if self._process:
            self._process.kill_family()

    def stop(self) -> None:
        self.kill()
