"""Load of a feed into objects: records with cities, record times that come late, and odd values."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pyarrow.parquet as pq

from tests.replicator.batches.source_batches import Record
from tests.world.mirror.source_load import Sender
from tests.world.objects.poison import FATAL, POISON
from tests.world.sinks.letter_view import Content
from tests.world.sinks.letters import lettered
from tests.world.virtual_loop import EPOCH

CITIES = ("Rio", "a/b", "München", *(f"city {number}" for number in range(40)))
FOLDERS = {"Rio": "Rio", "a/b": "a%2Fb"}
NOWHERE = "__HIVE_DEFAULT_PARTITION__"
BROKEN = b"{broken"
"""Begin of values that are no JSON."""
RECORD_TIME_SPEED = 300
"""Seconds of record time in one of virtual time."""
LATE_MS = 3 * 3600 * 1000


class Destination(StrEnum):
    """Destination of a record."""

    OBJECT = "object"
    DEAD = "dead letter"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class ExpectedRecord:
    """Destination of one record.

    Args:
        folder: encoded partition that it belongs to.
        seen: the record as a reader of the object sees it.
        is_fatal: loaders fail at it until they are mended.
        content: key and value of the record.
    """

    folder: str
    fate: Destination
    seen: Any
    timestamp_ms: int
    is_fatal: bool = False
    content: Content = (None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the feed that one seed draws.

    Args:
        by_log: limits depend on the log alone; else the clock ends objects as well.
    """

    file: str
    codec: str
    tombstones: str
    partition_by: str
    cities: int
    by_log: bool
    records: int | None
    interval_seconds: int | None
    age_seconds: float | None
    times: tuple[str, ...]

    @classmethod
    def drawn(
        cls,
        dice: random.Random,
        by_log: bool | None,
        partition_by: str | None,
        file: str | None = None,
    ) -> Settings:
        """Returns settings that a seed draws, but for those that are given."""
        by_log = dice.random() < 0.35 if by_log is None else by_log
        drawn_file = dice.choice(["json_lines", "json_lines", "parquet"])
        file = file or drawn_file
        drawn = dice.choice(["partition", "field", "field", "time"])
        records = dice.choice([3, 10, 40]) if by_log or dice.random() < 0.5 else None
        clock = dice.choice(["age", "age", "times"])
        seconds = int(dice.uniform(3, 9))
        return cls(
            file=file,
            codec="none" if file == "parquet" else dice.choice(["none", "gzip"]),
            tombstones=dice.choice(["written", "left_out", "dead_letters"]),
            partition_by=partition_by or drawn,
            cities=dice.choice([2, 5]) if by_log else dice.choice([2, 5, len(CITIES)]),
            by_log=by_log,
            records=records,
            interval_seconds=dice.choice([None, 1800, 3600]),
            age_seconds=None if by_log else dice.uniform(0.5, 8.0) if clock == "age" else 60.0,
            times=() if by_log or clock == "age" else _times(seconds),
        )

    def with_age(self, age_seconds: float) -> Settings:
        """Returns settings by which nothing but their age ends objects."""
        return replace(self, records=None, interval_seconds=None, age_seconds=age_seconds, times=())

    @property
    def of_feed(self) -> Mapping[str, Any]:
        """Keys of the feed's table."""
        found: dict[str, Any] = {
            "file": self.file,
            "codec": self.codec,
            "tombstones": self.tombstones,
            "partition_by": self.partition_by,
            "object_records": self.records,
            "object_mib": None,
            "object_interval_seconds": self.interval_seconds,
            "object_age_seconds": self.age_seconds,
            "object_times": self.times,
        }
        if self.partition_by == "field":
            found["fields"] = ["city"]
        if self.partition_by == "time":
            found["folders"] = "day=%d/hour=%H"
        return found

    # -- a rule of its own for each record

    def wanted(self, place: tuple[str, int], record: Record) -> ExpectedRecord:
        """Returns the destination of a record."""
        return ExpectedRecord(
            self._folder(place[1], record),
            self._fate(record.value),
            self._seen(record),
            record.timestamp,
            (record.value or b"").startswith(FATAL),
            (record.key, record.value),
        )

    def is_dead(self, place: tuple[str, int], record: Record) -> bool:
        """Returns True if a record has to become a dead letter."""
        return self.wanted(place, record).fate is Destination.DEAD

    def _folder(self, partition: int, record: Record) -> str:
        if self.partition_by == "partition":
            return f"partition={partition}"
        if self.partition_by == "time":
            return datetime.fromtimestamp(record.timestamp / 1000, UTC).strftime("day=%d/hour=%H")
        value = record.value
        city = None
        if value is not None and not value.startswith(BROKEN):
            city = json.loads(value)["city"]
        return f"city={FOLDERS.get(city, city) if city else NOWHERE}"

    def _fate(self, value: bytes | None) -> Destination:
        if value is None:
            ways = {"dead_letters": Destination.DEAD, "left_out": Destination.LEFT_OUT}
            return ways.get(self.tombstones, Destination.OBJECT)
        is_dead = self.file == "json_lines" and value.startswith(BROKEN)
        is_dead = is_dead or value.startswith(POISON)
        return Destination.DEAD if is_dead else Destination.OBJECT

    def _seen(self, record: Record) -> Any:
        if self.file == "json_lines":
            return record.value or b"null"
        return record.offset, record.timestamp, record.key, record.value

    def read(self, data: bytes) -> list[Any]:
        """Returns the records of an object, as a reader sees them."""
        if self.file == "json_lines":
            return (gzip.decompress(data) if self.codec == "gzip" else data).splitlines()
        rows = pq.read_table(io.BytesIO(data)).to_pylist()
        return [
            (row["offset"], round(row["timestamp"].timestamp() * 1000), row["key"], row["value"])
            for row in rows
        ]


