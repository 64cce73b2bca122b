"""Kafka engine of a modern ClickHouse, in a process that has it as a library (chdb)."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from bench.feed_ground import FeedShard
from bench.feed_system import FeedOrder
from bench.flights import COLUMNS
from bench.kafka_engine import CONSUMERS, from_the_beginning, statements
from bench.side_by_side import Impossible
from deploy.lab.kafka import CHECKOUT
from deploy.lab.process import Process


class ModernKafkaEngine:
    """Kafka engine of chdb, with as many consumers as cores.

    chdb has no server: it has neither replicas, nor can anybody read while it loads.
    """

    def __init__(self, shard: FeedShard, order: FeedOrder) -> None:
        if find_spec("chdb") is None:
            raise Impossible("chdb is not installed: pip install -r bench/requirements.txt")
        if shard.quorum or order.aim == "latency":
            raise Impossible("chdb has neither replicas nor a port to read from")
        if order.load.format != "json":
            raise Impossible("its Kafka table is one of JSON")
        self._shard, self._order = shard, order
        self._process: Process | None = None

    @property
    def process(self) -> Process | None:
        return self._process

    @property
    def _counted(self) -> Path:
        return self._shard.directory / "modern-rows"

    def start(self) -> None:
        load, kafka = self._order.load, self._shard.ground.kafka
        queries: list[str] = []
        if self._process is None:
            group = f"modern-{self._shard.number}"
            from_the_beginning(kafka, load.topic, group)
            settings = {
                "kafka_broker_list": f"'{kafka.bootstrap}'",
                "kafka_topic_list": f"'{load.topic}'",
                "kafka_group_name": f"'{group}'",
                "kafka_format": "'JSONEachRow'",
                "kafka_num_consumers": str(CONSUMERS),
                "kafka_thread_per_consumer": "1",
                "input_format_skip_unknown_fields": "1",
            }
            queries = [
                *(
                    f"CREATE TABLE {table} ({COLUMNS}) ENGINE = MergeTree ORDER BY id"
                    for table in load.tables
                ),
                *statements(load, settings),
            ]
        folder = self._shard.directory / "modern"
        folder.mkdir(exist_ok=True)
        told = {
            "folder": os.fspath(folder),
            "queries": queries,
            "tables": load.tables,
            "counted": os.fspath(self._counted),
        }
        self._process = Process(
            "modern Kafka engine",
            [sys.executable, "-m", "bench.modern_engine_process", json.dumps(told)],
            self._shard.directory / "modern.log",
            environment={"PYTHONPATH": os.fspath(CHECKOUT)},
        )

    def rows(self) -> int:
        with suppress(FileNotFoundError, ValueError):
            return int(self._counted.read_text())
        return 0

    def kill(self) -> None:
        if self._process:
            self._process.kill_family()

    def stop(self) -> None:
        self.kill()
