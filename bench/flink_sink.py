"""Flink's file sink: a SQL job from Kafka into files, exactly once by checkpoints.

Client, job manager and task manager are one process; checkpoints are on the local disk.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from bench.object_ground import PREFIX, Bucket
from bench.object_system import Impossible, ObjectOrder
from bench.rivals import FLINK, FLINK_JARS, jars
from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY
from deploy.lab.process import Process

HOME = FLINK / "pyflink"
PLUGIN = "flink-s3-fs-hadoop"
CLIENT = "org.apache.flink.table.client.SqlClient"
MEMORY = "2g"
SLOTS = 2
FORMATS = {"lines": "raw", "json_lines": "raw", "parquet": "parquet"}
COLUMNS = """\
  `key` BYTES, `value` BYTES, headers MAP<STRING, BYTES>, `timestamp` TIMESTAMP_LTZ(3),
  topic STRING, `partition` INT, `offset` BIGINT"""
SOURCE = """\
CREATE TABLE source (
  `key` BYTES,
  `value` BYTES,
  headers MAP<STRING, BYTES> METADATA VIRTUAL,
  `timestamp` TIMESTAMP_LTZ(3) METADATA VIRTUAL,
  topic STRING METADATA VIRTUAL,
  `partition` INT METADATA VIRTUAL,
  `offset` BIGINT METADATA VIRTUAL
) WITH (
  'connector' = 'kafka',
  'topic' = '{topic}',
  'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = '{group}',
  'scan.startup.mode' = 'earliest-offset',
  'key.format' = 'raw',
  'key.fields' = 'key',
  'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY'
);
"""
SINK = """\
CREATE TABLE sink ({columns}) {folders} WITH (
  'connector' = 'filesystem',
  'path' = 's3://{path}',
  'format' = '{format}',
  'sink.rolling-policy.file-size' = '1GB',
  'sink.rolling-policy.rollover-interval' = '{milliseconds} ms',
  'sink.rolling-policy.check-interval' = '1 s'{options}
);
INSERT INTO sink SELECT {chosen} FROM source;
"""
CONFIGURATION = {
    "execution.target": "local",
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    "table.dml-sync": "true",
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
        if order.load.format == "avro":
            raise Impossible("Flink reads Avro with Confluent's header from a registry only")
        self._bucket, self._order = bucket, order
        self._jars = [
            *jars(HOME / "lib", ""),
            *jars(HOME / "opt", "flink-"),
            *(each for each in jars(FLINK_JARS, "") if PLUGIN not in each),
        ]
        plugin = bucket.directory / "plugins" / PLUGIN
        plugin.mkdir(parents=True)
        for each in jars(FLINK_JARS, PLUGIN):
            (plugin / Path(each).name).symlink_to(each)
        self._process: Process | None = None

    @property
    def process(self) -> Process:
        assert self._process is not None
        return self._process

    def start(self) -> None:
        folder = self._bucket.directory
        settings = {
            **CONFIGURATION,
            "execution.checkpointing.interval": f"{round(self._order.close_seconds * 1000)} ms",
            "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
            "s3.endpoint": self._bucket.server.url,
        }
        if latest := self._latest_checkpoint():
            settings["execution.state-recovery.path"] = latest.as_uri()
        lines = [f"{name}: {json.dumps(value)}" for name, value in settings.items()]
        (folder / "config.yaml").write_text("\n".join(lines) + "\n")
        (folder / "job.sql").write_text(self._script())
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

    def _script(self) -> str:
        bucket, order = self._bucket, self._order
        columns, chosen, options = COLUMNS, "*", ""
        if order.has_lines:
            columns, chosen = "`value` BYTES", "`value`"
        else:
            options = ",\n  'parquet.compression' = 'ZSTD'"
        if order.field:
            columns += f", {order.field} STRING"
            path = f"JSON_VALUE(CAST(`value` AS STRING), '$.{order.field}')"
            chosen = f"{chosen}, {path}"
        return SOURCE.format(
            topic=order.load.topic,
            bootstrap=bucket.ground.kafka.bootstrap,
            group=f"flink-{bucket.number}",
        ) + SINK.format(
            columns=columns,
            folders=f"PARTITIONED BY ({order.field})" if order.field else "",
            path=f"{bucket.name}/{PREFIX}",
            format=FORMATS[order.file],
            milliseconds=round(order.close_seconds * 1000),
            options=options,
            chosen=chosen,
        )

    def kill(self) -> None:
        if self._process:
            self._process.kill_family()

    def stop(self) -> None:
        self.kill()
