"""Spark job of the file sink. It runs with a Spark of its own.

python -m bench.spark_sink_job '{"topic": ...}'
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.functions import expr

BATCH_RECORDS = 2_000_000
"""Records of a batch, as long as there are so many: a full topic would be one batch."""
COLUMNS = ("key", "value", "headers", "timestamp", "topic", "partition", "offset")
FORMATS = {"lines": "text"}
CODECS = {"lines": "none", "parquet": "zstd", "avro": "zstandard"}
DATUM = "substring(value, 6, length(value) - 5)"
"""Value behind Confluent's header."""
HOURLY = ("year", "month", "day", "hour")


def main(told: Mapping[str, Any]) -> None:
    """Writes the topic's records until killed."""
    source = (
        _session(told)
        .readStream.format("kafka")
        .option("kafka.bootstrap.servers", told["bootstrap"])
        .option("subscribe", told["topic"])
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .option("maxOffsetsPerTrigger", BATCH_RECORDS)
        .load()
    )
    field, schema = told["field"], told["schema"]
    sink = (
        (_typed(source, told) if schema else _as_they_are(source, told))
        .writeStream.format(FORMATS.get(told["file"], told["file"]))
        .option("path", told["path"])
        .option("checkpointLocation", told["checkpoint"])
        .option("compression", CODECS[told["file"]])
    )
    if schema and told["file"] == "avro":
        sink = sink.option("avroSchema", schema)
    if field:
        sink = sink.partitionBy(field)
    if told["is_hourly"]:
        sink = sink.partitionBy(*HOURLY)
    if seconds := told["paced_seconds"]:
        sink = sink.trigger(processingTime=f"{seconds} seconds")
    sink.start().awaitTermination()


def _as_they_are(source: DataFrame, told: Mapping[str, Any]) -> DataFrame:
    columns = ["CAST(value AS STRING) AS value"] if told["file"] == "lines" else list(COLUMNS)
    if field := told["field"]:
        columns.append(f"get_json_object(CAST(value AS STRING), '$.{field}') AS {field}")
    return source.selectExpr(*columns)


def _typed(source: DataFrame, told: Mapping[str, Any]) -> DataFrame:
    """Returns the fields of Avro values, with columns that name the folders."""
    hours = [f"{each}(timestamp) AS {each}" for each in HOURLY] if told["is_hourly"] else []
    datum = from_avro(expr(DATUM), told["schema"])
    return source.select(datum.alias("datum"), "timestamp").selectExpr("datum.*", *hours)


def _session(told: Mapping[str, Any]) -> SparkSession:
    settings = {
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.driver.extraClassPath": ":".join(told["jars"]),
        "spark.sql.session.timeZone": "UTC",
        # Else times are INT96, which is neither a time by type nor small.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS",
        "spark.hadoop.fs.s3a.endpoint": told["endpoint"],
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.access.key": told["access_key"],
        "spark.hadoop.fs.s3a.secret.key": told["secret_key"],
    }
    builder = SparkSession.builder.appName("file sink").master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
