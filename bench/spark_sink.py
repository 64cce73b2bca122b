"""Spark's file sink: a structured stream from Kafka into files, over S3A."""

from __future__ import annotations

import json
import os
import sys

from bench.booking_datums import SCHEMA
from bench.object_ground import PREFIX, Bucket
from bench.object_system import ObjectOrder
from bench.rivals import SPARK, SPARK_JARS, jars
from deploy.lab.kafka import CHECKOUT
from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY
from deploy.lab.process import Process

JARS = ("spark-sql-kafka", "spark-token", "kafka-clients", "commons-pool2", "spark-avro")
JARS_OF_S3A = ("hadoop-aws", "bundle", "wildfly")


class SparkSink:
    """A driver with two task slots, as Sluice has them. Its checkpoint is on the local disk."""

    def __init__(self, bucket: Bucket, order: ObjectOrder) -> None:
        self._bucket, self._order = bucket, order
        self._jars = jars(SPARK_JARS, *JARS, *JARS_OF_S3A)
        self._process: Process | None = None

    @property
    def process(self) -> Process:
        assert self._process is not None
        return self._process

    def start(self) -> None:
        bucket, order = self._bucket, self._order
        told = {
            "jars": self._jars,
            "bootstrap": bucket.ground.kafka.bootstrap,
            "topic": order.load.topic,
            "file": "lines" if order.has_lines else order.file,
            "field": order.field,
            "is_hourly": order.is_hourly,
            "schema": json.dumps(SCHEMA) if order.has_schema else None,
            "paced_seconds": order.close_seconds if order.is_paced else None,
            "endpoint": bucket.server.url,
            "access_key": ACCESS_KEY,
            "secret_key": SECRET_KEY,
            "path": f"s3a://{bucket.name}/{PREFIX}",
            "checkpoint": os.fspath(bucket.directory / "checkpoint"),
        }
        self._process = Process(
            "Spark's file sink",
            [sys.executable, "-m", "bench.spark_sink_job", json.dumps(told)],
            bucket.directory / "spark.log",
            environment={
                "PYTHONPATH": f"{SPARK}:{CHECKOUT}",
                "SPARK_HOME": os.fspath(SPARK / "pyspark"),
                "PYSPARK_PYTHON": sys.executable,
            },
        )

    def kill(self) -> None:
        if self._process:
            self._process.kill_family()

    def stop(self) -> None:
        self.kill()
