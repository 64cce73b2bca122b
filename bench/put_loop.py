"""Loop that a team would write by itself: confluent-kafka, pyarrow and boto3, with a process for
each core.

Each process reads its partitions of a consumer group, gathers records until an object is full or
old, puts it, and commits its offsets afterwards: at least once.
"""

from __future__ import annotations

import json
import os
import sys

from bench.object_ground import PREFIX, Bucket
from bench.object_system import ObjectOrder
from deploy.lab.kafka import CHECKOUT
from deploy.lab.process import Process

PROCESSES = 2
OBJECT_RECORDS = 500_000


class PutLoop:
    """PROCESSES loops under a parent process."""

    def __init__(self, bucket: Bucket, order: ObjectOrder) -> None:
        self._bucket, self._order = bucket, order
        self._process: Process | None = None

    @property
    def process(self) -> Process:
        assert self._process is not None
        return self._process

    def start(self) -> None:
        bucket, order = self._bucket, self._order
        told = {
            "processes": PROCESSES,
            "bootstrap": bucket.ground.kafka.bootstrap,
            "topic": order.load.topic,
            "group": f"loop-{bucket.number}",
            "file": "lines" if order.has_lines else order.file,
            "has_schema": order.has_schema,
            "field": order.field,
            "is_hourly": order.is_hourly,
            "records": order.object_records or OBJECT_RECORDS,
            "seconds": order.close_seconds,
            "endpoint": bucket.server.url,
            "bucket": bucket.name,
            "prefix": PREFIX,
        }
        self._process = Process(
            "put loop",
            [sys.executable, "-m", "bench.put_loop_process", json.dumps(told)],
            bucket.directory / "loop.log",
            environment={"PYTHONPATH": os.fspath(CHECKOUT)},
        )

    def kill(self) -> None:
        if self._process:
            self._process.kill_family()

    def stop(self) -> None:
        self.kill()
