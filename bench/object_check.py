"""Check of the object cases whose values have a schema: all objects are read back.

Each record is counted by its id, and each field is compared with that of the booking.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import numpy.typing as npt
import polars as pl

from bench.booking_datums import SCHEMA, row
from bench.feed_load import BATCH_ROWS, DIFFERENT_BATCHES, FeedLoad
from bench.ground import say
from bench.object_ground import Bucket
from bench.object_system import ObjectOrder
from replicator.batches.varints import packed

TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "at": pl.Datetime("ms"),
    "seats": pl.Int32,
    "distance": pl.Float64,
    "agent": pl.String,
}
"""Types of columns that rows of Python do not tell."""
_HOUR = re.compile(r"hour=([0-9]+)/")
_SYNC = bytes(16)


@dataclass(frozen=True, slots=True)
class Checked:
    """Records that are in objects more than once, and those that are in none."""

    duplicates: int
    lost: int


def checked(bucket: Bucket, order: ObjectOrder) -> Checked:
    """Reads all objects back. Raises RuntimeError if a field or a folder is wrong."""
    wanted = copies(order.load)
    bookings = pl.DataFrame([row(number) for number in range(len(wanted))], schema_overrides=TYPES)
    found, hours = np.zeros(len(wanted), np.int64), Counter[int]()
    for key, path in bucket.objects().items():
        try:
            frame = bookings_of(path, order.file)
        except Exception as error:  # Each codec has errors of its own.
            raise RuntimeError(f"{key} cannot be read: {error}") from error
        ids = frame["id"]
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < len(wanted):  # type: ignore[arg-type]
            raise RuntimeError(f"{key} has ids that no record has")
        if not frame.equals(bookings[ids.cast(pl.UInt32)]):
            raise RuntimeError(f"{key} has other fields than its records")
        found += np.bincount(ids.to_numpy(), minlength=len(wanted))
        if order.is_hourly:
            hours[_hour(key)] += len(frame)
    duplicates = int(np.maximum(found - wanted, 0).sum())
    lost = int(np.maximum(wanted - found, 0).sum())
    say(f"  read back {found.sum():,} records: {duplicates:,} duplicates, {lost:,} lost")
    if order.is_hourly and not duplicates + lost:
        share = order.load.rows // order.load.hours
        if sorted(hours.values()) != [share] * order.load.hours:
            raise RuntimeError(f"hours have {dict(hours)} records, and not {share} each")
    return Checked(duplicates, lost)


def copies(load: FeedLoad) -> npt.NDArray[np.int64]:
    """Returns by id how many records of a full topic have it: see bench.feed_load.fill."""
    batches = load.rows // load.hours // BATCH_ROWS
    different = min(DIFFERENT_BATCHES, load.rows // BATCH_ROWS)
    by_batch = (batches + different - 1 - np.arange(different)) // different
    return np.repeat(by_batch * load.hours, BATCH_ROWS)


def bookings_of(path: Path, file: str) -> pl.DataFrame:
    """Returns the records of an object, with the columns of a booking in order."""
    source = pl.read_parquet(path) if file == "parquet" else pl.read_avro(io.BytesIO(_plain(path)))
    at = pl.col("at").dt.replace_time_zone(None).dt.cast_time_unit("ms")
    return source.with_columns(at).select(each["name"] for each in SCHEMA["fields"])


def _plain(path: Path) -> bytes:
    """Returns a container without its codec: polars reads no zstd."""
    with path.open("rb") as opened:
        reader = fastavro.block_reader(opened)
        schema = json.dumps(_without_union(reader.writer_schema)).encode()
        blocks = [
            (each.num_records, each.bytes_.getvalue())  # type: ignore[attr-defined]
            for each in reader
        ]
    entries = b"".join(
        packed([2 * len(name)]) + name + packed([2 * len(text)]) + text
        for name, text in ((b"avro.schema", schema), (b"avro.codec", b"null"))
    )
    parts = [b"Obj\x01", packed([4]), entries, b"\0", _SYNC]
    for records, data in blocks:
        parts += [packed([2 * records, 2 * len(data)]), data, _SYNC]
    return b"".join(parts)


def _without_union(schema: Any) -> dict[str, Any]:
    """Returns the schema of a record that is encoded as the datums of another schema are.

    Flink writes a union of null and a record: a number, and behind it the record.
    """
    if isinstance(schema, dict):
        return schema
    _, record = schema
    fields = [{"name": "branch", "type": "long"}, *record["fields"]]
    found: dict[str, Any] = record | {"fields": fields}
    return found


def _hour(key: str) -> int:
    found = _HOUR.search(key)
    if not found:
        raise RuntimeError(f"{key} is in no folder of an hour")
    return int(found[1])