def _times(seconds: int) -> tuple[str, ...]:
    """Returns times of day, so many seconds apart, for the time of a history."""
    moments = (datetime.fromtimestamp(EPOCH + at, UTC) for at in range(0, 600, seconds))
    return tuple(f"{at:%H:%M:%S}" for at in moments)


@dataclass(slots=True)
class ObjectSender(Sender):
    """Producer of a feed's records for one partition."""

    cities: int = 2
    poison_share: float = 0.0
    """Share of records that a file refuses; a tenth of them are fatal instead."""
    letters: bool = False
    """Many records become dead letters, of every shape."""

    def _record(self, at: int, now: int) -> Record:
        made = self._usual(at, now)
        return lettered(made, self.dice, now) if self.letters else made

    def _usual(self, at: int, now: int) -> Record:
        number, dice = self.sent + at, self.dice
        begin_ms = int(EPOCH * 1000)
        time_ms = begin_ms + (now - begin_ms) * RECORD_TIME_SPEED + at
        if dice.random() < 0.08:
            time_ms -= dice.randint(0, LATE_MS)
        elif dice.random() < 0.01:
            time_ms = 0
        city = dice.choice(CITIES[: self.cities])
        name = f"{self.place.topic}-{self.place.partition}-{number}"
        text: dict[str, str | None] = {"id": name, "city": city}
        if self.poison_share and dice.random() < self.poison_share:
            begin = FATAL if dice.random() < 0.1 else POISON
            rest = json.dumps(text, ensure_ascii=False).encode().replace(b"{", b": 1, ", 1)
            return Record(at, time_ms, b"k%d" % number, begin + rest)
        if dice.random() < 0.04:
            text["city"] = None
        value: bytes | None = json.dumps(text, ensure_ascii=False).encode()
        if dice.random() < 0.03:
            value = BROKEN + (value or b"")
        elif dice.random() < 0.03:
            value = None
        return Record(at, time_ms, b"k%d" % number, value)
