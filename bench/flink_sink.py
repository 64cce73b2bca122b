"""Flink's file sink: a SQL job from Kafka into files, exactly once by checkpoints.

Client, job manager and task manager are one process; checkpoints are on the local disk.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from bench.avro_datums import SCHEMA_ID
from bench.booking_datums import SCHEMA
from bench.flink_script import script
from bench.object_ground import Bucket
from bench.object_system import ObjectOrder
from bench.registry import Registry
from bench.rivals import FLINK, FLINK_JARS, FLINK_REGISTRY_JARS, jars
from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY
from deploy.lab.process import Process

HOME = FLINK / "pyflink"
PLUGIN = "flink-s3-fs-hadoop"
AVRO = "flink-sql-avro-2"
CLIENT = "org.apache.flink.table.client.SqlClient"
MEMORY = "2g"
SLOTS = 2
CHECKPOINT_SECONDS_MAX = 10.0
"""A file of rows lives through checkpoints; it becomes visible with the next one after its end."""
CONFIGURATION = {
    "execution.target": "local",
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    "table.dml-sync": "true",
    "table.local-time-zone": "UTC",
    "parallelism.default": SLOTS,
    "taskmanager.numberOfTaskSlots": SLOTS,
    "taskmanager.memory.task.heap.size": "1g",
    "s3.access-key": ACCESS_KEY,
    "s3.secret-key": SECRET_KEY,
    "s3.path.style.access": "true",
    # Else each new file deletes the folders above it, which the object server takes for an error.
    "fs.s3a.directory.marker.retention": "keep",
}


class FlinkSink:
    """A local cluster with two slots, as Sluice has them."""

    def __init__(self, bucket: Bucket, order: ObjectOrder) -> None:
        self._bucket, self._order = bucket, order
        self._jars = [
            *jars(HOME / "lib", ""),
            *jars(HOME / "opt", "flink-"),
            *(each for each in jars(FLINK_JARS, "") if PLUGIN not in each and AVRO not in each),
            *(jars(FLINK_REGISTRY_JARS, "") if order.has_schema else jars(FLINK_JARS, AVRO)),
        ]
        plugin = bucket.directory / "plugins" / PLUGIN
        plugin.mkdir(parents=True)
        for each in jars(FLINK_JARS, PLUGIN):
            (plugin / Path(each).name).symlink_to(each)
        self._process: Process | None = None
        self._registry = Registry(bucket.directory, SCHEMA_ID, SCHEMA)

    @property
    def process(self) -> Process:
        assert self._process is not None
        return self._process

    def start(self) -> None:
        folder = self._bucket.directory
        if self._order.has_schema and self._process is None:
            # Flink reads values with Confluent's header by a registry only.
            self._registry.start()
        checkpoint_seconds = min(self._order.close_seconds, CHECKPOINT_SECONDS_MAX)
        settings = {
            **CONFIGURATION,
            "execution.checkpointing.interval": f"{round(1000 * checkpoint_seconds)} ms",
            "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
            "s3.endpoint": self._bucket.server.url,
        }
        if latest := self._latest_checkpoint():
            settings["execution.state-recovery.path"] = latest.as_uri()
        lines = [f"{name}: {json.dumps(value)}" for name, value in settings.items()]
        (folder / "config.yaml").write_text("\n".join(lines) + "\n")
        (folder / "job.sql").write_text(script(self._bucket, self._order, self._registry.url))
        shutil.copy(Path(__file__).with_name("flink-log4j.properties"), folder)
        self._process = Process(
            "Flink's file sink",
            [
                "java",
                f"-Xmx{MEMORY}",
                # Kryo and Arrow look into classes of Java.
                "--add-opens=java.base/java.lang=ALL-UNNAMED",
                "--add-opens=java.base/java.util=ALL-UNNAMED",
                "--add-opens=java.base/java.nio=ALL-UNNAMED",
                f"-Dlog4j.configurationFile={folder / 'flink-log4j.properties'}",
                "-cp",
                ":".join(self._jars),
                CLIENT,
                "-f",
                os.fspath(folder / "job.sql"),
            ],
            folder / "flink.log",
            environment={
                "FLINK_CONF_DIR": os.fspath(folder),
                "FLINK_PLUGINS_DIR": os.fspath(folder / "plugins"),
            },
        )

    def _latest_checkpoint(self) -> Path | None:
        """Returns the last whole checkpoint, as a high-available cluster would find it."""
        found = self._bucket.directory.glob("checkpoints/*/chk-*/_metadata")
        latest = max(found, key=lambda each: each.stat().st_mtime, default=None)
        return latest.parent if latest else None

    def kill(self) -> None:
        if self._process:
            self._process.kill_family()

    def stop(self) -> None:
        self.kill()
        self._registry.stop()
