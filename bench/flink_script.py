"""SQL of Flink's file sink: a job from Kafka to the filesystem connector."""

from __future__ import annotations

from bench.object_ground import PREFIX, Bucket
from bench.object_system import ObjectOrder

FORMATS = {"lines": "raw", "json_lines": "raw", "parquet": "parquet", "avro": "avro"}
COLUMNS = """\
  `key` BYTES, `value` BYTES, headers MAP<STRING, BYTES>, `timestamp` TIMESTAMP_LTZ(3),
  topic STRING, `partition` INT, `offset` BIGINT"""
FIELDS = """\
  id BIGINT NOT NULL, `at` TIMESTAMP(3) NOT NULL, customer STRING NOT NULL,
  carrier STRING NOT NULL, origin STRING NOT NULL, dest STRING NOT NULL, seats INT NOT NULL,
  price DOUBLE NOT NULL, distance DOUBLE, agent STRING, is_paid BOOLEAN NOT NULL,
  note STRING NOT NULL"""
"""Columns of bench.booking_datums.SCHEMA."""
CHOSEN = "id, `at`, customer, carrier, origin, dest, seats, price, distance, agent, is_paid, note"
HOURLY = ("year", "month", "day", "hour")
SOURCE = """\
CREATE TABLE source (
{columns}
) WITH (
  'connector' = 'kafka',
  'topic' = '{topic}',
  'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = '{group}',
  'scan.startup.mode' = 'earliest-offset',
{formats}
);
"""
RAW_COLUMNS = """\
  `key` BYTES,
  `value` BYTES,
  headers MAP<STRING, BYTES> METADATA VIRTUAL,
  `timestamp` TIMESTAMP_LTZ(3) METADATA VIRTUAL,
  topic STRING METADATA VIRTUAL,
  `partition` INT METADATA VIRTUAL,
  `offset` BIGINT METADATA VIRTUAL"""
RAW_FORMATS = """\
  'key.format' = 'raw',
  'key.fields' = 'key',
  'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY'"""
TYPED_COLUMNS = f"{FIELDS},\n  `timestamp` TIMESTAMP_LTZ(3) METADATA VIRTUAL"
TYPED_FORMATS = """\
  'format' = 'avro-confluent',
  'avro-confluent.url' = '{registry}'"""
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
OPTIONS = {
    # Else times are INT96, which is neither a time by type nor small.
    "parquet": """,
  'parquet.compression' = 'ZSTD',
  'parquet.write.int64.timestamp' = 'true',
  'parquet.timestamp.time.unit' = 'millis',
  'parquet.utc-timezone' = 'true'""",
    "avro": ",\n  'avro.codec' = 'zstandard'",
}


def script(bucket: Bucket, order: ObjectOrder, registry: str) -> str:
    """Returns the statements of a job.

    Args:
        registry: URL of the schema registry, where values have a schema.
    """
    columns, chosen, folders = COLUMNS, "*", list[str]()
    if order.has_schema:
        columns, chosen = FIELDS, CHOSEN
    elif order.has_lines:
        columns, chosen = "`value` BYTES", "`value`"
    if order.field:
        folders = [order.field]
        columns += f", {order.field} STRING"
        path = f"JSON_VALUE(CAST(`value` AS STRING), '$.{order.field}')"
        chosen = f"{chosen}, {path}"
    if order.is_hourly:
        folders = [f"`{each}`" for each in HOURLY]
        columns += "".join(f", {each} BIGINT" for each in folders)
        chosen += "".join(f", EXTRACT({each} FROM `timestamp`)" for each in HOURLY)
    return SOURCE.format(
        columns=TYPED_COLUMNS if order.has_schema else RAW_COLUMNS,
        formats=TYPED_FORMATS.format(registry=registry) if order.has_schema else RAW_FORMATS,
        topic=order.load.topic,
        bootstrap=bucket.ground.kafka.bootstrap,
        group=f"flink-{bucket.number}",
    ) + SINK.format(
        columns=columns,
        folders=f"PARTITIONED BY ({', '.join(folders)})" if folders else "",
        path=f"{bucket.name}/{PREFIX}",
        format=FORMATS[order.file],
        milliseconds=round(order.close_seconds * 1000),
        options=OPTIONS.get(order.file, ""),
        chosen=chosen,
    )
