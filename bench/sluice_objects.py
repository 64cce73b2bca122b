"""Sluice as in production: `sluice aggregate` with a feed into objects."""

from __future__ import annotations

import json
import os
from pathlib import Path

from bench.avro_datums import SCHEMA_ID
from bench.booking_datums import SCHEMA
from bench.object_ground import PREFIX, REGION, Bucket
from bench.object_system import ObjectOrder
from bench.sluice_feed import (
    MASTER,
    STOP_SECONDS,
    WITHOUT_INTENTS,
    worker_environment,
    worker_options,
)
from bench.sluice_run import OWN_PROGRAM
from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY
from deploy.lab.process import Process

FILES = {
    "lines": ("bytes", "none"),
    "json_lines": ("json_lines", "none"),
    "parquet": ("parquet", "zstd"),
    "avro": ("avro", "zstd"),
}
"""Settings `file` and `codec`."""
SCHEMAS = "schemas"
_SCHEMA_KEYS = f'''\
format = "avro"
schemas = "{SCHEMAS}"
record_columns = []
tombstones = "left_out"'''
CONFIGURATION = """\
[regions.east]
redis = "{redis}"
regional.bootstrap = ["127.0.0.1:1"]
aggregate.bootstrap = ["{kafka}"]

[feeds.{feed}]
kind = "s3"
region = "east"
clusters = ["east aggregate"]
topics = ["{topic}"]
bucket = "{bucket}"
prefix = "{prefix}"
endpoint = "{endpoint}"
store_region = "{region}"
path_style = true
file = "{file}"
codec = "{codec}"
object_records = {records}
object_age_seconds = {seconds}
{folders}
{schemas}
"""


class SluiceObjects:
    """A `sluice aggregate` process. A new feed name starts from nothing.

    Args:
        worker_module: module that Spark starts its Python workers with; empty: Spark's own.
        program: the `sluice` to run; the program of another checkout measures another version.
    """

    def __init__(
        self,
        bucket: Bucket,
        order: ObjectOrder,
        worker_module: str = "",
        program: Path = OWN_PROGRAM,
    ) -> None:
        self._bucket, self._worker_module, self._program = bucket, worker_module, program
        self._process: Process | None = None
        self._has_schema = order.has_schema
        file, codec = FILES[order.file]
        self._configuration = CONFIGURATION.format(
            redis=bucket.ground.redis.url,
            kafka=bucket.ground.kafka.bootstrap,
            feed=f"feed{bucket.number}",
            topic=order.load.topic,
            bucket=bucket.name,
            prefix=PREFIX,
            endpoint=bucket.server.url,
            region=REGION,
            file=file,
            codec=codec,
            records=order.object_records or 0,
            seconds=order.close_seconds,
            folders=_folders(order),
            schemas=_SCHEMA_KEYS if order.has_schema else "",
        )

    @property
    def process(self) -> Process:
        assert self._process is not None
        return self._process

    def start(self) -> None:
        file = self._bucket.directory / "appliance.toml"
        file.write_text(self._configuration)
        if self._has_schema:
            schemas = self._bucket.directory / SCHEMAS
            schemas.mkdir(exist_ok=True)
            (schemas / f"{SCHEMA_ID}.avsc").write_text(json.dumps(SCHEMA))
        command = [os.fspath(self._program), "aggregate", "--config", os.fspath(file)]
        command += ["--region", "east", "--master", MASTER]
        self._process = Process(
            "sluice aggregate",
            [*command, *worker_options(self._worker_module)],
            self._bucket.directory / "output.log",
            environment={
                **worker_environment(self._worker_module),
                "AWS_ACCESS_KEY_ID": ACCESS_KEY,
                "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            },
        )

    def kill(self) -> None:
        if self._process:
            self._process.kill_family()

    def stop(self) -> None:
        if self._process:
            self._process.stop(STOP_SECONDS)


def _folders(order: ObjectOrder) -> str:
    """Returns the keys of the configuration that name folders."""
    if order.field:
        return f'partition_by = "field"\nfields = {json.dumps([order.field])}'
    return 'partition_by = "time"' if order.is_hourly else ""


def without_intents(bucket: Bucket, order: ObjectOrder) -> SluiceObjects:
    """Returns a Sluice that completes objects without committing their intents first."""
    return SluiceObjects(bucket, order, WITHOUT_INTENTS)
